// Whether others want a thread's core, and what it had better do then.
#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <cstdint>

namespace weft::detail {

/// What a thread learns of its core while it waits. With the core for itself it polls for as long as it
/// likes. While others want the core, what it waits for may need them to run: a peer that is running on
/// another core answers while it polls, everybody else only after this thread has given way. Which of the two
/// it is, is learned from whether polls bring a wait to its end. Only that thread. docs/decisions/019, 025.
class CoreShare {
 public:
  static constexpr std::int64_t kSwitched = 1800;    // ns: a yield that takes longer has let others run
  static constexpr std::uint32_t kEagerPolls = 256;  // before a wait begins; without pauses
  static constexpr std::uint32_t kFewPolls = 3;      // where polls are in vain
  static constexpr std::int64_t kWorth = 2000;  // ns: polls take no longer than to be switched out and in
  static constexpr std::uint32_t kWaitsPerLook = 128;    // at the clock, for is_turn_over()
  static constexpr std::int64_t kTurn = 200'000;         // ns between two yields, where others want the core
  static constexpr std::int64_t kTurnAlone = 1'000'000;  // ... and where not as far as is known

  /// Others have run during the last yields.
  [[nodiscard]] bool is_shared() const noexcept { return evidence_ != 0; }
  /// Whether a wait that begins to poll should soon give way: others want the core, and polls have been in
  /// vain. Now and then it is tried again.
  [[nodiscard]] bool gives_way_soon() const noexcept { return is_hopeless() && !is_trial_; }
  /// How long a spin is to be at most, of which `limit` nanoseconds are allowed. A trial takes all of them:
  /// a partner whose core others want, too, has its turn within that.
  [[nodiscard]] std::int64_t worth(std::int64_t limit) const noexcept {
    return is_shared() && !is_trial_ ? std::min(limit, kWorth) : limit;
  }
  /// How often to poll before a wait begins.
  [[nodiscard]] std::uint32_t eager_polls() const noexcept { return is_hopeless() ? kFewPolls : kEagerPolls; }

  /// A wait begins. True: the thread has had the core for so long without a yield that it is others' turn.
  /// Threads whose partners answer at once would otherwise keep the core until the kernel takes it away, and
  /// never learn that there are others; and a pair of threads has its turn only while both have theirs.
  [[nodiscard]] bool is_turn_over() noexcept {
    if (++waits_ % kWaitsPerLook != 0) return false;
    return base::now_ns() - came_back_ > (is_shared() ? kTurn : kTurnAlone);
  }
  /// A yield has begun and ended at these times, in nanoseconds.
  void yielded(std::int64_t before, std::int64_t now) noexcept {
    const std::int64_t away = now - before;
    came_back_ = now;
    // Where others have had long turns, the partner may be about to have its own again.
    is_trial_ = away > kLongTurns || ++yields_ % kTryAgain == 0;
    if (away > kSwitched)
      evidence_ = kMostEvidence;
    else if (evidence_ != 0)
      --evidence_;
  }
  /// On a shared core polls, and not the first one, have brought what was waited for, or have taken their
  /// time in vain, which costs twice of what is saved otherwise.
  void polled(bool found) noexcept {
    if (!found)
      luck_ = luck_ > 2 ? luck_ - 2 : 0;
    else if (is_trial_)
      luck_ = std::max(luck_, kMostLuck / 2);
    else if (luck_ < kMostLuck)
      ++luck_;
    is_trial_ = false;
  }

 private:
  static constexpr std::uint32_t kMostEvidence = 4;  // yields that let nobody run, before the core is its own
  static constexpr std::uint32_t kMostLuck = 16;
  static constexpr std::uint32_t kTryAgain = 63;       // yields
  static constexpr std::int64_t kLongTurns = 150'000;  // ns

  [[nodiscard]] bool is_hopeless() const noexcept { return is_shared() && luck_ < kMostLuck / 2; }

  std::uint32_t evidence_ = 0;
  std::uint32_t luck_ = kMostLuck;
  bool is_trial_ = false;  // the next polls are one
  std::uint32_t yields_ = 0;
  std::uint32_t waits_ = 0;
  std::int64_t came_back_ = 0;
};

}  // namespace weft::detail
