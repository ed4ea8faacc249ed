// Memory of one network that peers reach by another one, which may go on to store what a peer has put in part
// after the region has ended: addresses that nothing else uses meanwhile make that harmless.
#pragma once

#include "network/memory_of_ranks.hpp"

#include <cstddef>
#include <span>

namespace weft::network {

/// An ability of some networks. Any thread, once for a region that they have allocated.
class KeepsAddresses {
 public:
  /// The region's addresses stay out of use for a while when it is released (base::RetiredRanges).
  virtual void keep_addresses(RegionName name) noexcept = 0;

 protected:
  ~KeepsAddresses() = default;
};

/// An ability of some networks.
class ReachesLastingMemory {
 public:
  /// As Network::register_memory(), for memory of another network that keeps its addresses. It is released
  /// as memory of the program.
  virtual RegionKeys register_lasting_memory(RegionName name, std::span<std::byte> memory) = 0;

 protected:
  ~ReachesLastingMemory() = default;
};

}  // namespace weft::network
