// How long to wait before looking for an answer.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace weft::network::shm {

/// How long a rank that has written into a shuttle leaves its line alone before it looks for the answer.
/// Whoever looks while the peer is about to write takes the line away from it, and whoever looks late has
/// lost the time; how long the peer takes depends on the program and on where the two cores are. So both
/// ranks now and then try another wait, by turns and together, and keep it if round trips become faster. The
/// time is counted in answers, which are as many on both sides: docs/decisions/018.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kEpoch = 256;  // answers
  static constexpr std::uint32_t kPeriod = 32;  // epochs, with one trial of each rank and two of both
  static constexpr std::int32_t kFirst = 6;     // pauses, of 4 to 6 ns each
  static constexpr std::int32_t kMost = 32;

  /// `is_second`: of the two ranks, the one whose own trials come half a period later.
  void set_side(bool is_second) noexcept { own_trial_ = is_second ? kPeriod / 2 : 0; }
  /// Any thread.
  [[nodiscard]] std::int32_t pauses() const noexcept { return pauses_.load(std::memory_order_relaxed); }
  /// At the end of every kEpoch answers; `epoch` counts, with the same numbers on both sides. By whoever is
  /// inside the lane.
  void end_epoch(std::uint32_t epoch, Clock::time_point now) noexcept {
    const Clock::duration time = now - began_;
    began_ = now;
    if (trial_ != 0) {
      if (!is_faster(time)) set_pauses(pauses() - trial_);
      trial_ = 0;
    } else if (const std::int32_t step = step_after(epoch); step != 0) {
      trial_ = set_pauses(pauses() + step);
    }
    before_ = last_;
    last_ = time;
  }

 private:
  // Together they get over a stretch in which what one of them does makes no difference: where a line takes
  // 200 ns, all waits that are too short cost the same.
  static constexpr std::array<std::int32_t, 4> kAlone{2, -2, 5, -1};
  static constexpr std::array<std::int32_t, 8> kTogether{6, -3, 16, -12, 6, -6, 3, -6};

  /// What is tried in the epoch after this one; 0: nothing.
  [[nodiscard]] std::int32_t step_after(std::uint32_t epoch) const noexcept {
    const std::uint32_t place = epoch % kPeriod;
    if (place == own_trial_) return kAlone[epoch / kPeriod % kAlone.size()];
    if (place % (kPeriod / 2) == kPeriod / 4) return kTogether[epoch / (kPeriod / 2) % kTogether.size()];
    return 0;
  }
  /// Returns by how much it became more.
  std::int32_t set_pauses(std::int32_t wanted) noexcept {
    const std::int32_t before = pauses();
    const std::int32_t after = std::clamp(wanted, 0, kMost);
    pauses_.store(after, std::memory_order_relaxed);
    return after - before;
  }
  /// By 3 %, which chance seldom makes, than the faster of the two epochs before the trial, of which one may
  /// have been disturbed.
  [[nodiscard]] bool is_faster(Clock::duration time) const noexcept {
    const Clock::duration usual = std::min(before_, last_);
    return time < usual - usual / 32;
  }

  std::atomic<std::int32_t> pauses_{kFirst};
  std::uint32_t own_trial_ = 0;  // place in the period
  std::int32_t trial_ = 0;       // what is being tried, as a difference
  Clock::time_point began_;
  Clock::duration last_{};  // of the last two epochs
  Clock::duration before_{};
};

}  // namespace weft::network::shm
