#include <weft/parcel/condition_variable.hpp>

#include <exception>

namespace weft::parcel {

bool ConditionVariable::wait_slowly(std::unique_lock<Mutex>& lock, Waiter::Clock::time_point deadline,
                                    const std::source_location& where) {
  bool is_notified = true;
  {
    detail::QueuedWaiter own({"a condition variable", this, where});
    {
      const std::lock_guard guard(queue_mutex_);
      queue_.push(own);
    }
    lock.unlock();
    if (!own.waiter.wait_until(deadline)) {
      bool is_removed = false;
      {
        const std::lock_guard guard(queue_mutex_);
        is_removed = queue_.remove(own);
      }
      is_notified = !is_removed;
      if (!is_removed) own.waiter.await_notify();
    }
  }
  lock.mutex()->lock(where);
  std::unique_lock<Mutex> again(*lock.mutex(), std::adopt_lock);
  lock = std::move(again);
  return is_notified;
}

void ConditionVariable::notify_one() noexcept {
  detail::QueuedWaiter* first = nullptr;
  {
    const std::lock_guard guard(queue_mutex_);
    first = queue_.pop();
  }
  if (first != nullptr) first->waiter.notify();
}

void ConditionVariable::notify_all() noexcept {
  detail::QueuedWaiter* all = nullptr;
  {
    const std::lock_guard guard(queue_mutex_);
    all = queue_.pop_all();
  }
  detail::WaiterQueue::notify_all(all);
}

}  // namespace weft::parcel
