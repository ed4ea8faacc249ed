#include <weft/networks.hpp>

#include "base/attributes.hpp"
#include "network/registry/registry.hpp"

#include <string>
#include <utility>

namespace weft {

std::vector<NetworkDescription> describe_networks() {
  const base::Attributes attributes = base::Attributes::load();
  std::vector<NetworkDescription> descriptions;
  for (const network::NetworkRow& row : network::networks()) {
    network::Availability found = row.availability(attributes);
    descriptions.push_back({std::string(row.name), found.present, std::move(found.remark)});
  }
  return descriptions;
}

}  // namespace weft
