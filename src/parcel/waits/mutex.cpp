#include <weft/parcel/mutex.hpp>

#include <utility>

namespace weft::parcel {

namespace detail {

void WaiterQueue::push(QueuedWaiter& waiter) noexcept {
  waiter.next = nullptr;
  (last_ != nullptr ? last_->next : first_) = &waiter;
  last_ = &waiter;
}

QueuedWaiter* WaiterQueue::pop() noexcept {
  QueuedWaiter* const popped = first_;
  if (popped == nullptr) return nullptr;
  first_ = popped->next;
  if (first_ == nullptr) last_ = nullptr;
  return popped;
}

QueuedWaiter* WaiterQueue::pop_all() noexcept {
  last_ = nullptr;
  return std::exchange(first_, nullptr);
}

bool WaiterQueue::remove(QueuedWaiter& waiter) noexcept {
  QueuedWaiter* before = nullptr;
  for (QueuedWaiter* each = first_; each != nullptr; before = each, each = each->next) {
    if (each != &waiter) continue;
    (before != nullptr ? before->next : first_) = each->next;
    if (last_ == each) last_ = before;
    return true;
  }
  return false;
}

void WaiterQueue::notify_all(QueuedWaiter* waiters) noexcept {
  while (waiters != nullptr) {
    QueuedWaiter* const next = waiters->next;
    waiters->waiter.notify();
    waiters = next;
  }
}

}  // namespace detail

bool Mutex::lock_slowly(Waiter::Clock::time_point deadline, const std::source_location& where) {
  detail::QueuedWaiter own({"a mutex", this, where});
  {
    const std::lock_guard lock(queue_mutex_);
    // From here on unlock() comes to this queue. Pairs with its release.
    if (state_.exchange(kWaitedFor, std::memory_order_acquire) == kFree) {
      if (queue_.is_empty()) state_.store(kLocked, std::memory_order_relaxed);
      return true;
    }
    queue_.push(own);
  }
  if (own.waiter.wait_until(deadline)) return true;
  {
    const std::lock_guard lock(queue_mutex_);
    if (queue_.remove(own)) return false;
  }
  own.waiter.await_notify();  // it has been handed over
  return true;
}

void Mutex::unlock_slowly() noexcept {
  detail::QueuedWaiter* next = nullptr;
  {
    const std::lock_guard lock(queue_mutex_);
    next = queue_.pop();
    if (next == nullptr) state_.store(kFree, std::memory_order_release);
  }
  if (next != nullptr) next->waiter.notify();  // it has the mutex now, which may be gone after this
}

}  // namespace weft::parcel
