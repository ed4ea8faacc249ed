// How long a thread polls before it lets others run.
#pragma once

#include "base/clock.hpp"
#include "core/runtime/core_share.hpp"

#include <sched.h>
#include <cstdint>

namespace weft::detail {

/// Counts the time of polls that found nothing. Time and not polls, because a poll takes 5 ns or 100: a
/// thread that gives its core away earlier than after what it costs to come back loses more than it gives,
/// above all when its partner of another rank has the core of that rank just now. Only where that has been in
/// vain, on a core that others want, a few polls are enough (CoreShare).
class Spin {
 public:
  Spin(std::int64_t limit_ns, CoreShare& share) noexcept : limit_ns_(limit_ns), share_(share) { begin(); }

  /// To be called after each such poll. False: it is time to give way.
  [[nodiscard]] bool goes_on() noexcept {
    if (limit_ns_ == 0) return false;
    ++polls_;
    has_polled_ = true;
    was_short_ = gives_way_soon_;
    if (gives_way_soon_) return polls_ < CoreShare::kFewPolls;
    // What comes soon shall meet neither a pause of 25 to 50 ns nor a look at the clock.
    if (polls_ <= CoreShare::kEagerPolls) {
      if (polls_ % kEagerPollsPerLook != 0) return true;
    } else {
      __builtin_ia32_pause();
      if (polls_ % kPollsPerLook != 0) return true;
    }
    const std::int64_t now = base::now_ns();
    if (since_ns_ == kNotYet) since_ns_ = now;
    if (now - since_ns_ < share_.worth(limit_ns_)) return true;
    if (share_.is_shared()) share_.polled(false);
    return false;
  }
  /// A poll has found something, or the thread has slept: the time counts anew.
  void restart() noexcept { begin(); }
  /// What was waited for has come.
  void end() noexcept {
    // The first poll after others have run says nothing of those that would follow it.
    if (has_polled_ && share_.is_shared()) share_.polled(true);
  }
  /// Whether the spin that goes_on() has just ended counts towards sleeping: what short ones save is no
  /// reason to sleep earlier, so one of four does.
  [[nodiscard]] bool counts() noexcept { return !was_short_ || ++short_spins_ % kShortSpins == 0; }
  /// Lets others run; the time counts anew.
  void give_way() noexcept {
    has_polled_ = false;
    const std::int64_t before = base::now_ns();
    ::sched_yield();
    share_.yielded(before, base::now_ns());
    begin();
  }

 private:
  // At the clock, which takes as long as some polls.
  static constexpr std::uint32_t kEagerPollsPerLook = 64;
  static constexpr std::uint32_t kPollsPerLook = 16;
  static constexpr std::uint32_t kShortSpins = 4;  // with their yields, they take about as long as one
  static constexpr std::int64_t kNotYet = -1;

  void begin() noexcept {
    since_ns_ = kNotYet;
    polls_ = 0;
    gives_way_soon_ = share_.gives_way_soon();
  }

  const std::int64_t limit_ns_;
  CoreShare& share_;
  std::int64_t since_ns_ = kNotYet;
  std::uint32_t polls_ = 0;
  bool gives_way_soon_ = false;
  bool was_short_ = false;
  bool has_polled_ = false;  // in vain, since the wait began or others have run
  std::uint32_t short_spins_ = 0;
};

}  // namespace weft::detail
