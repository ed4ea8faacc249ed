#include "parcel/tasks/timers.hpp"

#include "parcel/tasks/task_stack.hpp"
#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel {

void Timers::look() noexcept {
  std::int64_t first = kNever;
  for (const auto& [deadline, waiter] : entries_) {
    if (waiter == nullptr) continue;
    first = deadline;
    break;
  }
  next_.store(first, std::memory_order_relaxed);
}

Timers::Entry Timers::add(Waiter& waiter, std::int64_t deadline) {
  const std::lock_guard lock(mutex_);
  const Entry entry = entries_.emplace(deadline, &waiter);
  look();
  return entry;
}

void Timers::remove(Entry entry) {
  const std::lock_guard lock(mutex_);
  entries_.erase(entry);
  look();
}

bool Timers::fire(std::int64_t now) {
  const std::lock_guard lock(mutex_);
  bool has_fired = false;
  for (auto& [deadline, waiter] : entries_) {
    if (deadline > now) break;
    if (waiter == nullptr) continue;
    using Expiry = detail::WaitState<>::Expiry;
    TaskStack& stack = *waiter->stack_;
    switch (waiter->state_.expire()) {
      case Expiry::ended:
        waiter = nullptr;
        stack.pool().make_ready(stack);
        has_fired = true;
        break;
      case Expiry::late:
        waiter = nullptr;  // comes and removes it
        break;
      case Expiry::early:
        break;
    }
  }
  look();
  return has_fired;
}

}  // namespace weft::parcel
