#include <weft/parcel/detail/future_state.hpp>
#include <weft/parcel/future.hpp>

#include <semaphore>

namespace weft::parcel::detail {

namespace {

/// Waits on the stack of the thread that waits.
struct SleepingWait : Continuation {
  SleepingWait() noexcept : Continuation(&run, true) {}
  static void run(Task& task) noexcept { static_cast<SleepingWait&>(task).is_over.release(); }
  std::binary_semaphore is_over{0};
};

struct HelpingWait : Continuation {
  explicit HelpingWait(Scheduler& who) noexcept : Continuation(&run, true), scheduler(who) {}
  static void run(Task& task) noexcept {
    Scheduler& waked = static_cast<HelpingWait&>(task).scheduler;
    static_cast<HelpingWait&>(task).is_over.store(true, std::memory_order_release);
    waked.wake();  // `task` may be gone
  }
  static bool test(void* wait) noexcept {
    return static_cast<HelpingWait*>(wait)->is_over.load(std::memory_order_acquire);
  }
  Scheduler& scheduler;
  std::atomic<bool> is_over{false};
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
  retain();  // the last continuation may drop the state
  Task* waiting = waiting_.exchange(ready_mark(), std::memory_order_acq_rel);
  while (waiting != nullptr) {
    Task* const next = waiting->next;
    run(static_cast<Continuation&>(*waiting));
    waiting = next;
  }
  release();
}

void FutureStateBase::wait() {
  if (ready()) return;
  if (Scheduler* const scheduler = Scheduler::current(); scheduler != nullptr) {
    HelpingWait wait(*scheduler);
    when_ready(wait);
    scheduler->help_until(&HelpingWait::test, &wait);
  } else {
    run_turns_before_sleep();
    if (ready()) return;
    SleepingWait wait;
    when_ready(wait);
    wait.is_over.acquire();
  }
}

}  // namespace weft::parcel::detail
