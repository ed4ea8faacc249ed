#include "status_queue.hpp"

namespace lci {

QueueCompletion::QueueCompletion(const comp_attr_t& attributes)
    : OwnCompletion(attributes),
      capacity_(static_cast<std::uint64_t>(std::clamp(attributes.cq_default_length, 1, 1 << 24))),
      check_mask_(capacity_ >= kFirstLength ? 63 : 0),
      first_(new Ring(kFirstLength)),
      head_ring_(first_),
      tail_ring_(first_) {
  attach(*this);
}

QueueCompletion::~QueueCompletion() {
  retire();
  // The thread that has pushed the status that was popped last may not have left yet.
  producers_.await_leaving();
  consumers_.await_leaving();
  for (StatusEntry::Content content; pop_any(content);)
    if (content.kind == StatusEntry::kStatusWithBuffer) payloads().take_back(status_of(content).buffer);
  for (Ring* ring = first_; ring != nullptr;)
    delete std::exchange(ring, ring->next.load(std::memory_order_relaxed));
}

Delivery QueueCompletion::delivery_at_rest() const noexcept {
  const Delivery usual = delivery();
  return attr.zero_copy_am && size_guess() >= packets_at_rest() ? usual.into_memory() : usual;
}

template <class Item>
inline void QueueCompletion::push_one(const Item& item, bool is_alone) noexcept {
  const auto fill = [&item](StatusEntry& entry) { entry.store(item); };
  if (!is_alone || !tail_ring_.load(std::memory_order_acquire)->push_alone(check_mask_, fill)) [[unlikely]]
    push_slowly(item, is_alone);
}

template <class Item>
inline void QueueCompletion::push(const Item& item) noexcept {
  const auto visit = producers_.enter();
  push_one(item, visit.alone);
  producers_.leave(visit);
  notify_waiters_of(this);
}

void QueueCompletion::signal(status_t status) { push(StatusEntry::Item{status, false}); }

void QueueCompletion::signal(weft::Message& message) noexcept {
  if (message.operation() == weft::Operation::active_message) {
    if (StatusEntry::fits(message)) return push(message);
    return push(StatusEntry::Item{delivery_at_rest().status_of(message), true});
  }
  push(StatusEntry::Item{delivery().status_of(message), false});
}

/// Enters the queue, and looks for waiters, once.
void QueueCompletion::signal_batch(weft::Arrivals& arrivals) noexcept {
  const auto visit = producers_.enter();
  arrivals.for_each([this, is_alone = visit.alone](weft::Message& message) {
    if (StatusEntry::fits(message)) [[likely]]
      push_one(message, is_alone);
    else
      push_large(message, is_alone);
  });
  producers_.leave(visit);
  notify_waiters_of(this);
}

void QueueCompletion::push_large(weft::Message& message, bool is_alone) noexcept {
  push_one(StatusEntry::Item{delivery_at_rest().status_of(message), true}, is_alone);
}

template <class Item>
void QueueCompletion::push_slowly(const Item& item, bool is_alone) noexcept {
  for (;;) {
    Ring* ring = tail_ring_.load(std::memory_order_acquire);
    // Before the push: whoever pops the status may destroy the queue.
    if ((ring->tail_guess() & check_mask_) == 0) stop_if_full();
    const Ring::Push result = ring->push(item, is_alone);
    if (result == Ring::Push::pushed) return;
    if (result == Ring::Push::full) grow(*ring);
    if (Ring* const next = ring->next.load(std::memory_order_acquire); next != nullptr) {
      ring->close();
      tail_ring_.compare_exchange_strong(ring, next, std::memory_order_acq_rel);
    }
  }
}

/// Without memory for it the program ends: what was accepted cannot be dropped.
void QueueCompletion::grow(Ring& full) {
  if (full.next.load(std::memory_order_acquire) != nullptr) return;
  auto larger = std::make_unique<Ring>(full.capacity() * 2);
  Ring* none = nullptr;
  if (full.next.compare_exchange_strong(none, larger.get(), std::memory_order_acq_rel))
    static_cast<void>(larger.release());
}

bool QueueCompletion::pop_any(StatusEntry::Content& content) noexcept {
  bool is_popped = false;
  for (;;) {
    Ring* ring = head_ring_.load(std::memory_order_acquire);
    if (!ring->empty()) {
      const auto visit = consumers_.enter();
      is_popped = ring->pop(content, visit.alone);
      consumers_.leave(visit);
    }
    Ring* const next = ring->next.load(std::memory_order_acquire);
    if (is_popped || next == nullptr || !ring->drained()) break;
    head_ring_.compare_exchange_strong(ring, next, std::memory_order_acq_rel);
  }
  if (is_stopped_.load(std::memory_order_relaxed)) resume_if_drained();
  return is_popped;
}

status_t QueueCompletion::pop_other_alone(Ring& ring) noexcept {
  StatusEntry::Content content;
  end_pop_alone(ring, ring.front(), content);
  return status_of(content);
}

status_t QueueCompletion::pop_slowly() noexcept {
  StatusEntry::Content content;
  return pop_any(content) ? status_of(content) : status_t(errorcode_t::retry);
}

bool QueueCompletion::ready() const noexcept {
  if (is_stopped_.load(std::memory_order_relaxed)) return true;
  for (const Ring* ring = head_ring_.load(std::memory_order_acquire); ring != nullptr;
       ring = ring->next.load(std::memory_order_acquire))
    if (!ring->empty()) return true;
  return false;
}

weft::Completion::AtRest QueueCompletion::at_rest() const noexcept {
  AtRest result;
  for (const Ring* ring = first_; ring != nullptr; ring = ring->next.load(std::memory_order_acquire)) {
    result.messages += ring->size_guess();
    result.taken += ring->head_guess();
  }
  return result;
}

void QueueCompletion::stop_if_full() noexcept {
  if (size_guess() >= capacity_ && stop_senders(true)) is_stopped_.store(true, std::memory_order_release);
}

void QueueCompletion::resume_if_drained() noexcept {
  if (size_guess() > capacity_ / 2) return;
  is_stopped_.store(false, std::memory_order_relaxed);
  if (!stop_senders(false)) is_stopped_.store(true, std::memory_order_relaxed);
}

}  // namespace lci
