// How many messages of a class a device lets be under way to a device of a peer.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::network::session {

/// As many as a way of some microseconds has use for.
inline constexpr std::uint32_t kFirstCredits = 192;

/// Follows the product of bandwidth and delay: twice the messages that are taken in a round trip, so that it
/// doubles with each while it is what limits them. Never less than the first size, never more than the peer
/// grants.
class Window {
 public:
  void open(std::uint32_t first, std::uint32_t limit) noexcept {
    first_ = size_ = std::min(first, limit);
    limit_ = limit;
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

  /// The peer has told that it has taken `count` further messages. Times in nanoseconds; `round_trip` 0: not
  /// known.
  void returned(std::uint32_t count, std::int64_t now, std::int64_t round_trip) noexcept {
    if (first_ == limit_ || round_trip == 0) return;
    if (since_ == 0) {
      since_ = now;
      return;
    }
    count_ += count;
    const std::int64_t elapsed = now - since_;
    if (elapsed < round_trip) return;
    const auto in_a_trip =
        static_cast<double>(count_) * static_cast<double>(round_trip) / static_cast<double>(elapsed);
    const double most = std::min(2 * in_a_trip, static_cast<double>(limit_));
    // A pause of the program is no reason to begin from the start.
    size_ = std::max({static_cast<std::uint32_t>(most), size_ - size_ / 8, first_});
    since_ = now;
    count_ = 0;
  }

 private:
  std::uint32_t first_ = 0;
  std::uint32_t limit_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t count_ = 0;  // taken, since
  std::int64_t since_ = 0;   // 0: nothing has been taken
};

}  // namespace weft::network::session
