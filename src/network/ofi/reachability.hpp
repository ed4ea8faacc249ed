// Whether the provider reaches a peer's device for puts and gets, as the posts that it refuses tell.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace weft::network::ofi {

/// A device that makes no connection, since its program computes, is waited for. After kLongestRefusal
/// accesses go by messages, and one is tried by the provider from time to time: what the provider has begun
/// to connect by then goes on, and is there once the device is polled. Times are those of base::now_ns().
class Reachability {
 public:
  static constexpr std::int64_t kLongestRefusal = 10'000'000'000;
  static constexpr std::int64_t kFirstPause = 100'000'000;
  static constexpr std::int64_t kLongestPause = 10'000'000'000;

  [[nodiscard]] bool is_given_up() const noexcept { return pause_ != 0; }
  /// Returns true when accesses go by messages now, without an attempt.
  [[nodiscard]] bool is_paused(std::int64_t now) const noexcept { return now < again_at_; }
  /// The provider has taken a post. Returns true when accesses have gone by messages before.
  bool taken() noexcept {
    refused_since_ = again_at_ = 0;
    return std::exchange(pause_, 0) != 0;
  }
  /// The provider has refused a post. Returns true when it has refused all for too long.
  [[nodiscard]] bool refused(std::int64_t now) noexcept {
    if (refused_since_ == 0) refused_since_ = now;
    return now - refused_since_ > kLongestRefusal;
  }
  /// Accesses go by messages for a while, each time for a longer one.
  void give_up(std::int64_t now) noexcept {
    pause_ = pause_ == 0 ? kFirstPause : std::min(2 * pause_, kLongestPause);
    again_at_ = now + pause_;
  }

 private:
  std::int64_t refused_since_ = 0;  // 0: the last post was taken
  std::int64_t again_at_ = 0;
  std::int64_t pause_ = 0;  // 0: not given up
};

}  // namespace weft::network::ofi
