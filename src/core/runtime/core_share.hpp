// Whether others want a thread's core, and what it had better do then.
#pragma once

#include <cstdint>

namespace weft::detail {

/// What a thread learns of its core while it waits. With the core for itself it polls for as long as it
/// likes. While others want the core, what it waits for may need them to run: a peer that is running on
/// another core answers while it polls, everybody else only after this thread has given way. Which of the two
/// it is, is learned from whether polls find something. Only that thread.
class CoreShare {
 public:
  static constexpr std::int64_t kSwitched = 1000;    // ns: a yield that takes longer has let others run
  static constexpr std::uint32_t kEagerPolls = 256;  // before a wait begins; without pauses
  static constexpr std::uint32_t kFewPolls = 3;      // where polls are in vain

  /// Others have run during the last yields.
  [[nodiscard]] bool is_shared() const noexcept { return evidence_ != 0; }
  /// Whether a wait that begins to poll should soon give way: others want the core, and polls have been in
  /// vain. Now and then it is tried again.
  [[nodiscard]] bool gives_way_soon() noexcept { return is_hopeless() && ++waits_ % kTryAgain != 0; }
  /// How often to poll before a wait begins.
  [[nodiscard]] std::uint32_t eager_polls() const noexcept { return is_hopeless() ? kFewPolls : kEagerPolls; }

  /// A yield has taken `nanoseconds`.
  void yielded(std::int64_t nanoseconds) noexcept {
    if (nanoseconds > kSwitched)
      evidence_ = kMostEvidence;
    else if (evidence_ != 0)
      --evidence_;
  }
  /// On a shared core polls have found something, not the first one, or have taken their time in vain, which
  /// costs twice of what is saved otherwise.
  void polled(bool found) noexcept {
    if (found && luck_ < kMostLuck)
      ++luck_;
    else if (!found)
      luck_ = luck_ > 2 ? luck_ - 2 : 0;
  }

 private:
  static constexpr std::uint32_t kMostEvidence = 4;  // yields that let nobody run, before the core is its own
  static constexpr std::uint32_t kMostLuck = 16;
  static constexpr std::uint32_t kTryAgain = 31;  // times; odd: a wait may begin twice each time

  [[nodiscard]] bool is_hopeless() const noexcept { return is_shared() && luck_ < kMostLuck / 2; }

  std::uint32_t evidence_ = 0;
  std::uint32_t luck_ = kMostLuck;
  std::uint32_t waits_ = 0;
};

}  // namespace weft::detail
