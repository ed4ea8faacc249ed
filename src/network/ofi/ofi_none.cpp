// Builds without libfabric.
#include "network/ofi/ofi.hpp"

#include <weft/error.hpp>

namespace weft::network::ofi {

std::unique_ptr<Network> make_network(bootstrap::Bootstrap&, const base::Attributes&, detail::PayloadLender&,
                                      const Network::PacketMemory&) {
  throw Error(ErrorClass::network,
              "attribute network is \"ofi\" or \"mixed\", but this weft was built without libfabric: install "
              "libfabric-dev and build again, or take shm");
}

Availability availability(const base::Attributes&) { return {false, "built without libfabric"}; }

}  // namespace weft::network::ofi
