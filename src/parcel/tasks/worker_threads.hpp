// The threads of a pool, which run its workers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <pthread.h>
#include <sys/types.h>

#include "parcel/tasks/task_stack.hpp"
#include "parcel/tasks/worker.hpp"

namespace weft::parcel {

/// A thread that runs workers: one at a time, or none while its task blocks (blocking()) and afterwards.
struct WorkerThread {
  explicit WorkerThread(WorkerPool& who) noexcept : pool(who) {}
  WorkerPool& pool;
  pthread_t thread{};
  pid_t kernel_id = 0;        // since it has had a worker
  TaskStack* home = nullptr;  // its own stack
  // Guarded by the mutex of threads.
  Worker* given = nullptr;     // to run next
  TaskStack* first = nullptr;  // and its loop
  std::condition_variable changed;
};

/// Any thread.
class WorkerThreads {
 public:
  explicit WorkerThreads(WorkerPool& pool) noexcept : pool_(pool) {}

  /// Starts a thread for a worker. Throws weft::Error, which says why it cannot.
  void start(Worker& worker);
  /// A spare thread, or a new one, runs a worker that runs already, or was add()ed. False: none could be had.
  [[nodiscard]] bool hand_to_spare(Worker& worker, std::size_t most_threads) noexcept;

  /// From now on workers leave their threads when no task is left; wait_for_end() waits until all have.
  void begin_stop() noexcept;
  void wait_for_end() noexcept;
  void join() noexcept;
  [[nodiscard]] bool are_stopping() const noexcept { return are_stopping_.load(std::memory_order_relaxed); }
  /// Guards which thread runs a worker.
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
  /// One more worker is to have a thread; with the mutex.
  void add() noexcept { ++running_; }
  /// The worker has no thread any more; with the mutex.
  void forget(Worker& worker) noexcept;

 private:
  static void* thread_main(void* thread);
  void run(WorkerThread& thread) noexcept;
  [[nodiscard]] Worker* next_worker(WorkerThread& thread) noexcept;
  /// 0, or the error that pthread_create() has returned. Throws weft::Error without memory for a stack.
  [[nodiscard]] int start_thread(Worker& worker);

  WorkerPool& pool_;
  std::atomic<bool> are_stopping_{false};
  std::mutex mutex_;
  std::vector<std::unique_ptr<WorkerThread>> threads_;
  std::vector<WorkerThread*> spare_;
  std::size_t running_ = 0;  // workers that have a thread
  std::condition_variable all_ended_;
};

}  // namespace weft::parcel
