// Worker threads with work stealing, and what they do when there are no tasks.
#pragma once

#include <weft/parcel/task.hpp>
#include <weft/parcel/waiter.hpp>
#include <weft/types.hpp>

#include <atomic>
#include <cstdint>

#include "parcel/tasks/stand_ins.hpp"
#include "parcel/tasks/stepper.hpp"
#include "parcel/tasks/task_sources.hpp"
#include "parcel/tasks/task_stacks.hpp"
#include "parcel/tasks/timers.hpp"
#include "parcel/tasks/worker.hpp"
#include "parcel/tasks/worker_threads.hpp"

namespace weft::parcel {

/// What workers do besides tasks. `slot`: the one of the worker, WorkerPool::slot().
class BackgroundWork {
 public:
  /// Moves communication; returns whether it did anything.
  virtual bool poll(unsigned slot) = 0;
  /// Differs after each wake(). Read before the look for something to do that precedes a park().
  [[nodiscard]] virtual std::uint64_t wakes() const noexcept = 0;
  /// Sleeps until wakes() is not `seen` any more, or for as long as `longest`.
  virtual void park(unsigned slot, Timeout longest, std::uint64_t seen) = 0;
  virtual void wake() noexcept = 0;
  enum class Parcels : std::uint8_t { none, chosen, held_back };
  /// Of a task that has not begun and consists of parcels: an answer, or a call whose `kind`, which is
  /// returned, does not block, is the next that runs, if there is one; otherwise `kind` is that of the first
  /// call. A stand-in asks.
  virtual Parcels choose_parcel(Task& task, const BlockedKinds& blocked, const void*& kind) noexcept {
    static_cast<void>(task);
    static_cast<void>(blocked);
    static_cast<void>(kind);
    return Parcels::none;
  }

 protected:
  ~BackgroundWork() = default;
};

class WorkerPool final : public Scheduler {
 public:
  static constexpr unsigned kMaxWorkers = 256;
  /// Threads that may take over workers whose tasks block, at a time.
  static constexpr std::size_t kMostSpareThreads = 64;

  /// `owner`: of current_owner(). `stack`: bytes of a task's stack. `stepper`: runs the workers, instead of
  /// threads, and outlives the pool.
  WorkerPool(unsigned workers, std::size_t stack, BackgroundWork& background, void* owner,
             Stepper* stepper = nullptr);
  ~WorkerPool();

  /// `position`: among the pools of its Stepper.
  void start(int position = 0);
  /// Ends the threads, once they have no task. Idempotent.
  void stop() noexcept;

  void schedule(Task& task) noexcept override;
  void schedule(Task& task, const SpawnOptions& options) noexcept override;
  bool run_here(Task& task) noexcept override;
  // The same, called by a task of this pool on the stack `own`.
  void schedule(TaskStack& own, Task& task) noexcept;
  bool run_here(TaskStack& own, Task& task) noexcept;
  /// Ends the sleep of workers. Any thread.
  void wake() noexcept;
  /// Before the program's code runs elsewhere than in a task, maybe in a worker, and maybe while that parks.
  void note_work() noexcept;

  /// The number of workers; and that of calls of threads that are no workers, and of stand-ins.
  [[nodiscard]] unsigned outside() const noexcept { return sources_.workers(); }
  /// Of the calling worker: its number, or one of its own from outside() + 1 to slots() - 1 when it is a
  /// stand-in. Of other threads: outside().
  [[nodiscard]] unsigned slot() const noexcept;
  [[nodiscard]] unsigned slots() const noexcept {
    return outside() + 1 + static_cast<unsigned>(StandIns::kMost);
  }
  /// The calling thread's number in this pool, or outside(). A task asks again after it has waited.
  [[nodiscard]] unsigned worker_number() const noexcept;
  /// The pool whose worker the calling thread is, or nullptr; and its owner.
  [[nodiscard]] static WorkerPool* current() noexcept;
  [[nodiscard]] static void* current_owner() noexcept;
  /// What Scheduler::current() is in its workers: a scheduler that may be named longer than the pool lives.
  void set_lasting(Scheduler& scheduler) noexcept { lasting_ = &scheduler; }
  [[nodiscard]] const Scheduler* lasting() const noexcept { return lasting_; }

  // What it consists of.

  [[nodiscard]] TaskSources& sources() noexcept { return sources_; }
  [[nodiscard]] WorkerThreads& threads() noexcept { return threads_; }
  [[nodiscard]] TaskStacks& stacks() noexcept { return stacks_; }
  [[nodiscard]] Timers& timers() noexcept { return timers_; }
  /// Workers that block, and who stands in for them.
  [[nodiscard]] StandIns& stand_ins() noexcept { return stand_ins_; }
  [[nodiscard]] BackgroundWork& background() noexcept { return background_; }

  // What waits stand on.

  /// Sees to it that the worker has a stack to go on with. Throws weft::Error when there is no memory for
  /// one.
  void prepare_to_leave(TaskStack& own);
  /// Leaves the task's stack, on which the caller runs, and goes on with another. Returns after make_ready(),
  /// which `after` or whoever it tells may call. After prepare_to_leave().
  void leave_worker(TaskStack& own, const WaitReason& reason, AfterSwitch after) noexcept;
  /// The task that was left goes on, as soon as a worker has time. Any thread.
  void make_ready(TaskStack& stack) noexcept;
  /// Where a Stepper runs the workers it may leave the task here, which is then ready.
  void maybe_preempt(TaskStack& own);
  /// Runs `function(argument)` while another thread runs the caller's worker. False: no thread could be had,
  /// and nothing was done. The function throws nothing.
  bool lend_worker(void (*function)(void*) noexcept, void* argument) noexcept;

 private:
  friend class Scheduler;
  friend class Stepper;

  void loop(TaskStack& own) noexcept;
  [[nodiscard]] Task* find_task(Worker& worker) noexcept;
  void count_for_poll(Worker& worker) noexcept;
  bool poll(Worker& worker) noexcept;
  void rest(Worker& worker, std::uint32_t& idle_rounds) noexcept;
  [[nodiscard]] bool has_task_for(const Worker& worker) const noexcept;
  [[nodiscard]] bool is_over() const noexcept;

  BackgroundWork& background_;
  void* const owner_;
  Stepper* const stepper_;
  Scheduler* lasting_ = this;
  bool is_started_ = false;
  alignas(64) std::atomic<std::uint32_t> parked_{0};
  alignas(64) StandIns stand_ins_;
  alignas(64) TaskSources sources_;
  Timers timers_;
  WorkerThreads threads_;
  TaskStacks stacks_;
};

}  // namespace weft::parcel
