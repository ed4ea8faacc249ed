#include "perf/libraries/availability.hpp"

#include <fmt/core.h>
#include <weft/networks.hpp>

#include <algorithm>

#include "perf/libraries/plugin_host.hpp"

namespace weft::tools::perf {
namespace {

std::string_view setting(const Transport& over, std::string_view variable) {
  const auto found =
      std::ranges::find(over.environment, variable, [](const auto& each) { return each.first; });
  return found == over.environment.end() ? std::string_view() : std::string_view(found->second);
}

/// The reason why a transport of weft cannot be used because this host lacks its network; empty when it does
/// not.
std::string why_network_absent(const Transport& over) {
  const std::string_view network = setting(over, "WEFT_NETWORK");
  if (network != "ofi") return {};
  const std::string_view provider = setting(over, "WEFT_OFI_PROVIDER");
  for (const NetworkDescription& each : describe_networks()) {
    if (each.name != network) continue;
    if (!each.present) return each.remark;
    // The remark contains the list of providers.
    if (each.remark.find(provider) == std::string::npos)
      return fmt::format("this libfabric has no provider {}", provider);
  }
  return {};
}

}  // namespace

std::string why_absent(const Transport& over) {
  if (over.plugin.empty()) return why_network_absent(over);
  const std::string packages = over.package.empty() ? "" : fmt::format(" ({})", over.package);
  const std::string plugin(over.plugin);
  if (find_plugin(plugin).empty()) return fmt::format("it was not found when weft was built{}", packages);
  if (!over.launcher.empty() && find_launcher(plugin, std::string(over.launcher)).empty())
    return fmt::format("{} is not installed{}", over.launcher, packages);
  return {};
}

}  // namespace weft::tools::perf
