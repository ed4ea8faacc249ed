// Spin budget: how long a waiting thread polls before it yields.
#pragma once

#include <weft/detail/processor.hpp>

#include "base/clock.hpp"
#include "core/wait/core_share.hpp"
#include "core/wait/home_processor.hpp"

#include <sched.h>
#include <cstdint>

namespace weft::detail {

/// Counts the time of empty polls. Time and not polls, because a poll takes 5 ns or 100: a thread that yields
/// its core before polling as long as coming back costs loses more than it gives, above all when its partner
/// of another rank has the core of that rank just now. Only where such polls were empty, on a core that other
/// threads want, a few polls are enough (CoreShare).
class Spin {
 public:
  Spin(std::int64_t limit_ns, CoreShare& share) noexcept : limit_ns_(limit_ns), share_(share) { begin(); }

  /// Called after each empty poll. Returns false when it is time to yield.
  [[nodiscard]] bool goes_on() noexcept {
    if (limit_ns_ == 0) return false;
    ++polls_;
    has_polled_ = true;
    was_short_ = yields_soon_;
    if (yields_soon_) return polls_ < CoreShare::kFewPolls;
    // An event that comes soon shall meet neither a pause of 25 to 50 ns nor a read of the clock.
    if (polls_ <= CoreShare::kSpinBudget) {
      if ((polls_ & between_looks_) != 0) return true;
    } else {
      cpu_pause();
      if (polls_ % kPollsPerLook != 0) return true;
    }
    const std::int64_t now = base::now_ns();
    if (since_ns_ == kNotYet) since_ns_ = now;
    if (now - since_ns_ < share_.worth(limit_ns_)) return true;
    if (share_.is_shared()) share_.polled(false);
    return false;
  }
  /// Called when a poll has found something, or the thread has slept: the time counts anew.
  void restart() noexcept { begin(); }
  /// Called when the awaited event has come.
  void end() noexcept {
    // The result of the first poll after other threads have run says nothing about the polls that would
    // follow it.
    if (has_polled_ && share_.is_shared()) share_.polled(true);
  }
  /// Returns true when the spin that goes_on() has just ended counts towards sleeping: the time that short
  /// spins save is no reason to sleep earlier, so one of four counts.
  [[nodiscard]] bool counts() noexcept { return !was_short_ || ++short_spins_ % kShortSpins == 0; }
  /// Yields the core; the time counts anew.
  void give_way() noexcept {
    has_polled_ = false;
    const std::int64_t before = base::now_ns();
    ::sched_yield();
    const std::int64_t now = base::now_ns();
    share_.yielded(before, now);
    if (share_.is_shared()) core::HomeProcessor::leave_shared(now);
    begin();
  }

 private:
  // Polls between reads of the clock, which takes as long as some polls; powers of two.
  static constexpr std::uint32_t kSpinBudgetPerLook = 64;
  static constexpr std::uint32_t kPollsPerLook = 16;
  // ... where other threads want the core: over sockets a poll is a system call, and 64 are many turns.
  static constexpr std::uint32_t kSharedPollsPerLook = 4;
  static constexpr std::uint32_t kShortSpins = 4;  // take about as long as one long spin
  static constexpr std::int64_t kNotYet = -1;

  void begin() noexcept {
    since_ns_ = kNotYet;
    polls_ = 0;
    yields_soon_ = share_.yields_soon();
    between_looks_ = (share_.is_shared() ? kSharedPollsPerLook : kSpinBudgetPerLook) - 1;
  }

  const std::int64_t limit_ns_;
  CoreShare& share_;
  std::int64_t since_ns_ = kNotYet;
  std::uint32_t polls_ = 0;
  std::uint32_t between_looks_ = kSpinBudgetPerLook - 1;
  bool yields_soon_ = false;
  bool was_short_ = false;
  bool has_polled_ = false;  // empty polls, since the wait began or other threads have run
  std::uint32_t short_spins_ = 0;
};

}  // namespace weft::detail
