#include "parcel/tasks/worker_pool.hpp"

#include <algorithm>
#include <weft/error.hpp>

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace weft::parcel {

namespace {

// Tasks wait inside each other's stacks (help_until): address space only, used when touched.
constexpr std::size_t kStackSize = std::size_t{64} << 20;
constexpr std::size_t kStackReserve = std::size_t{1} << 20;
// A busy worker looks at the network after so many tasks.
constexpr std::uint32_t kMostTasksPerPoll = 64;
// A busy worker looks at the network about so often: the clock is read once for each poll only.
constexpr std::chrono::microseconds kBetweenPolls(20);
constexpr std::uint32_t kRoundsBeforePark = 200;
constexpr auto kLongestPark = Timeout::of_nanoseconds(10'000'000);

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

void add_alone(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace

thread_local WorkerPool::Worker* WorkerPool::current_worker_ = nullptr;

Scheduler* Scheduler::current() noexcept {
  return WorkerPool::current_worker_ != nullptr ? WorkerPool::current_worker_->pool : nullptr;
}

WorkerPool::WorkerPool(unsigned workers, BackgroundWork& background, void* owner)
    : background_(background), owner_(owner) {
  for (unsigned number = 0; number < workers; ++number) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->pool = this;
    workers_.back()->number = number;
    workers_.back()->random = number * 2654435761U + 1;
  }
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::start() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackSize);
  is_started_ = true;
  for (std::size_t number = 0; number < workers_.size(); ++number) {
    const int error =
        pthread_create(&workers_[number]->thread, &attributes, &thread_main, workers_[number].get());
    if (error != 0) {
      is_stopping_ = true;
      while (number-- > 0) pthread_join(workers_[number]->thread, nullptr);
      is_started_ = false;
      pthread_attr_destroy(&attributes);
      throw Error("could not start worker thread: " + std::string(std::strerror(error)));
    }
  }
  pthread_attr_destroy(&attributes);
}

void WorkerPool::stop() noexcept {
  if (!is_started_) return;
  is_stopping_.store(true, std::memory_order_seq_cst);
  background_.wake();
  for (auto& worker : workers_) pthread_join(worker->thread, nullptr);
  is_started_ = false;
}

void* WorkerPool::thread_main(void* argument) {
  auto& worker = *static_cast<Worker*>(argument);
  std::byte here{};
  worker.stack_end = reinterpret_cast<std::uintptr_t>(&here) - kStackSize + kStackReserve;
  current_worker_ = &worker;
  worker.pool->work(worker);
  current_worker_ = nullptr;
  return nullptr;
}

unsigned WorkerPool::worker_number() const noexcept {
  return current_worker_ != nullptr && current_worker_->pool == this ? current_worker_->number : outside();
}

void* WorkerPool::current_owner() noexcept {
  return current_worker_ != nullptr ? current_worker_->pool->owner_ : nullptr;
}

void WorkerPool::schedule(Task& task) noexcept {
  task.next = nullptr;
  if (Worker* const worker = current_worker_; worker != nullptr && worker->pool == this) {
    add_alone(worker->made);
    worker->deque.push(&task);
  } else {
    made_outside_.fetch_add(1, std::memory_order_release);
    const std::lock_guard lock(injected_mutex_);
    (injected_last_ != nullptr ? injected_last_->next : injected_first_) = &task;
    injected_last_ = &task;
    injected_count_.fetch_add(1, std::memory_order_release);
  }
  wake();
}

void WorkerPool::wake() noexcept {
  // Pairs with the process-wide barrier in rest(): either that worker sees the task, or this load sees it
  // parked.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_relaxed) != 0) [[unlikely]]
    background_.wake();
}

Task* WorkerPool::take_injected() noexcept {
  if (injected_count_.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard lock(injected_mutex_);
  Task* const task = injected_first_;
  if (task == nullptr) return nullptr;
  injected_first_ = task->next;
  if (injected_first_ == nullptr) injected_last_ = nullptr;
  injected_count_.fetch_sub(1, std::memory_order_relaxed);
  return task;
}

Task* WorkerPool::find_task(Worker& worker) noexcept {
  if (worker.takes_oldest) [[unlikely]] {
    worker.takes_oldest = false;
    if (Task* const oldest = worker.deque.steal(); oldest != nullptr) return oldest;
    if (Task* const given = take_injected(); given != nullptr) return given;
  }
  if (Task* const own = worker.deque.pop(); own != nullptr) return own;
  if (Task* const given = take_injected(); given != nullptr) return given;
  const std::size_t count = workers_.size();
  if (count == 1) return nullptr;
  worker.random = worker.random * 1664525 + 1013904223;
  const std::size_t first = worker.random >> 8;
  for (std::size_t step = 0; step < count; ++step) {
    Worker& victim = *workers_[(first + step) % count];
    if (&victim == &worker) continue;
    if (Task* const stolen = victim.deque.steal(); stolen != nullptr) {
      add_alone(worker.stolen);
      return stolen;
    }
  }
  return nullptr;
}

bool WorkerPool::run_one(Worker& worker) noexcept {
  Task* const task = find_task(worker);
  if (task == nullptr) return false;
  task->execute(*task);
  add_alone(worker.finished);
  if (++worker.since_poll >= worker.tasks_per_poll) poll_between_tasks(worker);
  return true;
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
  background_.poll(worker.number);
}

bool WorkerPool::has_task() const noexcept {
  if (injected_count_.load(std::memory_order_relaxed) != 0) return true;
  for (const auto& worker : workers_)
    if (worker->deque.size_guess() != 0) return true;
  return false;
}

void WorkerPool::rest(Worker& worker, std::uint32_t& idle_rounds) noexcept {
  if (++idle_rounds < kRoundsBeforePark) {
    if (idle_rounds % 32 == 31) sched_yield();
    return;
  }
  parked_.fetch_add(1, std::memory_order_seq_cst);
  process_barrier();
  if (!has_task() && !is_stopping_.load(std::memory_order_relaxed)) {
    add_alone(worker.parks);
    background_.park(worker.number, kLongestPark);
  }
  parked_.fetch_sub(1, std::memory_order_relaxed);
  idle_rounds = kRoundsBeforePark / 2;
}

void WorkerPool::work(Worker& worker) noexcept {
  std::uint32_t idle_rounds = 0;
  for (;;) {
    if (run_one(worker) || background_.poll(worker.number)) {
      idle_rounds = 0;
      continue;
    }
    if (is_stopping_.load(std::memory_order_relaxed)) return;
    rest(worker, idle_rounds);
  }
}

void WorkerPool::help_until(bool (*is_done)(void*) noexcept, void* context) noexcept {
  Worker& worker = *current_worker_;
  std::byte here{};
  // Near the end of the stack no further task is begun: those that are under way can still end.
  const bool may_run_tasks = reinterpret_cast<std::uintptr_t>(&here) > worker.stack_end;
  std::uint32_t idle_rounds = 0;
  while (!is_done(context)) {
    if ((may_run_tasks && run_one(worker)) || background_.poll(worker.number)) {
      idle_rounds = 0;
      continue;
    }
    if (may_run_tasks)
      rest(worker, idle_rounds);
    else
      sched_yield();
  }
}

TaskCounts WorkerPool::counts() const noexcept {
  TaskCounts counts;
  for (const auto& worker : workers_) {
    counts.finished += worker->finished.load(std::memory_order_acquire);
    counts.stolen += worker->stolen.load(std::memory_order_relaxed);
    counts.parks += worker->parks.load(std::memory_order_relaxed);
  }
  for (const auto& worker : workers_) counts.made += worker->made.load(std::memory_order_acquire);
  counts.made += made_outside_.load(std::memory_order_acquire);
  return counts;
}

}  // namespace weft::parcel
