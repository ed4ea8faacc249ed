#include "info/mpi.hpp"

#include <weft/version.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <climits>
#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "common/wrapped_text.hpp"

namespace weft::tools::info {

struct MpiNumber {
  const char* name;
  long value;
};
struct MpiFunction {
  const char* group;
  const char* name;
  bool is_there;
};

}  // namespace weft::tools::info

#ifdef WEFT_HAS_MPI
#include <mpi_table.hpp>  // generated
#else
namespace weft::tools::info {
inline constexpr std::span<const MpiNumber> kMpiNumbers;
inline constexpr std::span<const MpiFunction> kMpiFunctions;
}  // namespace weft::tools::info
#endif

namespace weft::tools::info {
namespace {

long number(std::string_view name) {
  for (const MpiNumber& each : kMpiNumbers)
    if (name == each.name) return each.value;
  return 0;
}

struct Property {
  std::string name;
  std::string value;
};

std::vector<Property> properties() {
  return {
      {"library", std::string("libmpi_abi.so.1, weft ") + library_version()},
      {"standard", fmt::format("MPI {}.{}", number("version"), number("subversion"))},
      {"abi", fmt::format("{}.{}", number("abi_version"), number("abi_subversion"))},
      {"thread level", "MPI_THREAD_MULTIPLE, whatever is asked for"},
      {"largest tag", std::to_string(INT_MAX)},
      {"communicators", fmt::format("{} divided by the ranks of the job, made by one rank", 1 << 30)},
      {"checks", "WEFT_MPI_CHECK=yes"},
  };
}

struct Group {
  std::vector<std::string> there, missing;
};

/// By name, in the order of the document.
std::map<std::string, Group> groups() {
  std::map<std::string, Group> all;
  for (const MpiFunction& function : kMpiFunctions) {
    Group& group = all[function.group];
    (function.is_there ? group.there : group.missing).emplace_back(function.name);
  }
  return all;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

std::size_t count_there() {
  std::size_t count = 0;
  for (const MpiFunction& function : kMpiFunctions) count += function.is_there ? 1 : 0;
  return count;
}

}  // namespace

bool has_mpi() { return std::size(kMpiFunctions) != 0; }

std::string mpi_as_table() {
  std::string text = "weft-mpi\n";
  for (const Property& property : properties())
    text += fmt::format("  {:<14}{}\n", property.name, property.value);
  text += "limits\n";
  for (const MpiNumber& each : kMpiNumbers)
    if (std::string_view(each.name).starts_with("max_"))
      text += fmt::format("  {:<28}{}\n", each.name, each.value);
  text += fmt::format("functions: {} of {} are there\n", count_there(), std::size(kMpiFunctions));
  for (const auto& [name, group] : groups()) {
    text +=
        fmt::format("  {}: {} of {}\n", name, group.there.size(), group.there.size() + group.missing.size());
    if (!group.there.empty()) text += wrapped("    there    ", joined(group.there));
    if (!group.missing.empty()) text += wrapped("    missing  ", joined(group.missing));
  }
  return text;
}

std::string mpi_as_json() {
  using Json = nlohmann::ordered_json;
  Json root = Json::object();
  for (const Property& property : properties()) root[property.name] = property.value;
  Json limits = Json::object();
  for (const MpiNumber& each : kMpiNumbers)
    if (std::string_view(each.name).starts_with("max_")) limits[each.name] = each.value;
  root["limits"] = std::move(limits);
  Json functions = Json::array();
  for (const MpiFunction& function : kMpiFunctions)
    functions.push_back({{"name", function.name}, {"group", function.group}, {"there", function.is_there}});
  root["functions"] = std::move(functions);
  return root.dump(2) + "\n";
}

}  // namespace weft::tools::info
