#include "parcel/selection/open_port.hpp"

#include <weft/error.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parcel/selection/kinds.hpp"
#include "parcel/selection/rank_comparison.hpp"

namespace weft::parcel {

namespace {

/// The runtime of weft below, whose name is not one of the program's own. Throws weft::Error, which says what
/// to do when this process has one of the name.
std::unique_ptr<weft::Runtime> open_below(const Transport& transport, std::string_view runtime) {
  std::string name = "weft-parcel";
  if (!runtime.empty()) name.append("/").append(runtime);
  try {
    return transport.open(weft::RuntimeOptions{.name = name});
  } catch (const Error& error) {
    const std::string_view what = error.what();
    if (what.find(name) == what.npos || what.find("is open in this process") == what.npos) throw;
    std::string text = "a parcel runtime ";
    if (runtime.empty())
      text.append("without a name");
    else
      text.append("of the name \"").append(runtime).append("\"");
    throw Error(
        text.append(" is open in this process: give each its own weft::parcel::RuntimeOptions::name, "
                    "equal on all ranks, or destroy the first one before"));
  }
}

template <class Ranks>
void compare(const CompleteOptions& options, Ranks& ranks) {
  agree_on_options(text_of_common(options), ranks.size(),
                   [&ranks](Bytes mine, std::span<std::byte> all) { ranks.allgather(mine, all); });
}

class Setup final : public PortSetup {
 public:
  Setup(const CompleteOptions& options, const Transport& transport)
      : options_(options), transport_(transport) {}

  const RuntimeOptions& options() const noexcept override { return options_.options; }
  std::string_view own(std::string_view option) const noexcept override {
    return own_value(options_, option);
  }
  std::unique_ptr<weft::Runtime> open_transport() override {
    std::unique_ptr<weft::Runtime> runtime = open_below(transport_, options_.options.name);
    // Before anything that depends on them.
    compare(options_, *runtime);
    has_compared_ = true;
    return runtime;
  }
  bool is_in_process() const noexcept override { return transport_.is_in_process; }
  [[nodiscard]] bool has_compared() const noexcept { return has_compared_; }

 private:
  const CompleteOptions& options_;
  const Transport& transport_;
  bool has_compared_ = false;
};

}  // namespace

std::size_t PortSetup::choice(std::string_view option, std::initializer_list<std::string_view> values) const {
  const std::string_view value = own(option);
  std::size_t index = 0;
  for (const std::string_view each : values) {
    if (value == each || value.empty()) return index;
    ++index;
  }
  throw Error("parcel option " + std::string(option) + " is '" + std::string(value) + "'; it must be " +
              list_of(std::vector<std::string_view>(values)));
}

std::unique_ptr<Parcelport> open_port(const CompleteOptions& options, const Transport& transport) {
  Setup setup(options, transport);
  std::unique_ptr<Parcelport> port = options.kind->make(setup);
  if (!port) throw Error("parcelport '" + options.kind->name + "' has made none");
  if (!setup.has_compared()) compare(options, *port);
  return port;
}

}  // namespace weft::parcel
