// The slow paths of queues: grow, advance to the next ring, stop and resume their senders.
#include <weft/completion/arrivals.hpp>
#include <weft/completion/queue.hpp>
#include <weft/error.hpp>

#include "base/fork_watch.hpp"
#include "core/completion/queue_entry.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>

namespace weft {

namespace {

constexpr std::uint32_t kMaxCapacity = 1U << 24;

std::uint32_t checked_capacity(const QueueOptions& options) {
  if (options.capacity == 0 || options.capacity > kMaxCapacity)
    throw Error(ErrorClass::option, "queue capacity " + std::to_string(options.capacity) +
                                        " is out of range: 1 to " + std::to_string(kMaxCapacity));
  return options.capacity;
}

std::uint32_t checked_initial(const QueueOptions& options) {
  if (!std::has_single_bit(options.initial) || options.initial > kMaxCapacity)
    throw Error(ErrorClass::option, "queue initial size " + std::to_string(options.initial) +
                                        " is not a power of two up to " + std::to_string(kMaxCapacity));
  return options.initial;
}

}  // namespace

template <class Producers, class Consumers>
BasicCompletionQueue<Producers, Consumers>::BasicCompletionQueue(const QueueOptions& options)
    : capacity_(checked_capacity(options)),
      capacity_bytes_(options.capacity_bytes),
      check_mask_(capacity_ >= 256 ? 63 : 0),
      first_(new Ring(std::max(checked_initial(options), 2U))),
      head_ring_(first_),
      tail_ring_(first_) {}

template <class Producers, class Consumers>
BasicCompletionQueue<Producers, Consumers>::~BasicCompletionQueue() {
  this->retire();
  // Threads of the parent that were inside never leave in this process.
  if (base::is_forked_copy()) return;
  // The thread that has pushed the last popped message may not have returned.
  producers_.await_leaving();
  consumers_.await_leaving();
  Message message;
  while (pop(message)) {
    if (detail::MessageAccess::outcome_of(detail::MessageAccess::kind(message)) == Outcome::peer_failed)
      detail::MessageAccess::excuse_outcome(message);  // posted for a rank that has left before
    message = Message();
  }
  for (Ring* ring = first_; ring != nullptr;) {
    Ring* next = ring->next.load(std::memory_order_relaxed);
    delete ring;
    ring = next;
  }
}

/// Makes no further call when a single thread pushes and the message fits its entry.
template <class Producers, class Consumers>
void BasicCompletionQueue<Producers, Consumers>::signal(Message& message) noexcept {
  if (!fits(message)) return signal_external(message);
  if (producers_.enter_alone()) [[likely]] {
    const bool is_pushed = push_alone(message);
    producers_.leave_alone();
    if (is_pushed) [[likely]]
      return notify_waiters_of(this);
  }
  signal_slow(message);
}

/// signal() for the end of an operation of the program's own, with no further call when a single thread
/// pushes either.
template <class Producers, class Consumers>
void BasicCompletionQueue<Producers, Consumers>::signal_external(Message& message) noexcept {
  if (message.operation() != Operation::active_message && producers_.enter_alone()) [[likely]] {
    const bool is_pushed =
        tail_ring_.load(std::memory_order_acquire)->push_alone(check_mask_, [&](detail::QueueEntry& entry) {
          detail::store_end(entry, message);
        });
    producers_.leave_alone();
    if (is_pushed) [[likely]]
      return notify_waiters_of(this);
  }
  signal_slow(message);
}

template <class Producers, class Consumers>
void BasicCompletionQueue<Producers, Consumers>::signal_slow(Message& message) noexcept {
  const auto visit = producers_.enter();
  push(message, visit.alone);
  producers_.leave(visit);
  notify_waiters_of(this);
}

template <class Producers, class Consumers>
[[gnu::always_inline]] inline bool BasicCompletionQueue<Producers, Consumers>::push_alone(
    const Message& message) noexcept {
  return tail_ring_.load(std::memory_order_acquire)->push_alone(check_mask_, [&](detail::QueueEntry& entry) {
    entry.store_in_place(message);
  });
}

/// Pushes a batch: enters the queue and checks for waiters once. (A thread that enters meanwhile for the
/// first time waits, once in the life of the queue, until all of them have been pushed.)
template <class Producers, class Consumers>
void BasicCompletionQueue<Producers, Consumers>::signal_batch(Arrivals& arrivals) noexcept {
  const auto visit = producers_.enter();
  if (visit.alone) [[likely]]
    arrivals.for_each([this](Message& message) {
      if (!fits(message) || !push_alone(message)) [[unlikely]]
        push_slow(message, true);
    });
  else
    signal_batch_slow(arrivals);
  producers_.leave(visit);
  notify_waiters_of(this);
}

/// Pushes a batch while other threads push.
template <class Producers, class Consumers>
void BasicCompletionQueue<Producers, Consumers>::signal_batch_slow(Arrivals& arrivals) noexcept {
  arrivals.for_each([this](Message& message) { push_slow(message, false); });
}

template <class Producers, class Consumers>
inline void BasicCompletionQueue<Producers, Consumers>::push(Message& message, bool alone) noexcept {
  if (capacity_bytes_ != 0) [[unlikely]]
    count_pushed(message);
  for (;;) {
    Ring* ring = tail_ring_.load(std::memory_order_acquire);
    // Checked before the push: the thread that pops the end of its own operation may then destroy the queue.
    if ((ring->tail_guess() & check_mask_) == 0) stop_if_full();
    const auto result = [&] {
      if (!is_apart(message)) [[likely]]
        return ring->push(message, alone);
      detail::QueueEntry::Apart apart{message};
      return ring->push(apart, alone);
    }();
    if (result == Ring::Push::pushed) [[likely]]
      return;
    if (result == Ring::Push::full) grow(ring);
    Ring* next = ring->next.load(std::memory_order_acquire);
    if (next != nullptr) {
      ring->close();
      // The first thread to do so moves the tail; pairs with the acquire above.
      tail_ring_.compare_exchange_strong(ring, next, std::memory_order_acq_rel);
    }
  }
}

/// Returns true when the message's entry would have no room for the handle by which it came, nor the queue.
template <class Producers, class Consumers>
inline bool BasicCompletionQueue<Producers, Consumers>::is_apart(const Message& message) noexcept {
  if (message.size() <= detail::QueueEntry::kWithHandle || !detail::QueueEntry::fits(message)) [[likely]]
    return false;
  const std::uint32_t handle = detail::MessageAccess::handle(message);
  std::uint32_t known = kUndecided;
  return handle == kUndecided ||
         (!handle_of_long_.compare_exchange_strong(known, handle, std::memory_order_relaxed) &&
          known != handle);
}

/// Not inlined, so that the loop that calls it stays small.
template <class Producers, class Consumers>
void BasicCompletionQueue<Producers, Consumers>::push_slow(Message& message, bool alone) noexcept {
  push(message, alone);
}

template <class Producers, class Consumers>
void BasicCompletionQueue<Producers, Consumers>::grow(Ring* full) noexcept {
  if (full->next.load(std::memory_order_acquire) != nullptr) return;
  try {
    auto larger = std::make_unique<Ring>(full->capacity() * 2);
    Ring* none = nullptr;
    if (full->next.compare_exchange_strong(none, larger.get(), std::memory_order_acq_rel)) larger.release();
  } catch (const std::bad_alloc&) {
    std::abort();  // a message that was accepted cannot be dropped
  }
}

template <class Producers, class Consumers>
void BasicCompletionQueue<Producers, Consumers>::pop_long(Ring& ring, Message& message) noexcept {
  ring.pop_alone(ring.front(), message);
  if (message.size() > detail::QueueEntry::kWithHandle) popped_long(message);
}

template <class Producers, class Consumers>
inline bool BasicCompletionQueue<Producers, Consumers>::pop_from(Ring* ring, Message& message) noexcept {
  if (ring->empty()) return false;
  // Releases what the last pop left in `message`. Before entering, because the release may be the program's
  // own and use this queue.
  if (detail::MessageAccess::has_end(message)) message = Message();
  const auto visit = consumers_.enter();
  const bool popped = ring->pop(message, visit.alone);
  if (popped && message.size() > detail::QueueEntry::kWithHandle) popped_long(message);
  consumers_.leave(visit);
  return popped;
}

template <class Producers, class Consumers>
bool BasicCompletionQueue<Producers, Consumers>::pop_slow(Message& message) noexcept {
  for (;;) {
    Ring* ring = head_ring_.load(std::memory_order_acquire);
    if (pop_from(ring, message)) break;
    Ring* next = ring->next.load(std::memory_order_acquire);
    if (next == nullptr || !ring->drained()) {
      if (stopped_.load(std::memory_order_relaxed)) resume_if_drained();
      return false;
    }
    head_ring_.compare_exchange_strong(ring, next, std::memory_order_acq_rel);
  }
  if (stopped_.load(std::memory_order_relaxed)) resume_if_drained();
  return true;
}

template <class Producers, class Consumers>
bool BasicCompletionQueue<Producers, Consumers>::empty_slow() const noexcept {
  for (const Ring* ring = head_ring_.load(std::memory_order_acquire); ring != nullptr;
       ring = ring->next.load(std::memory_order_acquire))
    if (!ring->empty()) return false;
  return true;
}

template <class Producers, class Consumers>
std::size_t BasicCompletionQueue<Producers, Consumers>::size_guess() const noexcept {
  std::size_t size = 0;
  for (const Ring* ring = head_ring_.load(std::memory_order_acquire); ring != nullptr;
       ring = ring->next.load(std::memory_order_acquire))
    size += ring->size_guess();
  return size;
}

template <class Producers, class Consumers>
void BasicCompletionQueue<Producers, Consumers>::count_pushed(const Message& message) noexcept {
  if (message.operation() != Operation::active_message || message.size() <= kEntryPayload) return;
  const std::uint64_t size = message.size();
  if (bytes_.fetch_add(size, std::memory_order_relaxed) + size <= capacity_bytes_) return;
  if (!stopped_.load(std::memory_order_relaxed) && this->stop_senders(true))
    stopped_.store(true, std::memory_order_release);
}

template <class Producers, class Consumers>
void BasicCompletionQueue<Producers, Consumers>::count_popped(const Message& message) noexcept {
  if (message.operation() == Operation::active_message && message.size() > kEntryPayload)
    bytes_.fetch_sub(message.size(), std::memory_order_relaxed);
}

template <class Producers, class Consumers>
Completion::AtRest BasicCompletionQueue<Producers, Consumers>::at_rest() const noexcept {
  AtRest result;
  for (const Ring* ring = first_; ring != nullptr; ring = ring->next.load(std::memory_order_acquire)) {
    result.messages += ring->size_guess();
    result.taken += ring->head_guess();
  }
  return result;
}

template <class Producers, class Consumers>
void BasicCompletionQueue<Producers, Consumers>::stop_if_full() noexcept {
  if (size_guess() < capacity_) return;
  if (this->stop_senders(true)) stopped_.store(true, std::memory_order_release);
}

template <class Producers, class Consumers>
void BasicCompletionQueue<Producers, Consumers>::resume_if_drained() noexcept {
  // A stop that is being set at this moment is seen by the next pop, which ready() asks for.
  if (size_guess() > capacity_ / 2) return;
  if (capacity_bytes_ != 0 && bytes_.load(std::memory_order_relaxed) > capacity_bytes_ / 2) return;
  stopped_.store(false, std::memory_order_relaxed);
  if (!this->stop_senders(false)) stopped_.store(true, std::memory_order_relaxed);
}

template class BasicCompletionQueue<detail::ManyThreads, detail::ManyThreads>;
template class BasicCompletionQueue<detail::ManyThreads, detail::OneThread>;
template class BasicCompletionQueue<detail::OneThread, detail::OneThread>;

}  // namespace weft
