#include <weft/parcel/detail/future_state.hpp>
#include <weft/parcel/waiter.hpp>

#include <sched.h>

#include <mutex>

#include "parcel/tasks/task_stack.hpp"
#include "parcel/tasks/worker_pool.hpp"
#include "parcel/waits/foreign_wait.hpp"

namespace weft::parcel {

Waiter::Waiter(const WaitReason& reason) : stack_(TaskStack::current()), reason_(reason) {
  if (stack_ != nullptr) stack_->pool().prepare_to_leave(*stack_);
}

namespace {

struct ForeignWaits {
  std::mutex mutex;
  ForeignWait* first = nullptr;
};
ForeignWaits& foreign_waits() {
  static ForeignWaits& waits = *new ForeignWaits;  // threads may still wait when statics end
  return waits;
}

}  // namespace

ForeignWait::ForeignWait(const WaitReason& why) noexcept
    : reason(why), since(Timers::of(Waiter::Clock::now())) {
  ForeignWaits& all = foreign_waits();
  const std::lock_guard lock(all.mutex);
  next_ = all.first;
  if (next_ != nullptr) next_->before_ = &next_;
  before_ = &all.first;
  all.first = this;
}

ForeignWait::~ForeignWait() {
  const std::lock_guard lock(foreign_waits().mutex);
  *before_ = next_;
  if (next_ != nullptr) next_->before_ = before_;
}

void ForeignWait::for_each(void (*visit)(void*, const ForeignWait&), void* context) {
  ForeignWaits& all = foreign_waits();
  const std::lock_guard lock(all.mutex);
  for (const ForeignWait* wait = all.first; wait != nullptr; wait = wait->next_) visit(context, *wait);
}

void Waiter::notify() noexcept {
  TaskStack* const stack = stack_;
  if (stack == nullptr) {
    (void)state_.notify();
    signal_.release();
  } else if (state_.notify()) {
    stack->pool().make_ready(*stack);
  }
}

void Waiter::publish(void* waiter) noexcept {
  Waiter& self = *static_cast<Waiter*>(waiter);
  TaskStack& stack = *self.stack_;
  if (self.state_.publish()) stack.pool().make_ready(stack);
}

void Waiter::suspend() noexcept { stack_->pool().leave_worker(*stack_, reason_, {&publish, this}); }

void Waiter::wait() noexcept {
  if (stack_ == nullptr) {
    detail::run_turns_before_sleep();
    const ForeignWait listed(reason_);
    signal_.acquire();
    return;
  }
  stack_->pool().maybe_preempt(*stack_);
  if (!is_notified()) suspend();
}

void Waiter::await_notify() noexcept {
  if (stack_ == nullptr) {
    signal_.acquire();
    return;
  }
  while (!is_notified()) sched_yield();
}

bool Waiter::wait_until(Clock::time_point deadline) noexcept {
  if (deadline == Clock::time_point::max()) {
    wait();
    return true;
  }
  if (stack_ == nullptr) {
    detail::run_turns_before_sleep();
    const ForeignWait listed(reason_);
    return signal_.try_acquire_until(deadline);
  }
  if (is_notified()) return true;
  Timers& timers = stack_->pool().timers();
  const Timers::Entry entry = timers.add(*this, Timers::of(deadline));
  suspend();
  timers.remove(entry);
  return is_notified();
}

}  // namespace weft::parcel
