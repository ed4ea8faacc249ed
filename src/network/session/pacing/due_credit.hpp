// Credit that is to be returned: what has been taken of a lane's messages, and whether anybody has to look.
//
// The atomic type is a parameter so that tests can drive schedules.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::network::session {

/// Messages of a lane that have been delivered. One thread at a time adds, with the lane entered; one at a
/// time tells the peer, under the device's lock. Counts are modulo 2^32.
template <template <class> class Atomic = std::atomic>
class BasicTakenMessages {
 public:
  /// `whole`: a frame counts as one; `messages`: those in frames counted one by one.
  void add(std::uint32_t whole, std::uint32_t messages) noexcept {
    whole_.store(this->whole() + whole, std::memory_order_relaxed);
    messages_.store(this->messages() + messages, std::memory_order_relaxed);
  }
  /// The peer has a report of so many.
  void report(std::uint32_t whole) noexcept { reported_.store(whole, std::memory_order_relaxed); }

  [[nodiscard]] std::uint32_t whole() const noexcept { return whole_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t messages() const noexcept { return messages_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t reported() const noexcept { return reported_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t unreported() const noexcept { return whole() - reported(); }

 private:
  Atomic<std::uint32_t> whole_{0};
  Atomic<std::uint32_t> messages_{0};
  Atomic<std::uint32_t> reported_{0};
};
using TakenMessages = BasicTakenMessages<>;

/// Of a device. Any thread delivers; one at a time, under the device's lock, returns credit. As long as a
/// lane has messages without a report to the peer, is_owed() is true; as long as it has a batch of
/// them that nobody has looked at, is_due() is as well.
///
/// Written by read-modify-writes alone: they go on with each other's release sequences, so that who takes the
/// flag of one thread sees what all have taken that had set it.
template <template <class> class Atomic = std::atomic>
class BasicDueCredit {
 public:
  /// Called after TakenMessages::add(). `is_batch`: of so much that the peer may wait for it.
  void note(bool is_batch) noexcept {
    // Pairs with the acquires in take_due() and begin_to_report_all().
    flags_.fetch_or(kIsDue | kIsOwed | (is_batch ? kIsBatch : 0), std::memory_order_release);
  }
  /// Returns true when something has been taken since the last call; then all of it is visible.
  [[nodiscard]] bool take_due() noexcept {
    // Pairs with the release in note().
    return is_due() && (flags_.fetch_and(~(kIsDue | kIsBatch), std::memory_order_acquire) & kIsDue) != 0;
  }
  /// All that is visible from now on is reported; whoever cannot do so at once says so.
  void begin_to_report_all() noexcept {
    // Pairs with the release in note().
    flags_.fetch_and(~kIsOwed, std::memory_order_acquire);
  }
  void owe_again() noexcept { flags_.fetch_or(kIsOwed, std::memory_order_relaxed); }

  [[nodiscard]] bool is_due() const noexcept { return has(kIsDue); }
  [[nodiscard]] bool is_owed() const noexcept { return has(kIsOwed); }
  [[nodiscard]] bool is_batch_owed() const noexcept { return has(kIsBatch); }

 private:
  static constexpr std::uint32_t kIsDue = 1;
  static constexpr std::uint32_t kIsOwed = 2;
  static constexpr std::uint32_t kIsBatch = 4;

  [[nodiscard]] bool has(std::uint32_t flag) const noexcept {
    return (flags_.load(std::memory_order_relaxed) & flag) != 0;
  }

  Atomic<std::uint32_t> flags_{0};
};
using DueCredit = BasicDueCredit<>;

}  // namespace weft::network::session
