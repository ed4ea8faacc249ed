// The network tcp in a build without libsodium.
#include "network/tcp/tcp.hpp"

#include <weft/error.hpp>

namespace weft::network::tcp {

namespace {

constexpr const char* kWhy = "this build of weft has no network tcp: libsodium was not found (libsodium-dev)";

}  // namespace

std::unique_ptr<Network> make_network(bootstrap::Bootstrap&, const base::Attributes&, detail::PayloadLender&,
                                      const Network::PacketMemory&) {
  throw Error(kWhy);
}

Availability availability(const base::Attributes&) { return {false, kWhy}; }

}  // namespace weft::network::tcp
