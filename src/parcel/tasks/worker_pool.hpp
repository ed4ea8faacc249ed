// Worker threads with work stealing, and what they do when there are no tasks.
#pragma once

#include <weft/parcel/task.hpp>
#include <weft/types.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <pthread.h>

#include "parcel/tasks/steal_deque.hpp"

namespace weft::parcel {

/// What workers do besides tasks.
class BackgroundWork {
 public:
  /// Moves communication; returns whether it did anything.
  virtual bool poll(unsigned worker) = 0;
  /// Sleeps until wake() or for as long as `longest`.
  virtual void park(unsigned worker, Timeout longest) = 0;
  virtual void wake() noexcept = 0;

 protected:
  ~BackgroundWork() = default;
};

struct TaskCounts {
  std::uint64_t made = 0;
  std::uint64_t finished = 0;
  std::uint64_t stolen = 0;
  std::uint64_t parks = 0;
};

class WorkerPool final : public Scheduler {
 public:
  static constexpr unsigned kMaxWorkers = 256;
  /// The number of calls of threads that are no workers.
  [[nodiscard]] unsigned outside() const noexcept { return static_cast<unsigned>(workers_.size()); }

  /// `owner`: of current_owner().
  WorkerPool(unsigned workers, BackgroundWork& background, void* owner);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void start();
  /// Ends the threads, once they have no task. Idempotent.
  void stop() noexcept;

  void schedule(Task& task) noexcept override;
  void help_until(bool (*is_done)(void*) noexcept, void* context) noexcept override;
  void wake() noexcept override;

  /// The calling thread's number in this pool, or outside().
  [[nodiscard]] unsigned worker_number() const noexcept;
  /// The owner of the pool whose worker the calling thread is, or nullptr.
  [[nodiscard]] static void* current_owner() noexcept;
  [[nodiscard]] unsigned workers() const noexcept { return static_cast<unsigned>(workers_.size()); }
  /// `made` is read last: made == finished means that there was a moment without tasks.
  [[nodiscard]] TaskCounts counts() const noexcept;
  /// Tasks that wait in the worker's own deque; approximate.
  [[nodiscard]] std::int64_t waiting(unsigned worker) const noexcept {
    return workers_[worker]->deque.size_guess();
  }

 private:
  friend class Scheduler;
  struct alignas(64) Worker {
    WorkerPool* pool = nullptr;
    unsigned number = 0;
    std::uintptr_t stack_end = 0;
    std::uint32_t since_poll = 0;      // tasks
    std::uint32_t tasks_per_poll = 1;  // while there are tasks; fewer where they are long
    std::chrono::steady_clock::time_point last_poll{};
    bool takes_oldest = false;  // next, so that tasks that make tasks starve no other
    std::uint32_t random = 0;
    StealDeque<Task> deque;
    // Written by the worker alone.
    std::atomic<std::uint64_t> made{0};
    std::atomic<std::uint64_t> finished{0};
    std::atomic<std::uint64_t> stolen{0};
    std::atomic<std::uint64_t> parks{0};
    pthread_t thread{};
  };

  static void* thread_main(void* worker);
  void work(Worker& worker) noexcept;
  [[nodiscard]] Task* find_task(Worker& worker) noexcept;
  [[nodiscard]] Task* take_injected() noexcept;
  bool run_one(Worker& worker) noexcept;
  void poll_between_tasks(Worker& worker) noexcept;
  void rest(Worker& worker, std::uint32_t& idle_rounds) noexcept;
  [[nodiscard]] bool has_task() const noexcept;

  static thread_local Worker* current_worker_;

  BackgroundWork& background_;
  void* const owner_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> is_stopping_{false};
  bool is_started_ = false;
  alignas(64) std::atomic<std::uint32_t> parked_{0};
  alignas(64) std::atomic<std::uint64_t> injected_count_{0};
  std::atomic<std::uint64_t> made_outside_{0};
  std::mutex injected_mutex_;
  Task* injected_first_ = nullptr;
  Task* injected_last_ = nullptr;
};

}  // namespace weft::parcel
