// Parcelports by name: a program adds kinds of its own to those from which RuntimeOptions::port chooses.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/parcel/options.hpp>
#include <weft/parcel/parcelport.hpp>
#include <weft/runtime.hpp>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::parcel {

/// What a parcelport is made of. For the time of ParcelportKind::make().
class WEFT_API PortSetup {
 public:
  /// Complete and checked, but `workers` may still be 0.
  [[nodiscard]] virtual const RuntimeOptions& options() const noexcept = 0;
  /// What the text of options says of one of the kind's own; empty: nothing.
  [[nodiscard]] virtual std::string_view own(std::string_view option) const noexcept = 0;
  /// The place of its value among `values`, of which the first is the default. Throws weft::Error, which
  /// names them, when it is none.
  [[nodiscard]] std::size_t choice(std::string_view option,
                                   std::initializer_list<std::string_view> values) const;
  /// Opens a runtime of weft for this rank, in the job that the program has named. Collective, once; it is
  /// the parcelport's from then on. Throws weft::Error, also when ranks have options that contradict each
  /// other.
  [[nodiscard]] virtual std::unique_ptr<weft::Runtime> open_transport() = 0;
  /// Whether other ranks may be threads of this process, where what a process has once is not a rank's own.
  [[nodiscard]] virtual bool is_in_process() const noexcept = 0;

 protected:
  ~PortSetup() = default;
};

/// An option of a parcelport's own, which RuntimeOptions::text may name.
struct PortOption {
  std::string name{};
  bool is_common = true;  ///< all ranks must say the same of it
};

/// A row of the table of parcelports.
struct ParcelportKind {
  std::string name{};                 ///< up to 50 letters, digits, '-' or '_'
  std::vector<PortOption> options{};  ///< besides those of RuntimeOptions
  /// Whether RuntimeOptions::devices and progress mean anything to it; where not, they are refused.
  bool has_devices = false;
  /// Why there is none here: a clause, as "this build has no Asio". No function, or an empty text: there is.
  std::function<std::string()> why_not{};
  /// Makes the parcelport of this rank; in the thread that constructs the Runtime. What it throws leaves the
  /// constructor.
  std::function<std::unique_ptr<Parcelport>(PortSetup&)> make{};
};

/// From now on `port=NAME` chooses it, in this process and until that ends. Every rank registers it before it
/// constructs a Runtime over it. Any thread. Throws weft::Error for a name that is taken or no word, an
/// option that RuntimeOptions has, and a kind without `make`.
WEFT_API void register_parcelport(ParcelportKind kind);

}  // namespace weft::parcel
