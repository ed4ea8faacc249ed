// Worker threads with work stealing, and what they do when there are no tasks.
#pragma once

#include <weft/parcel/task.hpp>
#include <weft/parcel/waiter.hpp>
#include <weft/types.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <pthread.h>
#include <sys/types.h>

#include "parcel/tasks/stack_memory.hpp"
#include "parcel/tasks/stand_ins.hpp"
#include "parcel/tasks/stepper.hpp"
#include "parcel/tasks/timers.hpp"
#include "parcel/tasks/worker.hpp"

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

struct TaskCounts {
  std::uint64_t made = 0;
  std::uint64_t finished = 0;
  std::uint64_t stolen = 0;
  std::uint64_t parks = 0;
};

/// A thread that runs workers: one at a time, or none while its task blocks (blocking()) and afterwards.
struct WorkerThread {
  explicit WorkerThread(WorkerPool& who) noexcept : pool(who) {}
  WorkerPool& pool;
  pthread_t thread{};
  pid_t kernel_id = 0;        // since it has had a worker
  TaskStack* home = nullptr;  // its own stack
  // Guarded by the pool's mutex of threads.
  Worker* given = nullptr;     // to run next
  TaskStack* first = nullptr;  // and its loop
  std::condition_variable changed;
};

class WorkerPool final : public Scheduler {
 public:
  static constexpr unsigned kMaxWorkers = 256;
  /// Threads that may take over workers whose tasks block, at a time.
  static constexpr std::size_t kMostSpareThreads = 64;

  /// The number of calls of threads that are no workers, and of stand-ins.
  [[nodiscard]] unsigned outside() const noexcept { return static_cast<unsigned>(workers_.size()); }
  /// Of the calling worker: its number, or one of its own from outside() + 1 to slots() - 1 when it is a
  /// stand-in. Of other threads: outside().
  [[nodiscard]] unsigned slot() const noexcept;
  [[nodiscard]] unsigned slots() const noexcept {
    return outside() + 1 + static_cast<unsigned>(StandIns::kMost);
  }

  /// `owner`: of current_owner(). `stack`: bytes of a task's stack. `stepper`: runs the workers, instead of
  /// threads, and outlives the pool.
  WorkerPool(unsigned workers, std::size_t stack, BackgroundWork& background, void* owner,
             Stepper* stepper = nullptr);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// `place`: among the pools of its Stepper.
  void start(int place = 0);
  /// Ends the threads, once they have no task. Idempotent.
  void stop() noexcept;

  void schedule(Task& task) noexcept override;
  void schedule(Task& task, const SpawnOptions& options) noexcept override;
  bool run_here(Task& task) noexcept override;
  // The same, called by a task of this pool on the stack `own`.
  void schedule(TaskStack& own, Task& task) noexcept;
  bool run_here(TaskStack& own, Task& task) noexcept;
  /// Whether a task with these hints is one as any other.
  [[nodiscard]] static bool is_plain(const SpawnOptions& options) noexcept {
    return options.worker < 0 && options.priority == Priority::normal;
  }
  /// Ends the sleep of workers. Any thread.
  void wake() noexcept;

  /// The calling thread's number in this pool, or outside(). A task asks again after it has waited.
  [[nodiscard]] unsigned worker_number() const noexcept;
  /// The pool whose worker the calling thread is, or nullptr.
  [[nodiscard]] static WorkerPool* current() noexcept;
  /// What Scheduler::current() is in its workers: a scheduler that may be named longer than the pool lives.
  void set_lasting(Scheduler& scheduler) noexcept { lasting_ = &scheduler; }
  [[nodiscard]] const Scheduler* lasting() const noexcept { return lasting_; }
  /// The owner of the pool whose worker the calling thread is, or nullptr.
  [[nodiscard]] static void* current_owner() noexcept;
  [[nodiscard]] unsigned workers() const noexcept { return static_cast<unsigned>(workers_.size()); }
  /// `made` is read last: made == finished means that there was a moment without tasks.
  [[nodiscard]] TaskCounts counts() const noexcept;
  /// Tasks that wait in the own deque of the worker, no stand-in; approximate.
  [[nodiscard]] std::int64_t waiting(unsigned worker) const noexcept {
    return workers_[worker]->deque.size_guess();
  }
  /// Before the program's code runs elsewhere than in a task, maybe in a worker, and maybe while that parks.
  void note_work() noexcept;
  /// Workers that block, and who stands in for them.
  [[nodiscard]] const StandIns& stand_ins() const noexcept { return stand_ins_; }

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
  /// Calls visit(number, wait) for each task that waits, up to `most` of them. Any thread.
  template <class Visit>
  void for_each_wait(std::size_t most, const Visit& visit) {
    const std::lock_guard lock(stacks_mutex_);
    for (std::size_t number = 0; number < stacks_.size() && most != 0; ++number) {
      TaskStack::ReportedWait wait;
      if (!stacks_[number]->look(wait)) continue;
      visit(number, wait);
      --most;
    }
  }
  [[nodiscard]] Timers& timers() noexcept { return timers_; }
  /// After a switch: the stack, a loop without a task, is kept for the next task that waits.
  static void keep_idle(void* stack) noexcept;
  /// Runs `function(argument)` while another thread runs the caller's worker. False: no thread could be had,
  /// and nothing was done. The function throws nothing.
  bool lend_worker(void (*function)(void*) noexcept, void* argument) noexcept;

