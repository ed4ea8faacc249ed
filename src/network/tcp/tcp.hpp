// Interface of the network over TCP sockets.
#pragma once

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/availability.hpp"
#include "network/network.hpp"

#include <memory>

namespace weft::network::tcp {

/// Makes the network. `packets`: packets of another network, which this one sends as well; with null base, it
/// makes packets of its own. Throws weft::Error.
std::unique_ptr<Network> make_network(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                                      detail::PayloadLender& copier, const Network::PacketMemory& packets);

/// Its remark: the interfaces, or the reason why there is none.
[[nodiscard]] Availability availability(const base::Attributes& attributes);

}  // namespace weft::network::tcp
