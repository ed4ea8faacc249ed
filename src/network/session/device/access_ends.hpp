// Fetches, gets and puts that are under way or have ended and were not reported; what those of peers
// announce.
#pragma once

#include "network/network.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::network::session {

/// Moves the first elements out of a list, as far as there is room; returns their number.
template <class Element>
[[nodiscard]] std::size_t move_out(std::vector<Element>& list, std::span<Element> room) noexcept {
  const std::size_t count = std::min(room.size(), list.size());
  std::copy_n(list.begin(), count, room.begin());
  list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

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
    const std::size_t count = move_out(ended_, ends);
    under_way_ -= static_cast<std::uint32_t>(count);
    return count;
  }

 private:
  std::vector<End> ended_;       // for the next poll; has room for all that are under way
  std::uint32_t under_way_ = 0;  // or ended and not reported
};

/// What peers have announced by writes of their own, for the next poll. Under the device's lock.
class Announcements {
 public:
  struct Announcement {
    int peer;             // that has put into a region; negative: into a landing
    std::uint64_t value;  // the immediate of the put, or the name of the landing
  };

  Announcements() { waiting_.reserve(kUsual); }

  void add(Announcement announcement) noexcept {
    waiting_.push_back(announcement);
    unreported_.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_empty() const noexcept { return waiting_.empty(); }
  /// So many of those that were taken have been reported. Any thread.
  void reported(std::size_t count) noexcept {
    // Pairs with the acquire in are_reported().
    unreported_.fetch_sub(static_cast<std::uint32_t>(count), std::memory_order_release);
  }
  [[nodiscard]] bool are_reported() const noexcept {
    return unreported_.load(std::memory_order_acquire) == 0;
  }
  /// Moves them out of the list, as far as there is room; returns their number.
  [[nodiscard]] std::size_t take(std::span<Announcement> announcements) noexcept {
    return move_out(waiting_, announcements);
  }

 private:
  static constexpr std::size_t kUsual = 256;  // more need memory
  std::vector<Announcement> waiting_;
  std::atomic<std::uint32_t> unreported_{0};
};

}  // namespace weft::network::session
