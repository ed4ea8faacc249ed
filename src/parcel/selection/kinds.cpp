#include "parcel/selection/kinds.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include "parcel/ports/weft/weft_port.hpp"
#include "parcel/selection/option_text.hpp"

namespace weft::parcel {

namespace {

/// Kinds stay where they are.
struct Table {
  std::mutex mutex;
  std::deque<ParcelportKind> kinds;
};

/// Never destroyed: threads may use runtimes until the process ends.
Table& table() {
  static Table& all = *[] {
    auto* const made = new Table;
    made->kinds.push_back({.name = "weft", .has_devices = true, .make = [](PortSetup& setup) {
                             return make_weft_port(setup.open_transport(), setup.options());
                           }});
    return made;
  }();
  return all;
}

const ParcelportKind* find_in(const Table& all, std::string_view name) noexcept {
  const auto found = std::find_if(all.kinds.begin(), all.kinds.end(),
                                  [name](const ParcelportKind& kind) { return kind.name == name; });
  return found == all.kinds.end() ? nullptr : &*found;
}

void check(const ParcelportKind& kind) {
  const std::string what = "parcelport '" + kind.name + "'";
  if (!kind.make) throw Error(what + " has no function that makes it");
  for (const PortOption& option : kind.options) {
    check_name("option of a parcelport", option.name);
    if (option.name.empty()) throw Error(what + " has an option without a name");
    if (is_option_of_runtime(option.name))
      throw Error(what + " has an option '" + option.name +
                  "', which all parcelports have: name it otherwise");
  }
}

}  // namespace

const ParcelportKind* find_kind(std::string_view name) noexcept {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  return find_in(all, name);
}

const ParcelportKind& kind_of(std::string_view name) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const ParcelportKind* const kind = find_in(all, name);
  if (kind == nullptr) {
    std::vector<std::string_view> known;
    for (const ParcelportKind& each : all.kinds) known.push_back(each.name);
    throw Error("parcel option port is '" + std::string(name) + "'; it must be " + list_of(known) +
                ", or one that the program registers");
  }
  if (kind->why_not)
    if (const std::string why = kind->why_not(); !why.empty())
      throw Error("parcel option port is '" + kind->name + "', which is not here: " + why);
  return *kind;
}

void register_parcelport(ParcelportKind kind) {
  check_name("port", kind.name);
  if (kind.name.empty()) throw Error("a parcelport has no name");
  check(kind);
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  if (find_in(all, kind.name) != nullptr)
    throw Error("there is a parcelport '" + kind.name + "' already: register another name");
  all.kinds.push_back(std::move(kind));
}

std::string list_of(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t index = 0; index < names.size(); ++index)
    text.append(index == 0 ? "" : index + 1 == names.size() ? " or " : ", ").append(names[index]);
  return text;
}

}  // namespace weft::parcel
