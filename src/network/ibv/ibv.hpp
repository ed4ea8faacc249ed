// Interface of the network over verbs (libibverbs); a build without it uses ibv_none.cpp.
#pragma once

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/availability.hpp"
#include "network/network.hpp"

#include <memory>

namespace weft::network::ibv {

/// Makes the network. `packets`: packets of another network, which this one sends as well, without writing
/// into them; with null base, it makes packets of its own. Throws weft::Error when there is no libibverbs, or
/// no device that fits the attributes.
std::unique_ptr<Network> make_network(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                                      detail::PayloadLender& copier, const Network::PacketMemory& packets);

/// Its remark: the device, or the reason why there is none.
[[nodiscard]] Availability availability(const base::Attributes& attributes);

}  // namespace weft::network::ibv
