#include <weft/networks.hpp>

#include "base/attributes.hpp"
#include "network/ofi/ofi.hpp"

namespace weft {

std::vector<NetworkDescription> describe_networks() {
  const network::ofi::Availability ofi = network::ofi::availability(base::Attributes::load());
  return {{"shm", true, "memory shared by the ranks of one host"},
          {"sim", true, "simulated, between the ranks of one process"},
          {"ofi", ofi.present, ofi.remark},
          {"mixed", ofi.present, ofi.present ? "shm within a host, ofi between hosts" : ofi.remark},
          {"ibv", false, "not in this build"}};
}

}  // namespace weft
