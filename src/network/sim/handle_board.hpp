// The states of a rank's handles as peers see them.
#pragma once

#include "network/network.hpp"
#include "network/sim/random.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace weft::network::sim {

/// Peers see states some ticks after their publication, in the order of publication.
class HandleBoard {
 public:
  void publish(std::uint16_t id, std::uint16_t generation, HandleState state, std::uint64_t now,
               std::uint64_t visible_at);
  /// Tells whether a message may be sent now to the handle in `word`, as a sender sees it.
  [[nodiscard]] SendResult admission(std::uint64_t word, std::uint64_t now) const noexcept;

 private:
  struct Entry {
    std::uint64_t visible_at;
    std::uint16_t generation;
    HandleState state;
  };
  std::unordered_map<std::uint16_t, std::vector<Entry>> entries_;  // by id, oldest first
};

}  // namespace weft::network::sim
