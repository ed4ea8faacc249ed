// Fetches, gets and puts that are under way or have ended and were not reported.
#pragma once

#include "network/network.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::network::session {

/// Under the device's lock.
class AccessEnds {
 public:
  static constexpr std::uint32_t kMost = 64;
  struct End {
    std::uint64_t token;
    Outcome outcome;
  };

  AccessEnds() { ended_.reserve(kMost); }

  /// Returns true when no further access may begin.
  [[nodiscard]] bool is_full() const noexcept { return under_way_ == kMost; }
  void begun() noexcept { ++under_way_; }
  void ended(std::uint64_t token, Outcome outcome) noexcept {
    ended_.push_back({token, outcome});  // has the room
  }
  /// Returns true when no end waits to be reported.
  [[nodiscard]] bool are_reported() const noexcept { return ended_.empty(); }
  /// Moves ends out of the list, as far as there is room; returns their number.
  [[nodiscard]] std::size_t take(std::span<End> ends) noexcept {
    const std::size_t count = std::min(ends.size(), ended_.size());
    std::copy_n(ended_.begin(), count, ends.begin());
    ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(count));
    under_way_ -= static_cast<std::uint32_t>(count);
    return count;
  }

 private:
  std::vector<End> ended_;       // for the next poll; has room for all that are under way
  std::uint32_t under_way_ = 0;  // or ended and not reported
};

}  // namespace weft::network::session
