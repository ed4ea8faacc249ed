// Builds without libibverbs.
#include "network/ibv/ibv.hpp"

#include <weft/error.hpp>

namespace weft::network::ibv {

std::unique_ptr<Network> make_network(bootstrap::Bootstrap&, const base::Attributes&, detail::PayloadLender&,
                                      const Network::PacketMemory&) {
  throw Error(ErrorClass::network,
              "attribute network or remote_network is \"ibv\", but this weft was built without libibverbs: "
              "install libibverbs-dev and build again, or take tcp");
}

Availability availability(const base::Attributes&) { return {false, "built without libibverbs"}; }

}  // namespace weft::network::ibv
