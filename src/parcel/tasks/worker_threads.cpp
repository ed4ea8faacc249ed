#include "parcel/tasks/worker_threads.hpp"

#include <weft/error.hpp>

#include <unistd.h>

#include <cstring>
#include <exception>
#include <string>

#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel {

void WorkerThreads::start(Worker& worker) {
  const auto fail = [&worker](const char* reason) {
    return Error("could not start worker thread " + std::to_string(worker.number) + ": " + reason);
  };
  {
    const std::lock_guard lock(mutex_);
    add();
  }
  std::string why;
  try {
    const int error = start_thread(worker);
    if (error == 0) return;
    why = std::strerror(error);
  } catch (const Error& error) {
    why = error.what();
  }
  const std::lock_guard lock(mutex_);
  --running_;
  throw fail(why.c_str());
}

int WorkerThreads::start_thread(Worker& worker) {
  const std::lock_guard lock(mutex_);
  threads_.reserve(threads_.size() + 1);
  auto thread = std::make_unique<WorkerThread>(pool_);
  thread->first = &pool_.stacks().take(worker);
  thread->given = &worker;
  const int error = pthread_create(&thread->thread, nullptr, &thread_main, thread.get());
  if (error != 0) {
    pool_.stacks().keep(worker, *thread->first);
    return error;
  }
  threads_.push_back(std::move(thread));
  return 0;
}

void WorkerThreads::begin_stop() noexcept {
  const std::lock_guard lock(mutex_);
  are_stopping_.store(true, std::memory_order_seq_cst);
}

void WorkerThreads::wait_for_end() noexcept {
  // Until then a task may block its thread, and another be needed.
  std::unique_lock lock(mutex_);
  all_ended_.wait(lock, [this] { return running_ == 0; });
  for (WorkerThread* const spare : spare_) spare->changed.notify_all();
}

void WorkerThreads::join() noexcept {
  for (const auto& thread : threads_) pthread_join(thread->thread, nullptr);
}

void* WorkerThreads::thread_main(void* argument) {
  auto& thread = *static_cast<WorkerThread*>(argument);
  thread.pool.threads().run(thread);
  return nullptr;
}

void WorkerThreads::run(WorkerThread& thread) noexcept {
  TaskStack home(pool_);
  thread.home = &home;
  while (Worker* const worker = next_worker(thread)) {
    home.worker = worker;
    // Returns when the worker ends, or a task that has blocked in this thread needs a worker again.
    home.switch_to(*thread.first, {});
    if (home.worker == nullptr) continue;
    const std::lock_guard lock(mutex_);
    forget(*home.worker);
  }
}

void WorkerThreads::forget(Worker& worker) noexcept {
  worker.thread = nullptr;
  if (worker.is_stand_in()) pool_.stand_ins().left(worker);
  if (--running_ == 0) all_ended_.notify_all();
}

Worker* WorkerThreads::next_worker(WorkerThread& thread) noexcept {
  std::unique_lock lock(mutex_);
  if (thread.given == nullptr) {
    spare_.push_back(&thread);
    thread.changed.wait(lock, [&] { return thread.given != nullptr || (are_stopping() && running_ == 0); });
  }
  Worker* const worker = thread.given;
  thread.given = nullptr;
  thread.kernel_id = ::gettid();
  if (worker != nullptr) worker->thread = &thread;
  return worker;
}

bool WorkerThreads::hand_to_spare(Worker& worker, std::size_t most_threads) noexcept {
  try {
    std::unique_lock lock(mutex_);
    if (!spare_.empty()) {
      WorkerThread& spare = *spare_.back();
      spare.first = &pool_.stacks().take(worker);
      spare_.pop_back();
      spare.given = &worker;
      spare.changed.notify_all();
      return true;
    }
    const bool may_start = threads_.size() < most_threads;
    lock.unlock();
    return may_start && start_thread(worker) == 0;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace weft::parcel