 private:
  friend class Scheduler;
  friend class Stepper;
  friend class StandIns;

  static void* thread_main(void* thread);
  void run_thread(WorkerThread& thread) noexcept;
  [[nodiscard]] Worker* next_worker(WorkerThread& thread) noexcept;
  /// The worker has no thread any more. With the mutex of threads held.
  void forget(Worker& worker) noexcept;
  /// nullptr: the thread could not be started, and errno says why. Throws as take_stack() does.
  WorkerThread* start_thread(Worker& worker);
  /// A spare thread, or a new one, runs the worker. False: none could be had.
  [[nodiscard]] bool hand_to_spare(Worker& worker, std::size_t most_threads) noexcept;
  static void stack_main(TaskStack& stack);
  void loop(TaskStack& own) noexcept;
  /// A loop without a task, for the worker. Throws weft::Error when there is no memory for one.
  [[nodiscard]] TaskStack& take_stack(Worker& worker);
  void idle(Worker& worker, TaskStack& stack) noexcept;
  void end_stacks() noexcept;

  [[nodiscard]] Task* find_task(Worker& worker) noexcept;
  void step(unsigned number) noexcept;
  void pause(TaskStack& own) noexcept;
  [[nodiscard]] Task* find_any_task(Worker& worker) noexcept;
  [[nodiscard]] Task* find_old_task(Worker& worker) noexcept;
  [[nodiscard]] Task* find_shared_task(Worker& worker) noexcept;
  /// Calls visit(worker) for all workers, and for all that have ever been stand-ins.
  template <class Visit>
  void for_each_worker(const Visit& visit) const {
    for (const auto& worker : workers_) visit(*worker);
    const std::size_t count = stand_ins_.count();
    for (std::size_t number = 0; number < count; ++number) visit(stand_ins_.at(number));
  }
  /// A task that is not the worker's own.
  [[nodiscard]] Task* steal_for(Worker& worker) noexcept;
  void finished(Worker& worker) noexcept;
  void count_for_poll(Worker& worker) noexcept;
  void poll_between_tasks(Worker& worker) noexcept;
  bool poll(Worker& worker) noexcept;
  void rest(Worker& worker, std::uint32_t& idle_rounds) noexcept;
  void end_rest(Worker& worker) noexcept;
  [[nodiscard]] bool has_task() const noexcept;
  [[nodiscard]] bool has_task_for(const Worker& worker) const noexcept;
  [[nodiscard]] bool is_over() const noexcept;

  BackgroundWork& background_;
  void* const owner_;
  Stepper* const stepper_;
  Scheduler* lasting_ = this;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> is_stopping_{false};
  bool is_started_ = false;
  alignas(64) std::atomic<std::uint32_t> parked_{0};
  alignas(64) TaskQueue injected_;
  TaskQueue urgent_;
  TaskQueue low_;
  TaskQueue held_back_;  // by stand-ins
  std::atomic<std::uint64_t> made_outside_{0};
  Timers timers_;

  std::mutex threads_mutex_;
  std::vector<std::unique_ptr<WorkerThread>> threads_;
  std::vector<WorkerThread*> spare_;
  std::size_t running_ = 0;  // workers that have a thread
  std::condition_variable all_ended_;

  StackMemory stack_memory_;
  std::mutex stacks_mutex_;
  std::vector<TaskStack*> stacks_;    // all
  TaskStack* idle_stacks_ = nullptr;  // beyond what workers keep
  StandIns stand_ins_;
};

}  // namespace weft::parcel
