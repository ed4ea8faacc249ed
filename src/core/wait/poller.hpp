// Tells when a thread that only calls progress() yields its core.
#pragma once

#include "core/wait/core_share.hpp"

#include <algorithm>
#include <cstdint>

namespace weft::detail {

/// Counts the empty progress calls of one thread, over all of its devices, and tells when it is time to
/// yield: as soon as a wait would (Spin), on a core that other threads want, and almost never on a core of
/// its own, where a yield a millisecond finds out whether that has changed. A thread that computes between
/// its polls does not count as a poller: its core is in use, and the kernel shares it out.
///
/// For that thread only. Calls of count() and found() cost a thread-local word each; the clock is read after
/// some dozens of empty polls, except on cores that other threads want and where polls are usually empty.
class Poller {
 public:
  static constexpr std::uint32_t kPollsAlone = 256;   // between two reads of the clock, on a core of its own
  static constexpr std::uint32_t kPollsShared = 64;   // before the first read, on a shared core
  static constexpr std::uint32_t kPollsPerLook = 16;  // ... and between further reads
  static constexpr std::int64_t kComputes = 2000;     // ns between polls, from which on a thread computes
  static constexpr std::int64_t kTrial = 5000;        // ns of empty polls in a trial of how long they pay

  static constexpr std::int64_t kLongTurn = 150'000;  // ns of a yield: other threads compute
  static constexpr std::int64_t kShareOfTurns = 16;   // after one, this part of it belongs to the poller

  constexpr Poller() noexcept : share_(CoreShare::kSwitchedSoon) {}

  /// Counts an empty progress call. Returns true when look() is due.
  [[nodiscard]] bool count(std::uint32_t polls = 1) noexcept { return (polls_ += polls) >= due_; }
  /// Empty polls, one after the other: changes whenever the thread polls in vain.
  [[nodiscard]] std::uint32_t polls() const noexcept { return polls_; }
  /// Called when a progress call has found something.
  void found() noexcept {
    if (polls_ != 0) end_stretch();
  }
  /// Called when a wait of the library begins, which yields by itself.
  void leave_to_wait() noexcept {
    begin_stretch();
    due_ = std::max(due_, kPollsAlone + 1);
  }

  /// Returns true when it is time to yield. `now` in nanoseconds.
  [[nodiscard]] bool look(std::int64_t now) noexcept {
    const std::uint32_t polls = polls_ - polls_before_;
    const std::int64_t elapsed = now - before_;
    const bool has_looked = before_ != kNotYet;
    polls_before_ = polls_;
    before_ = now;
    if (polls_ > kMostPolls) polls_before_ = polls_ = 1;
    if (!share_.is_shared()) {
      due_ = polls_ + kPollsAlone;
      // A thread that computes, or has lost its core meanwhile, does not yield.
      if (has_looked && elapsed > kComputes * polls) return false;
      return now - came_back_ > CoreShare::kTurnAlone;
    }
    if (has_looked && elapsed > kComputes * polls) {
      since_ = now;
      due_ = polls_ + (yields_soon_ ? CoreShare::kFewPolls - 1 : kPollsPerLook);
      return false;
    }
    if (now < keeps_until_) {
      due_ = polls_ + kPollsPerLook;
      return false;
    }
    if (yields_soon_) {
      due_ = CoreShare::kFewPolls;
      return polls_ >= CoreShare::kFewPolls;
    }
    due_ = polls_ + kPollsPerLook;
    if (since_ == kNotYet) since_ = now;
    if (now - since_ < share_.worth(kTrial)) return false;
    share_.polled(false);
    return true;
  }
  /// Called when the thread has yielded, from and to these times.
  void gave_way(std::int64_t before, std::int64_t now) noexcept {
    share_.yielded(before, now);
    came_back_ = now;
    const std::int64_t away = now - before;
    keeps_until_ = away > kLongTurn ? now + away / kShareOfTurns : now;
    begin_stretch();
    before_ = now;
  }

  [[nodiscard]] const CoreShare& share() const noexcept { return share_; }

 private:
  static constexpr std::int64_t kNotYet = -1;
  static constexpr std::uint32_t kMostPolls = 1U << 30;

  void end_stretch() noexcept {
    // The result of the first poll after other threads have run says nothing about the polls that would
    // follow it.
    if (share_.is_shared()) share_.polled(true);
    begin_stretch();
  }
  void begin_stretch() noexcept {
    polls_ = polls_before_ = 0;
    before_ = since_ = kNotYet;
    yields_soon_ = share_.yields_soon();
    due_ = yields_soon_ ? 1 : share_.is_shared() ? kPollsShared : kPollsAlone;
  }

  std::uint32_t polls_ = 0;  // empty polls, one after the other
  std::uint32_t due_ = kPollsAlone;
  std::uint32_t polls_before_ = 0;  // at the last call of look()
  bool yields_soon_ = false;
  std::int64_t before_ = kNotYet;  // the time of the last look(), or of the yield before
  std::int64_t since_ = kNotYet;   // the first of the calls of look() after which polls go on for a time
  std::int64_t keeps_until_ = 0;   // end of a turn of its own, after a long one of other threads
  std::int64_t came_back_ = -CoreShare::kTurnAlone - 1;
  CoreShare share_;
};

}  // namespace weft::detail
