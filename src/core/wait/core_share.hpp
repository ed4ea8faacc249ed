// Oversubscription: tells when other threads want a thread's core, and how long it should poll then.
#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <cstdint>

namespace weft::detail {

/// What a thread learns about its core while it waits. With the core for itself it polls as long as it likes.
/// While other threads want the core, the event it waits for may need them to run: a peer that is running on
/// another core answers while this thread polls, other peers only after this thread has yielded. Which of the
/// two applies is learned from whether polls end waits. For that thread only. docs/decisions/019, 025.
class CoreShare {
 public:
  /// `switched`: a yield of at least this many nanoseconds means that other threads have run meanwhile.
  constexpr explicit CoreShare(std::int64_t switched = kSwitched) noexcept : switched_(switched) {}

  static constexpr std::int64_t kSwitched = 1800;      // ns: a longer yield has let other threads run
  static constexpr std::int64_t kSwitchedSoon = 1000;  // ... or counts as one, where a switch costs less
  static constexpr std::uint32_t kSpinBudget = 256;    // polls before a wait begins; without pauses
  static constexpr std::uint32_t kFewPolls = 3;        // where polls are usually empty
  static constexpr std::int64_t kWorth = 2000;         // ns: what it costs to be switched out and in
  static constexpr std::uint32_t kWaitsPerLook = 128;  // between reads of the clock, for is_turn_over()
  static constexpr std::int64_t kTurn = 200'000;  // ns between two yields, where other threads want the core
  static constexpr std::int64_t kTurnAlone = 1'000'000;  // ... and where they do not, as far as is known

  /// Returns true when other threads have run during the last yields.
  [[nodiscard]] bool is_shared() const noexcept { return evidence_ != 0; }
  /// Returns true when a wait that begins to poll should soon yield: other threads want the core, and polls
  /// were empty. Now and then longer polling is tried again.
  [[nodiscard]] bool yields_soon() const noexcept { return has_low_score() && !explores_; }
  /// Returns the maximum time of a spin, of which `limit` nanoseconds are allowed. A trial takes all of them:
  /// a partner whose core is shared, too, has its turn within that time.
  [[nodiscard]] std::int64_t worth(std::int64_t limit) const noexcept {
    return is_shared() && !explores_ ? std::min(limit, kWorth) : limit;
  }
  /// Returns the number of polls before a wait begins.
  [[nodiscard]] std::uint32_t spin_budget() const noexcept {
    return has_low_score() ? kFewPolls : kSpinBudget;
  }

  /// Called when a wait begins. Returns true when the thread has had the core so long without a yield that
  /// other threads should run. Threads whose partners answer at once would otherwise keep the core until the
  /// kernel takes it away, and never learn that there are other threads; and a pair of threads has its turn
  /// only while both have theirs.
  [[nodiscard]] bool is_turn_over() noexcept {
    if (++waits_ % kWaitsPerLook != 0) return false;
    return base::now_ns() - came_back_ > (is_shared() ? kTurn : kTurnAlone);
  }
  /// Called after a yield that began and ended at these times, in nanoseconds.
  void yielded(std::int64_t before, std::int64_t now) noexcept {
    const std::int64_t away = now - before;
    came_back_ = now;
    // Where other threads have had long turns, the partner may be about to have its own again.
    explores_ = away > kLongTurns || ++yields_ % kTryAgain == 0;
    if (away > switched_)
      evidence_ = kMostEvidence;
    else if (evidence_ != 0)
      --evidence_;
  }
  /// Called after polls on a shared core, the first one excepted. `found`: they have ended the wait;
  /// otherwise they were empty and have taken their time, which costs twice what is saved otherwise.
  void polled(bool found) noexcept {
    if (!found)
      score_ = score_ > 2 ? score_ - 2 : 0;
    else if (explores_)
      score_ = std::max(score_, kMaximumScore / 2);
    else if (score_ < kMaximumScore)
      ++score_;
    explores_ = false;
  }

 private:
  static constexpr std::uint32_t kMostEvidence = 4;  // yields until the core counts as own again
  static constexpr std::uint32_t kMaximumScore = 16;
  static constexpr std::uint32_t kTryAgain = 63;       // yields
  static constexpr std::int64_t kLongTurns = 150'000;  // ns

  [[nodiscard]] bool has_low_score() const noexcept { return is_shared() && score_ < kMaximumScore / 2; }

  std::int64_t switched_;
  std::uint32_t evidence_ = 0;
  std::uint32_t score_ = kMaximumScore;
  bool explores_ = false;  // the next polls are a trial
  std::uint32_t yields_ = 0;
  std::uint32_t waits_ = 0;
  std::int64_t came_back_ = 0;
};

}  // namespace weft::detail
