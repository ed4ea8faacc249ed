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
class QueueTurn {
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
  [[nodiscard]] Begun begin(weft::detail::StreamGate& gate, std::uintptr_t owner);
  /// The queue's thread has found an operation that nobody has announced: waits until the program is outside.
  void take(weft::detail::StreamGate& gate, std::uintptr_t owner);
  /// Operations have ended; by the queue's thread, which afterwards says when it needs the stream no more.
  void end(std::uint32_t operations) noexcept { busy_.fetch_sub(operations, std::memory_order_release); }
  void set_settled(bool value) noexcept { is_settled_.store(value, std::memory_order_release); }
  [[nodiscard]] bool is_settled() const noexcept { return is_settled_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint32_t busy() const noexcept { return busy_.load(std::memory_order_acquire); }

  /// For who wants the stream: gives the gate back if no operation needs it.
  [[nodiscard]] Released release(weft::detail::StreamGate& gate) noexcept;
  /// Gives it back for good, once the queue's thread has ended.
  void leave(weft::detail::StreamGate& gate) noexcept;
  /// Whether the queue's thread has the gate. Approximate.
  [[nodiscard]] bool is_owned() const noexcept { return is_owned_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;  // who has the gate does not change while it is held
  std::atomic<bool> is_owned_{false};
  std::atomic<bool> is_claimed_{false};
  std::atomic<bool> is_settled_{true};
  std::atomic<std::uint32_t> busy_{0};
};

}  // namespace weft::stream
