// Options of the parcel runtime as text.
#pragma once

#include <weft/parcel/options.hpp>
#include <weft/parcel/ports/parcelport_kind.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::parcel {

/// Options that were read and checked.
struct CompleteOptions {
  RuntimeOptions options;  ///< without a text
  const ParcelportKind* kind = nullptr;
  /// The parcelport's own, as the text has them.
  std::vector<std::pair<std::string_view, std::string_view>> own;
};

/// The options with those that options.text names. Throws weft::Error that names an unknown option or
/// parcelport, a bad value, and what would be right.
[[nodiscard]] CompleteOptions complete(RuntimeOptions options);
/// The same for a parcelport that the program has made, whose options these are not.
[[nodiscard]] RuntimeOptions complete_without_port(RuntimeOptions options);

/// RuntimeOptions::port of a parcelport that the program has made: no kind has such a name.
inline constexpr std::string_view kPortOfProgram = "(own)";

/// Every option that has an effect. `own`: Parcelport::description().
[[nodiscard]] std::string text_of(const RuntimeOptions& options, const std::string& own);
/// What was given for an option of the parcelport's own; empty: nothing.
[[nodiscard]] std::string_view own_value(const CompleteOptions& options, std::string_view name) noexcept;
/// Lines "option NAME=VALUE" of those that all ranks must have in common.
[[nodiscard]] std::string text_of_common(const CompleteOptions& options);
/// Whether a RuntimeOptions has an option of this name.
[[nodiscard]] bool is_option_of_runtime(std::string_view name) noexcept;
/// Throws weft::Error unless `name` is up to 50 letters, digits, '-', '_' or '.'; `what` it names.
void check_name(std::string_view what, std::string_view name);

}  // namespace weft::parcel
