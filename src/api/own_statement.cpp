#include "api/own_statement.hpp"

#include <weft/detail/abi.hpp>
#include <weft/version.hpp>

#include "base/agreed_attributes.hpp"
#include "base/host/host_name.hpp"
#include "bootstrap/agreement.hpp"
#include "network/session/link/message_format.hpp"
#include "network/shm/segment/layout.hpp"

namespace weft {

namespace {

using base::Attribute;

/// The host of each rank, counted from 0: "0*2 1*2".
std::string hosts_of_ranks(const core::HostTable& hosts, int ranks) {
  std::string text;
  for (int rank = 0; rank < ranks;) {
    const int host = hosts.host_of(rank);
    int end = rank;
    while (end < ranks && hosts.host_of(end) == host) ++end;
    if (!text.empty()) text += ' ';
    text.append(std::to_string(host)).append("*").append(std::to_string(end - rank));
    rank = end;
  }
  return text;
}

/// Of this build. Builds of one version may differ in what they write for each other.
std::string version() {
  return std::string(library_version()) + " (ABI " + std::to_string(detail::kAbiVersion) + ", layout " +
         std::to_string(network::shm::kLayoutVersion) + ", wire " +
         std::to_string(network::session::kWireVersion) + ")";
}

}  // namespace

std::string_view chosen_network(const base::Attributes& attributes, const core::HostTable& hosts) {
  const std::string_view name = attributes.text(Attribute::network);
  if (name != "auto") return name;
  return hosts.hosts() == 1 ? "shm" : "mixed";
}

std::string statement_of(const base::Attributes& attributes, const bootstrap::Bootstrap& bootstrap,
                         const core::HostTable& hosts) {
  const std::string_view network = chosen_network(attributes, hosts);
  // The network mixed has another one between hosts.
  const std::string_view between = network == "mixed" ? attributes.text(Attribute::remote_network) : network;
  bootstrap::Statement statement(base::host_name());
  statement.add("weft", version());
  statement.add("the number of ranks", std::to_string(bootstrap.size()));
  for (const base::AgreedAttribute& each : base::kAgreedAttributes) {
    if (!each.network.empty() && each.network != network && each.network != between) continue;
    const base::AttributeRow& row = base::row_of(each.id);
    const std::string name = std::string(row.name) + " (" + base::environment_name(row) + ")";
    if (row.id == Attribute::host_id)  // what it means counts: hosts may have names of their own
      statement.add("by host_id (" + base::environment_name(row) + ") the hosts",
                    hosts_of_ranks(hosts, bootstrap.size()));
    else
      statement.add(name, row.id == Attribute::network ? network : attributes.text(row.id));
  }
  return statement.text();
}

}  // namespace weft
