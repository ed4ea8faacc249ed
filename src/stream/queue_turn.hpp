// Whose turn it is in a stream that has a queue.
#pragma once

#include <weft/detail/stream_gate.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace weft::stream {

/// The queue's thread has the stream's gate from the first operation that is enqueued until all have ended,
/// and then as long as nobody asks for it: giving it to and fro costs a barrier in all threads of the
/// process. Any thread, unless said otherwise.
///
/// The atomic type, the threads and the mutex are parameters so that tests can drive schedules.
template <template <class> class Atomic = std::atomic, class Threads = weft::detail::ProcessThreads,
          class Mutex = std::mutex>
class BasicQueueTurn {
  using Gate = weft::detail::BasicStreamGate<Atomic, Threads>;

 public:
  enum class Begun : std::uint8_t {
    yes,
    in_handler,  ///< the calling thread attends to the stream, and runs a handler of it
    inside,      ///< a thread is inside the stream
  };
  enum class Released : std::uint8_t {
    yes,
    busy,  ///< operations have not ended
    soon,  ///< they have, but the queue's thread is not through with the last: ask again
  };

  /// One queue at a time. Returns false when there is one.
  [[nodiscard]] bool claim() noexcept { return !is_claimed_.exchange(true, std::memory_order_acq_rel); }
  /// After leave().
  void unclaim() noexcept { is_claimed_.store(false, std::memory_order_release); }

  /// Before an operation is enqueued; `owner`: the mark of the queue's thread.
  [[nodiscard]] Begun begin(Gate& gate, std::uintptr_t owner);
  /// The queue's thread has found an operation that nobody has announced: waits until the program is outside.
  void take(Gate& gate, std::uintptr_t owner);
  /// Operations have ended; by the queue's thread, which afterwards says when it needs the stream no more.
  void end(std::uint32_t operations) noexcept { busy_.fetch_sub(operations, std::memory_order_release); }
  void set_settled(bool value) noexcept { is_settled_.store(value, std::memory_order_release); }
  [[nodiscard]] bool is_settled() const noexcept { return is_settled_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint32_t busy() const noexcept { return busy_.load(std::memory_order_acquire); }

  /// For who wants the stream: gives the gate back if no operation needs it.
  [[nodiscard]] Released release(Gate& gate) noexcept;
  /// Gives it back for good, once the queue's thread has ended.
  void leave(Gate& gate) noexcept;
  /// Whether the queue's thread has the gate. Approximate.
  [[nodiscard]] bool is_owned() const noexcept { return is_owned_.load(std::memory_order_relaxed); }

 private:
  Mutex mutex_;  // who has the gate does not change while it is held
  Atomic<bool> is_owned_{false};
  Atomic<bool> is_claimed_{false};
  Atomic<bool> is_settled_{true};
  Atomic<std::uint32_t> busy_{0};
};
using QueueTurn = BasicQueueTurn<>;

template <template <class> class Atomic, class Threads, class Mutex>
auto BasicQueueTurn<Atomic, Threads, Mutex>::begin(Gate& gate, std::uintptr_t owner) -> Begun {
  const std::lock_guard lock(mutex_);
  if (!is_owned()) {
    if (gate.is_taken_by(Threads::mark())) return Begun::in_handler;
    // Another thread attends to the stream, for a call of progress().
    while (!gate.try_take_for(owner)) Threads::yield();
    Threads::barrier();
    if (!gate.is_left()) {
      gate.give_back();
      return Begun::inside;
    }
    is_owned_.store(true, std::memory_order_relaxed);
  }
  busy_.fetch_add(1, std::memory_order_relaxed);
  return Begun::yes;
}

template <template <class> class Atomic, class Threads, class Mutex>
void BasicQueueTurn<Atomic, Threads, Mutex>::take(Gate& gate, std::uintptr_t owner) {
  const std::lock_guard lock(mutex_);
  if (!is_owned()) {
    while (!gate.try_take_for(owner)) Threads::yield();
    Threads::barrier();
    while (!gate.is_left()) Threads::yield();
    is_owned_.store(true, std::memory_order_relaxed);
  }
  busy_.fetch_add(1, std::memory_order_relaxed);
}

template <template <class> class Atomic, class Threads, class Mutex>
auto BasicQueueTurn<Atomic, Threads, Mutex>::release(Gate& gate) noexcept -> Released {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return Released::soon;
  if (!is_owned()) return Released::yes;
  if (busy() != 0) return Released::busy;
  if (!is_settled()) return Released::soon;
  gate.give_back();
  is_owned_.store(false, std::memory_order_relaxed);
  return Released::yes;
}

template <template <class> class Atomic, class Threads, class Mutex>
void BasicQueueTurn<Atomic, Threads, Mutex>::leave(Gate& gate) noexcept {
  const std::lock_guard lock(mutex_);
  if (is_owned()) gate.give_back();
  is_owned_.store(false, std::memory_order_relaxed);
  is_settled_.store(true, std::memory_order_relaxed);
  busy_.store(0, std::memory_order_relaxed);
}

}  // namespace weft::stream
