// Fetches, gets and puts that are under way or have ended and were not reported; landings that were put into.
#pragma once

#include "network/network.hpp"

#include <algorithm>
#include <atomic>
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

/// Names of landings that peers have put into, for the next poll. Under the device's lock.
class LandedNames {
 public:
  LandedNames() { names_.reserve(kUsual); }

  void add(std::uint64_t name) noexcept {
    names_.push_back(name);
    unreported_.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_empty() const noexcept { return names_.empty(); }
  /// So many of those that were taken have been reported. Any thread.
  void reported(std::size_t count) noexcept {
    // Pairs with the acquire in are_reported().
    unreported_.fetch_sub(static_cast<std::uint32_t>(count), std::memory_order_release);
  }
  [[nodiscard]] bool are_reported() const noexcept {
    return unreported_.load(std::memory_order_acquire) == 0;
  }
  /// Moves names out of the list, as far as there is room; returns their number.
  [[nodiscard]] std::size_t take(std::span<std::uint64_t> names) noexcept {
    const std::size_t count = std::min(names.size(), names_.size());
    std::copy_n(names_.begin(), count, names.begin());
    names_.erase(names_.begin(), names_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }

 private:
  static constexpr std::size_t kUsual = 256;  // more need memory
  std::vector<std::uint64_t> names_;
  std::atomic<std::uint32_t> unreported_{0};
};

}  // namespace weft::network::session
