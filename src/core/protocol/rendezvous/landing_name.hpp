// The name of a landing, as a network carries it with the put.
#pragma once

#include "core/protocol/wire.hpp"

#include <cstddef>
#include <cstdint>

namespace weft::core {

inline constexpr std::uint32_t kMostLandings = 1U << 16;  // transfers of a greater index have none

/// The index, then the generation, its lower half first: networks with short immediates carry 4 bytes.
[[nodiscard]] constexpr std::uint64_t landing_name(RequestName transfer) noexcept {
  return std::uint64_t{transfer.generation} << 16 | transfer.index;
}
[[nodiscard]] constexpr std::uint32_t index_of_landing(std::uint64_t name) noexcept {
  return static_cast<std::uint32_t>(name) & (kMostLandings - 1);
}
/// Whether `name`, of which a network has carried so many bytes, is the one of this transfer.
[[nodiscard]] constexpr bool names_landing(std::uint64_t name, std::size_t bytes,
                                           RequestName transfer) noexcept {
  const std::uint64_t carried =
      bytes >= sizeof name ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes) - 1;
  return ((name ^ landing_name(transfer)) & carried) == 0;
}

}  // namespace weft::core
