// The credits of sends that travel with their payload: those of peers, and the shares of them in the lanes of
// inlined posts.
#pragma once

#include "core/backlog/caller.hpp"
#include "core/matching/credits.hpp"
#include "network/network.hpp"

#include <weft/detail/device_path.hpp>
#include <weft/options.hpp>

#include <atomic>
#include <cstdint>

namespace weft::core {

class LaneCredits {
 public:
  LaneCredits(detail::DevicePath& path, SendCredits& credits) noexcept
      : path_(path), credits_(credits), taken_before_(credits.taken()) {}
  /// Gives up the credits that the lanes have not used.
  ~LaneCredits();
  LaneCredits(const LaneCredits&) = delete;
  LaneCredits& operator=(const LaneCredits&) = delete;

  /// Sets whether a single thread uses the device.
  void set_exclusive(bool exclusive) noexcept { exclusive_.store(exclusive, std::memory_order_relaxed); }

  [[nodiscard]] Credits& of(const SendOptions& options) noexcept {
    return credits_.of(options.message_class);
  }
  /// Takes a credit from the lane's share, which inlined posts use; when that is empty, fills the share up.
  bool take(int peer, const SendOptions& options, Caller caller) noexcept;
  /// Takes one of the credits in the lanes of other threads, which may be idle or have ended. Returns false
  /// when they have none.
  bool take_of_others(int peer, const SendOptions& options, Caller caller) noexcept;
  /// Fills a lane that has used up its share of the credits. Returns false when the lane has credits, when
  /// there are none, or when another thread holds the lane.
  template <class Locking>
  bool refill(detail::SendLane& lane, int peer, std::uint8_t device, std::uint32_t column) noexcept;
  /// A hint, read without the lane's lock, that is acted upon only under it; the annotation tells
  /// ThreadSanitizer so.
  [[nodiscard]] __attribute__((no_sanitize("thread"))) static std::uint32_t unused(
      const detail::SendLane& lane) noexcept {
    return *static_cast<const volatile std::uint32_t*>(&lane.credits);
  }
  /// A peer gives credits back, or more of them.
  void on_credit(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;

  /// The number of sends that travelled with their payload, inlined posts included. Any thread; exact while
  /// no send is in progress.
  [[nodiscard]] std::uint64_t sends() noexcept;

 private:
  bool take_share(detail::SendLane& lane, int peer, std::uint8_t device, std::uint32_t column,
                  bool exclusive) noexcept;
  template <class Visit>
  void for_each_lane(const Visit& visit) const noexcept;

  detail::DevicePath& path_;
  SendCredits& credits_;
  const std::uint64_t taken_before_;  // by earlier devices of this index
  std::atomic<bool> exclusive_{false};
};

}  // namespace weft::core
