#include <weft/parcel/detail/future_state.hpp>
#include <weft/parcel/waiter.hpp>

#include <atomic>

namespace weft::parcel::detail {

namespace {

struct Wait : Continuation {
  explicit Wait(const WaitReason& reason) : Continuation(&run, true), waiter(reason) {}
  static void run(Task& task) noexcept { static_cast<Wait&>(task).waiter.notify(); }
  Waiter waiter;
};

/// Stays until both the one who waits and the state are done with it.
struct TimedWait : Continuation {
  explicit TimedWait(const WaitReason& reason) : Continuation(&run, true), waiter(reason) {}
  static void run(Task& task) noexcept {
    auto& self = static_cast<TimedWait&>(task);
    self.waiter.notify();
    self.drop();
  }
  void drop() noexcept {
    if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  Waiter waiter;
  std::atomic<int> owners{2};
};

}  // namespace

void FutureStateBase::run(Continuation& continuation) noexcept {
  if (continuation.at_once)
    continuation.execute(continuation);
  else if (scheduler_ == nullptr)
    run_in_turn(continuation);
  else
    scheduler_->schedule(continuation);
}

void FutureStateBase::when_ready(Continuation& continuation) noexcept {
  Task* first = waiting_.load(std::memory_order_acquire);
  do {
    if (first == ready_mark()) {
      run(continuation);
      return;
    }
    continuation.next = first;
  } while (!waiting_.compare_exchange_weak(first, &continuation, std::memory_order_release,
                                           std::memory_order_acquire));
}

void FutureStateBase::make_ready() noexcept {
  Task* none = nullptr;
  if (waiting_.compare_exchange_strong(none, ready_mark(), std::memory_order_release,
                                       std::memory_order_relaxed))
    return;  // and the state may be gone
  retain();  // the last continuation may drop the state
  Task* waiting = waiting_.exchange(ready_mark(), std::memory_order_acq_rel);
  while (waiting != nullptr) {
    Task* const next = waiting->next;
    run(static_cast<Continuation&>(*waiting));
    waiting = next;
  }
  release();
}

bool FutureStateBase::is_ready_after_its_task() noexcept {
  if (ready()) return true;
  // Begun on the waiter's stack it needs no other; whoever waits for just this task has nothing else to do.
  return maker_ != nullptr && scheduler_->run_here(*maker_) && ready();
}

void FutureStateBase::wait(const std::source_location& where) {
  if (is_ready_after_its_task()) return;
  Wait wait({"a future", this, where});
  when_ready(wait);
  wait.waiter.wait();
}

bool FutureStateBase::wait_until(std::chrono::steady_clock::time_point deadline,
                                 const std::source_location& where) {
  if (ready()) return true;
  auto* const wait = new TimedWait({"a future", this, where});
  when_ready(*wait);
  const bool is_over = wait->waiter.wait_until(deadline);
  // Whoever waits again and again leaves nothing behind: its record is the first one, if nobody else waits.
  Task* first = wait;
  if (!is_over && waiting_.compare_exchange_strong(first, wait->next, std::memory_order_acq_rel,
                                                   std::memory_order_relaxed))
    wait->drop();
  wait->drop();
  return is_over;
}

}  // namespace weft::parcel::detail
