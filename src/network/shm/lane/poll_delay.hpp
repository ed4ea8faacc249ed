// Adaptive poll delay: how long a rank leaves a line alone before it polls for an answer.
#pragma once

#include <weft/detail/processor.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace weft::network::shm {

/// The time for which a rank that has written into a reply slot leaves its line alone before it polls for the
/// answer. A poll while the peer is about to write takes the line away from the peer, and a late poll loses
/// the time; how long the peer takes depends on the program and on the two cores. So both ranks now and then
/// try another delay, alone in turns and together, and keep it if round trips become faster. Time is counted
/// in answers, of which both sides have the same number: docs/decisions/018.
class PollDelay {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kEpoch = 256;  // answers per epoch
  static constexpr std::uint32_t kPeriod = 32;  // epochs, with one trial of each rank and two of both
  static constexpr std::int32_t kFirst = 6;     // pauses, of 4 to 6 ns each
  static constexpr std::int32_t kMost = 32;
  static constexpr std::int32_t kBetween = 4;  // pauses between polls

  /// Resets the delay; only the calling thread may write at the time.
  void begin_again() noexcept {
    is_first_.store(false, std::memory_order_relaxed);
    pauses_.store(kFirst, std::memory_order_relaxed);
    own_exploration_ = 0;
    explored_step_ = 0;
    began_ = {};
    last_ = before_ = {};
  }
  /// `is_second` is true for the rank whose own trials come half a period later.
  void set_side(bool is_second) noexcept { own_exploration_ = is_second ? kPeriod / 2 : 0; }
  /// Any thread. The delay, in pauses.
  [[nodiscard]] std::int32_t pauses() const noexcept { return pauses_.load(std::memory_order_relaxed); }
  /// Notes that this rank may write into the reply slot again: in a ping-pong, the next poll is the first one
  /// for an answer.
  void begin_turn(bool is_ping_pong) noexcept { is_first_.store(is_ping_pong, std::memory_order_relaxed); }
  // Any thread.
  [[nodiscard]] bool is_first() const noexcept { return is_first_.load(std::memory_order_relaxed); }
  /// Waits before the first poll: leaves the line to the peer for as long as was learned. Once per message.
  void before_first() noexcept {
    is_first_.store(false, std::memory_order_relaxed);
    leave_line_alone(pauses());
  }
  /// Waits between further polls.
  static void between() noexcept { leave_line_alone(kBetween); }
  /// Called at the end of every kEpoch answers by the thread that has entered the lane; `epoch` counts, with
  /// the same numbers on both sides.
  void end_epoch(std::uint32_t epoch, Clock::time_point now) noexcept {
    const Clock::duration time = now - began_;
    began_ = now;
    if (explored_step_ != 0) {
      if (!is_faster(time)) set_pauses(pauses() - explored_step_);
      explored_step_ = 0;
    } else if (const std::int32_t step = step_after(epoch); step != 0) {
      explored_step_ = set_pauses(pauses() + step);
    }
    before_ = last_;
    last_ = time;
  }

 private:
  /// Polls in a tight loop make the peer wait for the line, and cost this core mispredicted branches when the
  /// line has changed: docs/decisions/017.
  static void leave_line_alone(std::int32_t pauses) noexcept {
    for (; pauses > 0; --pauses) detail::short_pause();
  }
  // Steps of the trials. Trials of both ranks together get over a range in which a change by one rank makes
  // no difference: where a line takes 200 ns, all delays that are too short cost the same.
  static constexpr std::array<std::int32_t, 4> kAlone{2, -2, 5, -1};
  static constexpr std::array<std::int32_t, 8> kTogether{6, -3, 16, -12, 6, -6, 3, -6};

  /// The step that is tried in the epoch after this one; 0: none.
  [[nodiscard]] std::int32_t step_after(std::uint32_t epoch) const noexcept {
    const std::uint32_t position = epoch % kPeriod;
    if (position == own_exploration_) return kAlone[epoch / kPeriod % kAlone.size()];
    if (position % (kPeriod / 2) == kPeriod / 4) return kTogether[epoch / (kPeriod / 2) % kTogether.size()];
    return 0;
  }
  /// Returns the change.
  std::int32_t set_pauses(std::int32_t wanted) noexcept {
    const std::int32_t before = pauses();
    const std::int32_t after = std::clamp(wanted, 0, kMost);
    pauses_.store(after, std::memory_order_relaxed);
    return after - before;
  }
  /// Returns true when the epoch was faster, by 3 % (which chance seldom causes), than the faster of the two
  /// epochs before the trial. Of two, because one may have been disturbed.
  [[nodiscard]] bool is_faster(Clock::duration time) const noexcept {
    const Clock::duration usual = std::min(before_, last_);
    return time < usual - usual / 32;
  }

  std::atomic<std::int32_t> pauses_{kFirst};
  std::uint32_t own_exploration_ = 0;  // position of this rank's own trials in the period
  std::int32_t explored_step_ = 0;     // the step on trial; 0: none
  std::atomic<bool> is_first_{false};  // the next poll for an answer is the first one of a ping-pong
  Clock::time_point began_;
  Clock::duration last_{};  // duration of the last epoch
  Clock::duration before_{};
};

}  // namespace weft::network::shm
