// The scheduler that futures name: it outlives the workers, after whose end tasks run in the thread that
// schedules them.
#pragma once

#include <weft/parcel/task.hpp>

#include <mutex>

#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel {

/// Any thread. Objects are never destroyed, but used again for later runtimes: what a future of an earlier
/// one schedules then is a task of the later one.
class LastingScheduler final : public Scheduler {
 public:
  [[nodiscard]] static LastingScheduler& take(WorkerPool& pool);
  /// The workers end: tasks of other threads run there from now on.
  void detach() noexcept;
  /// detach(), and for the next one who takes.
  void give_back() noexcept;

  void schedule(Task& task) noexcept override;
  void schedule(Task& task, const SpawnOptions& options) noexcept override;
  bool run_here(Task& task) noexcept override;

 private:
  LastingScheduler() = default;
  /// The caller's stack, if it is a task of the pool, which lives during its calls.
  [[nodiscard]] TaskStack* own_stack() const noexcept;

  std::mutex mutex_;
  std::atomic<WorkerPool*> pool_{nullptr};
};

}  // namespace weft::parcel
