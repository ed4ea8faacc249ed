#include "parcel/tasks/worker_pool.hpp"

#include <weft/error.hpp>
#include <weft/parcel/blocking.hpp>

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

namespace weft::parcel {

namespace {

// A busy worker looks at the network after so many tasks.
constexpr std::uint32_t kMostTasksPerPoll = 64;
// A busy worker looks at the network about so often: the clock is read once for each poll only.
constexpr std::chrono::microseconds kBetweenPolls(20);
constexpr std::uint32_t kRoundsBeforePark = 200;
constexpr std::int64_t kLongestPark = 10'000'000;  // ns

bool register_barrier() noexcept {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}
const bool has_process_barrier = register_barrier();

/// Orders this thread's stores before its loads for all threads of the process, which need no fence.
void process_barrier() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (has_process_barrier) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace

Scheduler* Scheduler::current() noexcept {
  TaskStack* const stack = TaskStack::current();
  return stack != nullptr ? stack->pool().lasting_ : nullptr;
}

WorkerPool* WorkerPool::current() noexcept {
  TaskStack* const stack = TaskStack::current();
  return stack != nullptr ? &stack->pool() : nullptr;
}

WorkerPool::WorkerPool(unsigned workers, std::size_t stack, BackgroundWork& background, void* owner,
                       Stepper* stepper)
    : background_(background),
      owner_(owner),
      stepper_(stepper),
      stand_ins_(*this),
      sources_(*this, workers, stand_ins_),
      threads_(*this),
      stacks_(*this, stack, [](TaskStack& own) { own.pool().loop(own); }) {}

WorkerPool::~WorkerPool() { stop(); }

unsigned WorkerPool::worker_number() const noexcept {
  TaskStack* const stack = TaskStack::current();
  return stack != nullptr && &stack->pool() == this ? stack->worker->number : outside();
}

unsigned WorkerPool::slot() const noexcept {
  TaskStack* const stack = TaskStack::current();
  return stack != nullptr && &stack->pool() == this ? stack->worker->slot : outside();
}

void* WorkerPool::current_owner() noexcept {
  TaskStack* const stack = TaskStack::current();
  return stack != nullptr ? stack->pool().owner_ : nullptr;
}

void WorkerPool::schedule(TaskStack& own, Task& task) noexcept {
  Worker& worker = *own.worker;
  add_alone(worker.made);
  worker.deque.push(&task);
  wake();
}

void WorkerPool::schedule(Task& task) noexcept {
  if (TaskStack* const own = TaskStack::current(); own != nullptr && &own->pool() == this) {
    schedule(*own, task);
    return;
  }
  sources_.push_from_outside(task);
  wake();
}

void WorkerPool::schedule(Task& task, const SpawnOptions& options) noexcept {
  if (is_plain(options)) {
    schedule(task);
    return;
  }
  TaskStack* const own = TaskStack::current();
  sources_.push(task, options, own != nullptr && &own->pool() == this ? own->worker : nullptr);
  wake();
}

void WorkerPool::make_ready(TaskStack& stack) noexcept {
  if (TaskStack* const own = TaskStack::current(); own != nullptr && &own->pool() == this)
    own->worker->deque.push(&stack);
  else
    sources_.injected.push(stack);
  wake();
}

bool WorkerPool::run_here(Task& task) noexcept {
  TaskStack* const own = TaskStack::current();
  return own != nullptr && &own->pool() == this && run_here(*own, task);
}

bool WorkerPool::run_here(TaskStack& own, Task& task) noexcept {
  if (own.room() < own.size() / 2) return false;
  Worker& worker = *own.worker;
  if (stepper_ != nullptr && stepper_->choose(2) == 0) return false;
  // What the worker's loop would take before this task has its turn: the caller waits as any other.
  if (worker.takes_oldest || !sources_.urgent.is_empty() || worker.deque.last() != &task) return false;
  if (worker.deque.pop() != &task) return false;  // a thief was faster: nothing was popped
  task.execute(task);
  add_alone(own.worker->finished);
  count_for_poll(*own.worker);
  return true;
}

void WorkerPool::wake() noexcept {
  // Pairs with the process-wide barrier in rest(): either that worker sees the task, or this load sees it
  // parked.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_relaxed) != 0) [[unlikely]]
    background_.wake();
}

Task* WorkerPool::find_task(Worker& worker) noexcept {
  if (stepper_ != nullptr) [[unlikely]]
    return sources_.find_any(worker, *stepper_);
  if (worker.is_stand_in()) [[unlikely]]
    return stand_ins_.find_task(worker);
  return sources_.find(worker);
}

void WorkerPool::count_for_poll(Worker& worker) noexcept {
  if (stepper_ != nullptr) [[unlikely]] {
    if (stepper_->choose(4) == 0) poll(worker);
    return;
  }
  if (++worker.since_poll < worker.tasks_per_poll) return;
  const auto now = std::chrono::steady_clock::now();
  const auto elapsed = now - worker.last_poll;
  if (elapsed > 2 * kBetweenPolls)
    worker.tasks_per_poll = std::max(1U, worker.tasks_per_poll / 4);
  else if (elapsed < kBetweenPolls)
    worker.tasks_per_poll = std::min(kMostTasksPerPoll, 2 * worker.tasks_per_poll);
  worker.last_poll = now;
  worker.since_poll = 0;
  worker.takes_oldest = true;
  poll(worker);
}

bool WorkerPool::poll(Worker& worker) noexcept {
  bool has_done = false;
  if (timers_.next() != Timers::kNever) [[unlikely]]
    has_done = timers_.fire(Timers::of(Waiter::Clock::now()));
  return background_.poll(worker.slot) || has_done;
}

bool WorkerPool::has_task_for(const Worker& worker) const noexcept {
  return worker.is_stand_in() ? stand_ins_.has_task(worker) : sources_.has_task();
}

void WorkerPool::rest(Worker& worker, std::uint32_t& idle_rounds) noexcept {
  if (++idle_rounds < kRoundsBeforePark) {
    if (idle_rounds % 32 == 31) sched_yield();
    return;
  }
  parked_.fetch_add(1, std::memory_order_seq_cst);
  process_barrier();
  // Whoever has something from now on, or has it where nobody sees it below, wakes.
  const std::uint64_t seen = background_.wakes();
  if (!has_task_for(worker) && !threads_.are_stopping() && !poll(worker)) {
    std::int64_t longest = kLongestPark;
    if (const std::int64_t next = timers_.next(); next != Timers::kNever) [[unlikely]]
      longest = std::clamp(next - Timers::of(Waiter::Clock::now()), std::int64_t{0}, kLongestPark);
    add_alone(worker.parks);
    worker.has_rested = true;
    worker.is_parked.store(true, std::memory_order_relaxed);
    if (longest != 0) background_.park(worker.slot, Timeout::of_nanoseconds(longest), seen);
    // Before the load in StandIns::wake(): either that one sees the watch at rest, or the watch this worker.
    worker.is_parked.store(false, std::memory_order_seq_cst);
  }
  parked_.fetch_sub(1, std::memory_order_relaxed);
  idle_rounds = kRoundsBeforePark / 2;
}

void WorkerPool::note_work() noexcept {
  if (TaskStack* const own = TaskStack::current(); own != nullptr && &own->pool() == this) {
    std::atomic<bool>& is_parked = own->worker->is_parked;
    if (is_parked.load(std::memory_order_relaxed)) is_parked.store(false, std::memory_order_seq_cst);
  }
  stand_ins_.wake();
}

bool WorkerPool::is_over() const noexcept {
  if (!threads_.are_stopping()) return false;
  const TaskCounts now = sources_.counts();
  return now.made == now.finished;
}

void WorkerPool::loop(TaskStack& own) noexcept {
  std::uint32_t idle_rounds = 0;
  for (;;) {
    if (stepper_ != nullptr) [[unlikely]]
      Stepper::pause(own);
    // Whose loop it is may change whenever a task has run: a stack that was left is another worker's next.
    if (Task* const task = find_task(*own.worker); task != nullptr) {
      if (idle_rounds != 0) {
        idle_rounds = 0;
        if (std::exchange(own.worker->has_rested, false)) stand_ins_.wake();
      }
      const bool is_stack = TaskStack::is_stack(*task);
      if (is_stack) add_alone(own.worker->resumed);
      task->execute(*task);
      // A stack: this loop was taken for another task that waits.
      if (!is_stack) add_alone(own.worker->finished);
      count_for_poll(*own.worker);
      continue;
    }
    if (poll(*own.worker)) {
      idle_rounds = 1;
      continue;
    }
    if (stepper_ != nullptr) continue;
    if (is_over())
      own.switch_to(*own.worker->thread->home, {});  // for good
    else if (own.worker->is_stand_in() && stand_ins_.may_leave(*own.worker))
      own.switch_to(*own.worker->thread->home, {&TaskStacks::keep_left, &own});  // until it is lent again
    else
      rest(*own.worker, idle_rounds);
  }
}

void WorkerPool::start(int position) {
  is_started_ = true;
  if (stepper_ != nullptr) {
    for (unsigned number = 0; number < sources_.workers(); ++number) {
      Worker& worker = sources_.worker(number);
      worker.paused = &stacks_.take(worker);
    }
    stepper_->add(position, *this);
    return;
  }
  try {
    for (unsigned number = 0; number < sources_.workers(); ++number) threads_.start(sources_.worker(number));
    stand_ins_.start();
  } catch (const std::system_error& error) {
    stop();
    throw Error("could not start the thread that watches over the workers: " + error.code().message());
  } catch (const Error&) {
    stop();
    throw;
  }
}

void WorkerPool::stop() noexcept {
  if (!is_started_) return;
  threads_.begin_stop();
  background_.wake();
  threads_.wait_for_end();
  stand_ins_.stop();
  threads_.join();
  if (stepper_ != nullptr) stepper_->remove(*this);
  stacks_.end();
  is_started_ = false;
}

bool WorkerPool::lend_worker(void (*function)(void*) noexcept, void* argument) noexcept {
  TaskStack* const own = TaskStack::current();
  if (own == nullptr || &own->pool() != this || stepper_ != nullptr) return false;
  Worker& worker = *own->worker;
  WorkerThread& thread = *worker.thread;
  if (!threads_.hand_to_spare(worker, sources_.workers() + kMostSpareThreads + stand_ins_.count()))
    return false;
  // From here on this thread is no worker, and the stack belongs to it alone.
  own->worker = nullptr;
  TaskStack::set_current(nullptr);
  function(argument);
  own->switch_to(*thread.home, {[](void* stack) noexcept {
                                  auto& task = *static_cast<TaskStack*>(stack);
                                  task.pool().make_ready(task);
                                },
                                own});
  return true;
}

void detail::run_blocking(void (*function)(void*) noexcept, void* argument) noexcept {
  TaskStack* const task = TaskStack::current();
  if (task == nullptr || !task->pool().lend_worker(function, argument)) function(argument);
}

void WorkerPool::prepare_to_leave(TaskStack& own) {
  if (own.worker->idle_stacks == nullptr) [[unlikely]]
    stacks_.keep(*own.worker, stacks_.take(*own.worker));
}

void WorkerPool::leave_worker(TaskStack& own, const WaitReason& reason, AfterSwitch after) noexcept {
  TaskStack& next = stacks_.take(*own.worker);
  own.waits_for(reason);
  own.switch_to(next, after);
  own.waits_no_more();
}

}  // namespace weft::parcel
