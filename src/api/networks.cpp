#include <weft/networks.hpp>

#include "base/attributes.hpp"
#include "network/ofi/ofi.hpp"
#include "network/tcp/tcp.hpp"

#include <string>

namespace weft {

std::vector<NetworkDescription> describe_networks() {
  const base::Attributes attributes = base::Attributes::load();
  const network::tcp::Availability tcp = network::tcp::availability(attributes);
  const network::ofi::Availability ofi = network::ofi::availability(attributes);
  const std::string remote(attributes.text(base::Attribute::remote_network));
  const bool has_remote = remote == "tcp" ? tcp.present : ofi.present;
  return {{"shm", true, "memory shared by the ranks of one host"},
          {"sim", true, "simulated, between the ranks of one process"},
          {"tcp", tcp.present, tcp.remark},
          {"ofi", ofi.present, ofi.remark},
          {"mixed", has_remote,
           has_remote        ? "shm within a host, " + remote + " between hosts"
           : remote == "tcp" ? tcp.remark
                             : ofi.remark},
          {"ibv", false, "not in this build"}};
}

}  // namespace weft
