// How many memory regions a rank may have.
#pragma once

#include "base/attributes.hpp"

#include <cstdint>

namespace weft::network {

/// Beside those of the program: LibraryMemory. Collectives of one process take up to 64 of them
/// (collective/near/host_channels.cpp), and leave as many.
inline constexpr std::uint32_t kLibraryRegions = 128;

/// Regions have indices below this.
[[nodiscard]] inline std::uint32_t region_count(const base::Attributes& attributes) noexcept {
  return static_cast<std::uint32_t>(attributes.integer(base::Attribute::regions_max)) + kLibraryRegions;
}

}  // namespace weft::network
