// The networks that there are, a row each. Whoever needs all of them, or one by its name, asks here.
#pragma once

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/availability.hpp"
#include "network/network.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace weft::network {

/// Which ranks a network carries messages between.
enum class Extent : std::uint8_t {
  process,  ///< of one process
  host,     ///< of one host
  hosts,    ///< of several hosts: `mixed` may take it for those
};

struct NetworkRow {
  std::string_view name;  ///< a choice of the attribute `network`
  Extent extent;
  /// May take some milliseconds.
  Availability (*availability)(const base::Attributes& attributes);
  /// Makes the network of this rank. `copier` keeps payloads that exceed the quota of their sender; it must
  /// outlive the network. `packets`: those of another network, which one that spans hosts sends as well; with
  /// null base, it makes packets of its own. Throws weft::Error. Null: described only.
  std::unique_ptr<Network> (*make)(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                                   detail::PayloadLender& copier, const Network::PacketMemory& packets);
};

/// All rows, in the order in which `weft info` lists them.
[[nodiscard]] std::span<const NetworkRow> networks() noexcept;

/// The row of a network that can be made; throws weft::Error that lists them for any other name.
[[nodiscard]] const NetworkRow& network_named(std::string_view name);

/// network_named(name).make with packets of its own.
[[nodiscard]] std::unique_ptr<Network> make_network(std::string_view name, bootstrap::Bootstrap& bootstrap,
                                                    const base::Attributes& attributes,
                                                    detail::PayloadLender& copier);

}  // namespace weft::network
