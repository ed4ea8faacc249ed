// What tells a thread that waits for messages in shared memory that their senders will send none.
#pragma once

#include <weft/collective/port.hpp>
#include <weft/completion/completion.hpp>
#include <weft/message.hpp>
#include <weft/options.hpp>
#include <weft/types.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace weft::collective {

/// A message that is awaited in shared memory.
struct NearReceive {
  int peer = -1;    // rank of the team
  int member = -1;  // its index among those on this host
  std::uint64_t word = 0;
  std::uint32_t step = 0;
  std::span<std::byte> buffer;
};

/// Receives from ranks which send nothing to them: they end when the rank has left or failed, or has chosen
/// to send a message of another length. And one from this rank that times out again and again: stores of
/// other processes do not wake a thread that sleeps.
class NearGuards final : public Completion {
 public:
  struct Guard {
    int peer = -1;
    std::uint32_t step = 0;
    ReceiveHandle handle{};
    std::atomic<bool> has_ended{false};
    Outcome outcome = Outcome::cancelled;
    std::size_t length = 0;
  };

  /// Posts a receive that ends with timed_out after this time, and passes its end to the completion object.
  using PostAlarm = bool (*)(void* context, Completion& object, std::int64_t nanoseconds) noexcept;
  NearGuards(PostAlarm post_alarm, void* context) noexcept : post_alarm_(post_alarm), context_(context) {}
  ~NearGuards() override {
    is_waiting_.store(false, std::memory_order_relaxed);
    retire();
  }

  /// A thread begins to wait.
  void begin_wait() noexcept {
    pause_.store(kFirstPause, std::memory_order_relaxed);
    is_waiting_.store(true, std::memory_order_seq_cst);
    set_alarm();
  }
  /// Asks again for the alarm that was refused: nothing else would wake a thread that sleeps.
  void keep_alarm() noexcept {
    if (is_refused_.load(std::memory_order_relaxed)) set_alarm();
  }
  void end_wait() noexcept { is_waiting_.store(false, std::memory_order_relaxed); }

  void clear() noexcept {
    guards_.clear();
    peers_.clear();
    has_ended_.store(false, std::memory_order_relaxed);
  }
  [[nodiscard]] Guard& add(const NearReceive& awaited) {
    Guard& guard = guards_.emplace_back();
    guard.peer = awaited.peer;
    guard.step = awaited.step;
    peers_.push_back(awaited.peer);
    return guard;
  }
  [[nodiscard]] std::span<const int> peers() const noexcept { return peers_; }
  /// After end(): those that nothing has ended before have the outcome `cancelled`.
  [[nodiscard]] const std::deque<Guard>& all() const noexcept { return guards_; }
  /// Returns true when one of them has ended.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_.load(std::memory_order_acquire); }

  void signal(Message& message) noexcept override {
    if (message.user_data() == nullptr) return end_alarm(message.outcome());
    auto& guard = *static_cast<Guard*>(message.user_data());
    guard.outcome = message.outcome();
    guard.length = message.length();
    // Pairs with the acquires in has_ended() and end().
    if (guard.outcome != Outcome::cancelled) has_ended_.store(true, std::memory_order_release);
    guard.has_ended.store(true, std::memory_order_release);
    notify_waiters_of(this);
  }
  [[nodiscard]] bool ready() const noexcept override { return has_ended(); }

  /// Ends those that have not.
  void end(detail::CollectivePort& port) noexcept {
    for (Guard& guard : guards_) {
      if (guard.has_ended.load(std::memory_order_acquire)) continue;
      static_cast<void>(port.cancel(guard.handle));
      while (!guard.has_ended.load(std::memory_order_acquire)) port.progress();
    }
  }

 private:
  static constexpr std::int64_t kFirstPause = 250'000;  // ns
  static constexpr std::int64_t kLongestPause = 2'000'000;

  void set_alarm() noexcept {
    if (has_alarm_.exchange(true, std::memory_order_seq_cst)) return;
    const bool is_posted = post_alarm_(context_, *this, pause_.load(std::memory_order_relaxed));
    is_refused_.store(!is_posted, std::memory_order_relaxed);
    if (!is_posted) has_alarm_.store(false, std::memory_order_relaxed);
  }
  void end_alarm(Outcome outcome) noexcept {
    const std::int64_t pause = pause_.load(std::memory_order_relaxed);
    pause_.store(std::min(2 * pause, kLongestPause), std::memory_order_relaxed);
    // Either this thread sees one that waits, or that one sees that there is no alarm.
    has_alarm_.store(false, std::memory_order_seq_cst);
    if (outcome == Outcome::timed_out && is_waiting_.load(std::memory_order_seq_cst)) set_alarm();
    notify_waiters_of(this);
  }

  const PostAlarm post_alarm_;
  void* const context_;
  std::atomic<std::int64_t> pause_{kFirstPause};
  std::atomic<bool> is_waiting_{false};
  std::atomic<bool> has_alarm_{false};
  std::atomic<bool> is_refused_{false};  // there is none, as its post was refused
  std::deque<Guard> guards_;             // which do not move
  std::vector<int> peers_;
  std::atomic<bool> has_ended_{false};
};

}  // namespace weft::collective
