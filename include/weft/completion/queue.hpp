// Completion queues: first in, first out, entries in place.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/detail/entry_ring.hpp>
#include <weft/detail/queue_end.hpp>

#include <span>

namespace weft {

/// Options of completion queues.
struct QueueOptions {
  /// Messages at rest, in entries, at which remote senders are stopped (their posts answer
  /// retry(no_credit)) until the queue has been emptied; 1 to 2^24, approximate. What is under way by then is
  /// still taken in, and so is every completion of an own operation.
  std::uint32_t capacity = 65536;
  /// Entries allocated at construction; the queue doubles when it is full. A power of two.
  std::uint32_t initial = 256;
};

/// A queue of messages. Memory grows with the largest number of messages at rest, is reused without
/// allocation afterwards, and is freed by the destructor.
///
/// The template arguments say how many threads may push (that is: progress, or post with this object as
/// completion) and pop at the same time; use the aliases below.
template <class Producers, class Consumers>
class WEFT_API BasicCompletionQueue final : public Completion {
 public:
  explicit BasicCompletionQueue(const QueueOptions& options = {});
  ~BasicCompletionQueue() override;

  void signal(Message& message) noexcept override;
  void signal_all(Arrivals& arrivals) noexcept override;
  void signal_all_wide(WideArrivals& arrivals) noexcept override;

  /// Moves the oldest message into `message`; false when the queue is empty. An empty pop only reads.
  bool pop(Message& message) noexcept {
    Ring* const ring = head_ring_.load(std::memory_order_acquire);
    const Ring::Front front = ring->front();
    // Whatever the last pop left in `message` is released in the slow way: that may be the program's own, and
    // use this queue.
    const bool is_free = detail::MessageAccess::holding(message) != detail::MessageAccess::Holding::owner;
    // Whoever is alone now was so at the look at the ring.
    if (!front.is_full || !is_free || !consumers_.enter_alone()) [[unlikely]]
      return pop_slow(message);
    ring->pop_alone(front, message);
    consumers_.leave_alone();
    if (stopped_.load(std::memory_order_relaxed)) [[unlikely]]
      resume_if_drained();
    return true;
  }
  /// Moves up to messages.size() messages; returns how many.
  std::size_t pop(std::span<Message> messages) noexcept {
    std::size_t count = 0;
    while (count < messages.size() && pop(messages[count])) ++count;
    return count;
  }
  /// Only reads.
  [[nodiscard]] bool empty() const noexcept {
    const Ring* ring = head_ring_.load(std::memory_order_acquire);
    return ring->empty() && (ring->next.load(std::memory_order_acquire) == nullptr || empty_slow());
  }
  /// Also while senders are stopped: the next pop lets them go on.
  [[nodiscard]] bool ready() const noexcept override {
    return !empty() || stopped_.load(std::memory_order_relaxed);
  }
  /// Approximate while others push or pop.
  [[nodiscard]] std::size_t size_guess() const noexcept;
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

 private:
  using Ring = detail::EntryRing<>;
  template <class Run>
  void push_all(BasicArrivals<Run>& arrivals) noexcept;
  bool push_alone(const Message& message) noexcept;
  [[gnu::noinline]] void signal_slow(Message& message) noexcept;
  void push(Message& message, bool alone) noexcept;
  [[gnu::noinline]] void push_slow(Message& message, bool alone) noexcept;
  [[gnu::noinline]] bool pop_slow(Message& message) noexcept;
  bool pop_from(Ring* ring, Message& message) noexcept;
  [[nodiscard]] bool empty_slow() const noexcept;
  void grow(Ring* full) noexcept;
  void stop_if_full() noexcept;
  void resume_if_drained() noexcept;

  const std::uint32_t capacity_;
  const std::uint64_t check_mask_;  // positions at which the number at rest is looked at
  Ring* const first_;
  alignas(64) std::atomic<Ring*> head_ring_;
  std::atomic<bool> stopped_{false};
  alignas(64) std::atomic<Ring*> tail_ring_;
  [[no_unique_address]] detail::QueueEnd<Producers> producers_;
  [[no_unique_address]] detail::QueueEnd<Consumers> consumers_;
};

/// Any number of threads push and pop. While one thread pushes and one thread pops, these cost no locked
/// instruction either.
using CompletionQueue = BasicCompletionQueue<detail::ManyThreads, detail::ManyThreads>;
/// Any number of threads push, one thread at a time pops.
using SingleConsumerQueue = BasicCompletionQueue<detail::ManyThreads, detail::OneThread>;
/// One thread at a time pushes and one thread at a time pops (they may differ): no locked instruction. For
/// objects whose messages all arrive through one SerialEndpoint.
using SerialCompletionQueue = BasicCompletionQueue<detail::OneThread, detail::OneThread>;

extern template class BasicCompletionQueue<detail::ManyThreads, detail::ManyThreads>;
extern template class BasicCompletionQueue<detail::ManyThreads, detail::OneThread>;
extern template class BasicCompletionQueue<detail::OneThread, detail::OneThread>;

}  // namespace weft
