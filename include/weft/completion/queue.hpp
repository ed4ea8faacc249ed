// Completion queues: first in, first out, entries in place.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/detail/empty_polls.hpp>
#include <weft/detail/entry_ring.hpp>
#include <weft/detail/queue_end.hpp>

#include <span>

namespace weft {

/// Options of completion queues.
struct QueueOptions {
  /// Messages at rest, in entries, at which remote senders are stopped (their posts answer retry(no_credit))
  /// until the queue has been emptied; 1 to 2^24, approximate. Messages that are under way by then are still
  /// accepted, and so is every completion of an own operation.
  std::uint32_t capacity = 65536;
  /// Bytes at rest in payloads of active messages of more than 48 bytes, beyond which remote senders are
  /// stopped as by `capacity`, until half of them have been popped; 0: any number. Approximate: messages that
  /// are under way by then are still accepted.
  std::uint64_t capacity_bytes = 0;
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
  void signal_batch(Arrivals& arrivals) noexcept override;

  /// Moves the oldest message into `message`. Returns false when the queue is empty; such a pop only reads.
  /// A thread that only pops, while others progress, gives way now and then on a core that others want, as
  /// progress() does (attribute poll_yield).
  [[gnu::always_inline]] bool pop(Message& message) noexcept {
    Ring* const ring = head_ring_.load(std::memory_order_acquire);
    const Ring::Front front = ring->front();
    // Fast path of an empty poll, which calls no function and only reads: `next` lies beside the word that
    // front() has read, `stopped_` beside head_ring_.
    if (!front.is_full && ring->next.load(std::memory_order_acquire) == nullptr &&
        !stopped_.load(std::memory_order_relaxed)) {
      detail::note_empty_poll();
      return false;
    }
    return pop_front(ring, front, message);
  }
  /// Moves up to messages.size() messages into `messages`. Returns their number.
  std::size_t pop(std::span<Message> messages) noexcept {
    std::size_t count = 0;
    while (count < messages.size() && pop(messages[count])) ++count;
    return count;
  }
  /// Returns true when the queue has no message. Only reads.
  [[nodiscard]] bool empty() const noexcept {
    const Ring* ring = head_ring_.load(std::memory_order_acquire);
    return ring->empty() && (ring->next.load(std::memory_order_acquire) == nullptr || empty_slow());
  }
  /// Returns true when the queue has a message, and also while senders are stopped: the next pop lets them go
  /// on.
  [[nodiscard]] bool ready() const noexcept override {
    return !empty() || stopped_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] AtRest at_rest() const noexcept override;
  /// The number of messages in the queue; approximate while threads push or pop.
  [[nodiscard]] std::size_t size_guess() const noexcept;
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::uint64_t capacity_bytes() const noexcept { return capacity_bytes_; }

 private:
  using Ring = detail::EntryRing<>;
  bool push_alone(const Message& message) noexcept;
  [[gnu::noinline]] void signal_external(Message& message) noexcept;
  [[gnu::noinline]] void signal_slow(Message& message) noexcept;
  [[gnu::noinline]] void signal_batch_slow(Arrivals& arrivals) noexcept;
  void push(Message& message, bool alone) noexcept;
  [[gnu::noinline]] void push_slow(Message& message, bool alone) noexcept;
  [[gnu::noinline]] bool pop_slow(Message& message) noexcept;
  bool pop_front(Ring* ring, const Ring::Front& front, Message& message) noexcept {
    // A payload that an earlier pop left in `message` is released on the slow path: its owner may belong to
    // the program, and use this queue.
    const bool is_free = !detail::MessageAccess::has_end(message);
    // A thread that is alone now was also alone when front() read the ring.
    if (!front.is_full || !is_free || !consumers_.enter_alone()) [[unlikely]]
      return pop_slow(message);
    if (detail::QueueEntry::Short item{message}; front.entry->is_short())
      ring->pop_alone(front, item);
    else
      pop_long(*ring, message);
    consumers_.leave_alone();
    if (stopped_.load(std::memory_order_relaxed)) [[unlikely]]
      resume_if_drained();
    return true;
  }
  /// pop_alone() for an entry that is not short.
  [[gnu::noinline]] void pop_long(Ring& ring, Message& message) noexcept;
  bool pop_from(Ring* ring, Message& message) noexcept;
  [[nodiscard, gnu::always_inline]] bool fits(const Message& message) const noexcept {
    return detail::MessageAccess::is_plain_arrival(message) &&
           (message.size() <= detail::QueueEntry::kWithHandle || fits_long(message));
  }
  [[nodiscard]] bool fits_long(const Message& message) const noexcept {
    return message.size() <= kEntryPayload &&
           detail::MessageAccess::handle(message) == handle_of_long_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_apart(const Message& message) noexcept;
  void popped_long(Message& message) noexcept {
    if (detail::MessageAccess::holding(message) == detail::MessageAccess::Holding::in_place)
      detail::MessageAccess::set_handle(message, handle_of_long_.load(std::memory_order_relaxed));
    else if (capacity_bytes_ != 0)
      count_popped(message);
  }
  void count_popped(const Message& message) noexcept;
  void count_pushed(const Message& message) noexcept;
  [[nodiscard]] bool empty_slow() const noexcept;
  void grow(Ring* full) noexcept;
  void stop_if_full() noexcept;
  void resume_if_drained() noexcept;

  const std::uint32_t capacity_;
  const std::uint64_t capacity_bytes_;
  // Positions at which the number of messages is checked against the capacity.
  const std::uint64_t check_mask_;
  Ring* const first_;
  // The handle of messages that leave no room for it in their entries: that of the first such message holds
  // for all of them.
  static constexpr std::uint32_t kUndecided = ~std::uint32_t{0};
  std::atomic<std::uint32_t> handle_of_long_{kUndecided};
  std::atomic<std::uint64_t> bytes_{0};  // of payloads in the queue, if there is a capacity in bytes
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
