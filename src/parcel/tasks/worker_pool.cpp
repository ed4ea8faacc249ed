#include "parcel/tasks/worker_pool.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
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
    : background_(background), owner_(owner), stepper_(stepper), stack_memory_(stack), stand_ins_(*this) {
  for (unsigned number = 0; number < workers; ++number) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->pool = this;
    workers_.back()->number = number;
    workers_.back()->slot = number;
    workers_.back()->random = number * 2654435761U + 1;
  }
}

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
  made_outside_.fetch_add(1, std::memory_order_release);
  injected_.push(task);
  wake();
}

void WorkerPool::schedule(Task& task, const SpawnOptions& options) noexcept {
  if (is_plain(options)) {
    schedule(task);
    return;
  }
  if (TaskStack* const stack = TaskStack::current(); stack != nullptr && &stack->pool() == this)
    add_alone(stack->worker->made);
  else
    made_outside_.fetch_add(1, std::memory_order_release);
  if (options.worker >= 0)
    workers_[static_cast<unsigned>(options.worker) % workers_.size()]->given.push(task);
  else
    (options.priority == Priority::high ? urgent_ : low_).push(task);
  wake();
}

void WorkerPool::make_ready(TaskStack& stack) noexcept {
  if (TaskStack* const own = TaskStack::current(); own != nullptr && &own->pool() == this)
    own->worker->deque.push(&stack);
  else
    injected_.push(stack);
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
  if (worker.takes_oldest || !urgent_.is_empty() || worker.deque.last() != &task) return false;
  if (worker.deque.pop() != &task) return false;  // a thief was faster: nothing was popped
  task.execute(task);
  finished(*own.worker);
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
    return find_any_task(worker);
  if (worker.is_stand_in()) [[unlikely]]
    return stand_ins_.find_task(worker);
  if (worker.takes_oldest) [[unlikely]] {
    worker.takes_oldest = false;
    if (Task* const oldest = find_old_task(worker); oldest != nullptr) return oldest;
  }
  if (Task* const urgent = urgent_.take(); urgent != nullptr) return urgent;
  if (Task* const own = worker.deque.pop(); own != nullptr) return own;
  return find_shared_task(worker);
}

Task* WorkerPool::find_old_task(Worker& worker) noexcept {
  constexpr unsigned kSources = 6;
  for (unsigned step = 0; step < kSources; ++step) {
    Task* task = nullptr;
    switch (++worker.old_source % kSources) {
      case 0:
        task = worker.deque.steal();
        break;
      case 1:
        task = worker.given.take();
        break;
      case 2:
        task = injected_.take();
        break;
      case 3:
        task = held_back_.take();
        break;
      case 4:
        task = steal_for(worker);  // others may block for as long as these tasks do not run
        break;
      default:
        task = low_.take();
        break;
    }
    if (task != nullptr) return task;
  }
  return nullptr;
}

Task* WorkerPool::steal_for(Worker& worker) noexcept {
  const std::size_t count = workers_.size();
  worker.random = worker.random * 1664525 + 1013904223;
  const std::size_t first = worker.random >> 8;
  const auto steal_from = [&](Worker& victim) -> Task* {
    if (&victim == &worker) return nullptr;
    Task* stolen = victim.deque.steal();
    if (stolen == nullptr) stolen = victim.given.take();
    if (stolen != nullptr) add_alone(worker.stolen);
    return stolen;
  };
  for (std::size_t step = 0; step < count; ++step)
    if (Task* const stolen = steal_from(*workers_[(first + step) % count]); stolen != nullptr) return stolen;
  for (std::size_t number = stand_ins_.count(); number != 0; --number)
    if (Task* const stolen = steal_from(stand_ins_.at(number - 1)); stolen != nullptr) return stolen;
  return nullptr;
}

Task* WorkerPool::find_shared_task(Worker& worker) noexcept {
  if (Task* const given = worker.given.take(); given != nullptr) return given;
  if (Task* const injected = injected_.take(); injected != nullptr) return injected;
  if (Task* const stolen = steal_for(worker); stolen != nullptr) return stolen;
  if (Task* const held_back = held_back_.take(); held_back != nullptr) return held_back;
  return low_.take();
}

void WorkerPool::finished(Worker& worker) noexcept {
  add_alone(worker.finished);
  count_for_poll(worker);
}

void WorkerPool::count_for_poll(Worker& worker) noexcept {
  if (stepper_ != nullptr) [[unlikely]] {
    if (stepper_->choose(4) == 0) poll(worker);
    return;
  }
  if (++worker.since_poll >= worker.tasks_per_poll) poll_between_tasks(worker);
}

void WorkerPool::poll_between_tasks(Worker& worker) noexcept {
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

bool WorkerPool::has_task() const noexcept {
  if (!injected_.is_empty() || !urgent_.is_empty() || !low_.is_empty() || !held_back_.is_empty()) return true;
  bool has_any = false;
  for_each_worker(
      [&](const Worker& worker) { has_any |= worker.deque.size_guess() != 0 || !worker.given.is_empty(); });
  return has_any;
}

bool WorkerPool::has_task_for(const Worker& worker) const noexcept {
  return worker.is_stand_in() ? stand_ins_.has_task(worker) : has_task();
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
  if (!has_task_for(worker) && !is_stopping_.load(std::memory_order_relaxed) && !poll(worker)) {
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

void WorkerPool::end_rest(Worker& worker) noexcept {
  if (!std::exchange(worker.has_rested, false)) return;
  stand_ins_.wake();
}

bool WorkerPool::is_over() const noexcept {
  if (!is_stopping_.load(std::memory_order_relaxed)) return false;
  const TaskCounts now = counts();
  return now.made == now.finished;
}

void WorkerPool::loop(TaskStack& own) noexcept {
  std::uint32_t idle_rounds = 0;
  for (;;) {
    if (stepper_ != nullptr) [[unlikely]]
      pause(own);
    // Whose loop it is may change whenever a task has run: a stack that was left is another worker's next.
    if (Task* const task = find_task(*own.worker); task != nullptr) {
      if (idle_rounds != 0) {
        idle_rounds = 0;
        end_rest(*own.worker);
      }
      const bool is_stack = TaskStack::is_stack(*task);
      if (is_stack) add_alone(own.worker->resumed);
      task->execute(*task);
      if (!is_stack)
        finished(*own.worker);
      else
        count_for_poll(*own.worker);  // this loop was taken for another task that waits
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
      own.switch_to(*own.worker->thread->home, {&WorkerPool::keep_idle, &own});  // until it is lent again
    else
      rest(*own.worker, idle_rounds);
  }
}

TaskCounts WorkerPool::counts() const noexcept {
  TaskCounts counts;
  for_each_worker([&](const Worker& worker) {
    counts.finished += worker.finished.load(std::memory_order_acquire);
    counts.stolen += worker.stolen.load(std::memory_order_relaxed);
    counts.parks += worker.parks.load(std::memory_order_relaxed);
  });
  for_each_worker([&](const Worker& worker) { counts.made += worker.made.load(std::memory_order_acquire); });
  counts.made += made_outside_.load(std::memory_order_acquire);
  return counts;
}

}  // namespace weft::parcel
