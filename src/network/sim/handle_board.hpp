// What peers see of a rank's handles.
#pragma once

#include "network/network.hpp"
#include "network/sim/random.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace weft::network::sim {

/// States reach the peers some ticks after they were published, in the order of publication.
class HandleBoard {
 public:
  void publish(std::uint16_t id, std::uint16_t generation, HandleState state, std::uint64_t now,
               std::uint64_t visible_at);
  /// What a sender's look at the handle in `word` says about sending to it now.
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
