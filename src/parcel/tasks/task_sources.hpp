// Where workers find their tasks.
#pragma once

#include <weft/parcel/task.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "parcel/tasks/stand_ins.hpp"
#include "parcel/tasks/worker.hpp"

namespace weft::parcel {

class Stepper;

/// Whether a task with these hints is one as any other.
[[nodiscard]] inline bool is_plain(const SpawnOptions& options) noexcept {
  return options.worker < 0 && options.priority == Priority::normal;
}

struct TaskCounts {
  std::uint64_t made = 0;
  std::uint64_t finished = 0;
  std::uint64_t stolen = 0;
  std::uint64_t parks = 0;
};

/// The workers of a pool with their own tasks, and the queues that they share. Any thread, unless it says
/// worker: then the thread that runs it.
class TaskSources {
 public:
  TaskSources(WorkerPool& pool, unsigned workers, const StandIns& stand_ins);

  [[nodiscard]] unsigned workers() const noexcept { return static_cast<unsigned>(workers_.size()); }
  [[nodiscard]] Worker& worker(unsigned number) const noexcept { return *workers_[number]; }
  /// Calls visit(worker) for all workers, and for all that have ever been stand-ins.
  template <class Visit>
  void for_each_worker(const Visit& visit) const {
    for (const auto& worker : workers_) visit(*worker);
    const std::size_t count = stand_ins_.count();
    for (std::size_t number = 0; number < count; ++number) visit(stand_ins_.at(number));
  }

  void push_from_outside(Task& task) noexcept {
    made_outside_.fetch_add(1, std::memory_order_release);
    injected.push(task);
  }
  /// With hints; `own`: the worker that has made it, or nullptr.
  void push(Task& task, const SpawnOptions& options, Worker* own) noexcept;

  /// The next one for a worker that is no stand-in.
  [[nodiscard]] Task* find(Worker& worker) noexcept {
    if (worker.takes_oldest) [[unlikely]] {
      worker.takes_oldest = false;
      if (Task* const oldest = find_old(worker); oldest != nullptr) return oldest;
    }
    if (Task* const task = urgent.take(); task != nullptr) return task;
    if (Task* const own = worker.deque.pop(); own != nullptr) return own;
    return find_shared(worker);
  }
  /// Any, as the stepper chooses.
  [[nodiscard]] Task* find_any(Worker& worker, Stepper& stepper) noexcept;
  /// One that is not the worker's own.
  [[nodiscard]] Task* steal_for(Worker& worker) noexcept;
  /// Whether there is any.
  [[nodiscard]] bool has_task() const noexcept;
  /// Whether workers have any among their own.
  [[nodiscard]] bool have_workers_a_task() const noexcept;
  /// `made` is read last: made == finished means that there was a moment without tasks.
  [[nodiscard]] TaskCounts counts() const noexcept;

  TaskQueue injected;  ///< by threads that are no workers
  TaskQueue urgent;
  TaskQueue low;
  TaskQueue held_back;  ///< by stand-ins

 private:
  [[nodiscard]] Task* find_old(Worker& worker) noexcept;
  [[nodiscard]] Task* find_shared(Worker& worker) noexcept;

  std::vector<std::unique_ptr<Worker>> workers_;
  const StandIns& stand_ins_;
  std::atomic<std::uint64_t> made_outside_{0};
};

}  // namespace weft::parcel
