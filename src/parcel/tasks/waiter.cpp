#include <weft/parcel/detail/future_state.hpp>
#include <weft/parcel/waiter.hpp>

#include <sched.h>

#include "parcel/tasks/task_stack.hpp"
#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel {

Waiter::Waiter(const WaitReason& reason) : stack_(TaskStack::current()), reason_(reason) {
  if (stack_ != nullptr) stack_->pool().prepare_to_leave(*stack_);
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
