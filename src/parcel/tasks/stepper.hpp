// Workers that one thread runs step by step, in an order that a seed decides.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace weft::parcel {

class TaskStack;
class WorkerPool;
struct Worker;

/// Runs the workers of the pools that are made with it, which start no threads: which worker is next, which
/// task it takes, and whether a task that could go on is left at a wait, are chosen by the seed. Equal seeds
/// and equal programs give equal schedules, as long as nothing depends on a clock. One thread steps; others
/// may begin and end pools meanwhile, and are no part of the schedule.
class Stepper {
 public:
  explicit Stepper(std::uint64_t seed) noexcept : state_(seed * 2 + 1) {}
  ~Stepper();
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;

  /// From now on, until uninstall() or the end of this, it runs the workers of all parcel runtimes that are
  /// made in this process.
  void install() noexcept;
  /// Runtimes that are made later have threads again; those that are there keep this.
  void uninstall() noexcept;
  [[nodiscard]] static Stepper* installed() noexcept;

  /// Steps until `is_done()`. False: it was not done after so many steps.
  [[nodiscard]] bool run_until(const std::function<bool()>& is_done, std::uint64_t most_steps);
  /// One step of one worker, if there is one.
  void step();
  /// 0 to choices - 1; and notes the choice in digest().
  [[nodiscard]] std::uint32_t choose(std::uint32_t choices) noexcept;
  /// Of all choices so far: equal after equal schedules.
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }

 private:
  friend class WorkerPool;
  /// Pools are stepped by their positions, whatever order they begin in.
  struct Stepped {
    int position;
    WorkerPool* pool;
  };
  void add(int position, WorkerPool& pool);
  /// Runs the worker until pause().
  static void run_worker(WorkerPool& pool, unsigned number) noexcept;
  /// The step ends here, in the loop on the worker's stack `own`.
  static void pause(TaskStack& own) noexcept;
  void remove(WorkerPool& pool) noexcept;

  std::uint64_t state_;
  std::uint64_t digest_ = 0;
  std::mutex mutex_;  // of the list, and of whoever steps
  std::vector<Stepped> pools_;
};

}  // namespace weft::parcel
