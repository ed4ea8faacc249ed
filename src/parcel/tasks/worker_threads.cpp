// The threads and the stacks of a pool.
#include <weft/error.hpp>
#include <weft/parcel/blocking.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <system_error>

#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel {

namespace {

// Stacks without a task that a worker keeps for itself.
constexpr std::uint32_t kMostIdleStacks = 64;

}  // namespace

void detail::run_blocking(void (*function)(void*) noexcept, void* argument) noexcept {
  TaskStack* const task = TaskStack::current();
  if (task == nullptr || !task->pool().lend_worker(function, argument)) function(argument);
}

void WorkerPool::start(int place) {
  is_started_ = true;
  if (stepper_ != nullptr) {
    for (auto& worker : workers_) worker->paused = &take_stack(*worker);
    stepper_->add(place, *this);
    return;
  }
  const auto fail = [this](const std::string& what, const char* reason) {
    const std::string text = "could not start " + what + ": " + reason;
    stop();
    throw Error(text);
  };
  for (auto& worker : workers_) {
    const std::string name = "worker thread " + std::to_string(worker->number);
    try {
      ++running_;
      if (start_thread(*worker) != nullptr) continue;
    } catch (const Error& error) {
      --running_;
      fail(name, error.what());
    }
    --running_;
    fail(name, std::strerror(errno));
  }
  try {
    stand_ins_.start();
  } catch (const std::system_error& error) {
    fail("the thread that watches over the workers", error.code().message().c_str());
  }
}

WorkerThread* WorkerPool::start_thread(Worker& worker) {
  const std::lock_guard lock(threads_mutex_);
  threads_.reserve(threads_.size() + 1);
  auto thread = std::make_unique<WorkerThread>(*this);
  thread->first = &take_stack(worker);
  thread->given = &worker;
  const int error = pthread_create(&thread->thread, nullptr, &thread_main, thread.get());
  if (error != 0) {
    idle(worker, *thread->first);
    errno = error;
    return nullptr;
  }
  threads_.push_back(std::move(thread));
  return threads_.back().get();
}

void WorkerPool::stop() noexcept {
  if (!is_started_) return;
  {
    const std::lock_guard lock(threads_mutex_);
    is_stopping_.store(true, std::memory_order_seq_cst);
  }
  background_.wake();
  {
    // Until then a task may block its thread, and another be needed.
    std::unique_lock lock(threads_mutex_);
    all_ended_.wait(lock, [this] { return running_ == 0; });
    for (WorkerThread* const spare : spare_) spare->changed.notify_all();
  }
  stand_ins_.stop();
  for (const auto& thread : threads_) pthread_join(thread->thread, nullptr);
  if (stepper_ != nullptr) stepper_->remove(*this);
  end_stacks();
  is_started_ = false;
}

void* WorkerPool::thread_main(void* argument) {
  auto& thread = *static_cast<WorkerThread*>(argument);
  thread.pool.run_thread(thread);
  return nullptr;
}

void WorkerPool::run_thread(WorkerThread& thread) noexcept {
  TaskStack home(*this);
  thread.home = &home;
  while (Worker* const worker = next_worker(thread)) {
    home.worker = worker;
    // Returns when the worker ends, or a task that has blocked in this thread needs a worker again.
    home.switch_to(*thread.first, {});
    if (home.worker == nullptr) continue;
    const std::lock_guard lock(threads_mutex_);
    forget(*home.worker);
  }
}

void WorkerPool::forget(Worker& worker) noexcept {
  worker.thread = nullptr;
  if (worker.is_stand_in()) stand_ins_.left(worker);
  if (--running_ == 0) all_ended_.notify_all();
}

Worker* WorkerPool::next_worker(WorkerThread& thread) noexcept {
  std::unique_lock lock(threads_mutex_);
  if (thread.given == nullptr) {
    spare_.push_back(&thread);
    thread.changed.wait(lock, [&] {
      return thread.given != nullptr || (is_stopping_.load(std::memory_order_relaxed) && running_ == 0);
    });
  }
  Worker* const worker = thread.given;
  thread.given = nullptr;
  thread.kernel_id = ::gettid();
  if (worker != nullptr) worker->thread = &thread;
  return worker;
}

bool WorkerPool::hand_to_spare(Worker& worker, std::size_t most_threads) noexcept {
  try {
    std::unique_lock lock(threads_mutex_);
    if (!spare_.empty()) {
      WorkerThread& spare = *spare_.back();
      spare.first = &take_stack(worker);
      spare_.pop_back();
      spare.given = &worker;
      spare.changed.notify_all();
      return true;
    }
    const bool may_start = threads_.size() < most_threads;
    lock.unlock();
    return may_start && start_thread(worker) != nullptr;
  } catch (const std::exception&) {
    return false;
  }
}

bool WorkerPool::lend_worker(void (*function)(void*) noexcept, void* argument) noexcept {
  TaskStack* const own = TaskStack::current();
  if (own == nullptr || &own->pool() != this || stepper_ != nullptr) return false;
  Worker& worker = *own->worker;
  WorkerThread& thread = *worker.thread;
  if (!hand_to_spare(worker, workers_.size() + kMostSpareThreads + stand_ins_.count())) return false;
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

void WorkerPool::prepare_to_leave(TaskStack& own) {
  if (own.worker->idle_stacks == nullptr) [[unlikely]]
    idle(*own.worker, take_stack(*own.worker));
}

void WorkerPool::leave_worker(TaskStack& own, const WaitReason& reason, AfterSwitch after) noexcept {
  TaskStack& next = take_stack(*own.worker);
  own.waits_for(reason);
  own.switch_to(next, after);
  own.waits_no_more();
}

TaskStack& WorkerPool::take_stack(Worker& worker) {
  if (TaskStack* const idle = worker.idle_stacks; idle != nullptr) [[likely]] {
    worker.idle_stacks = idle->next_stack;
    --worker.idle_count;
    return *idle;
  }
  const std::lock_guard lock(stacks_mutex_);
  if (TaskStack* const idle = idle_stacks_; idle != nullptr) {
    idle_stacks_ = idle->next_stack;
    return *idle;
  }
  stacks_.reserve(stacks_.size() + 1);
  std::byte* const lowest = stack_memory_.make();
  constexpr std::size_t kOwn = (sizeof(TaskStack) + 63) / 64 * 64;
  const std::size_t size = stack_memory_.usable_size() - kOwn;
  stacks_.push_back(new (lowest + size) TaskStack(*this, lowest, size, &stack_main));
  return *stacks_.back();
}

void WorkerPool::idle(Worker& worker, TaskStack& stack) noexcept {
  if (worker.idle_count < kMostIdleStacks) [[likely]] {
    stack.next_stack = worker.idle_stacks;
    worker.idle_stacks = &stack;
    ++worker.idle_count;
    return;
  }
  const std::lock_guard lock(stacks_mutex_);
  stack.next_stack = idle_stacks_;
  idle_stacks_ = &stack;
}

void WorkerPool::keep_idle(void* stack) noexcept {
  auto& left = *static_cast<TaskStack*>(stack);
  left.pool().idle(*left.worker, left);
}

void WorkerPool::stack_main(TaskStack& stack) { stack.pool().loop(stack); }

void WorkerPool::end_stacks() noexcept {
  for (TaskStack* const stack : stacks_) stack->~TaskStack();
  stacks_.clear();
}

}  // namespace weft::parcel
