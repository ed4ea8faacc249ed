// Workers that stand in for those whose tasks block their threads without saying so.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "parcel/tasks/worker.hpp"

namespace weft::parcel {

/// The functions and actions in which stand-ins have blocked. One thread adds, any thread asks.
class BlockedKinds {
 public:
  [[nodiscard]] bool contains(const void* kind) const noexcept {
    const std::size_t count = count_.load(std::memory_order_acquire);
    for (std::size_t number = 0; number < count; ++number)
      if (kinds_[number].load(std::memory_order_relaxed) == kind) return true;
    return count == kinds_.size();
  }
  void add(const void* kind) noexcept {
    if (kind == nullptr || contains(kind)) return;
    const std::size_t count = count_.load(std::memory_order_relaxed);
    kinds_[count].store(kind, std::memory_order_relaxed);
    count_.store(count + 1, std::memory_order_release);
  }
  void clear() noexcept { count_.store(0, std::memory_order_release); }

 private:
  std::array<std::atomic<const void*>, 64> kinds_{};  // when it is full, it has all
  std::atomic<std::size_t> count_{0};
};

/// A task may hold a std::mutex while it waits, and others may block their threads in its lock, until no
/// worker is left to take the message, or to go on with the task, that would end it. A thread watches over
/// the workers. When none of them gets on, and one or more sleep in the kernel elsewhere than where workers
/// rest, it lends threads to workers beside them, the stand-ins. These move communication, go on with tasks
/// that have waited, and begin others. Those that are like one in which a stand-in has blocked (the same
/// function, the same action) would block as well, and are held back, until a while has passed in which no
/// task has ended. Then one may begin, and if it blocks, too, two, and so on; but the last stand-in never
/// begins one.
///
/// While all workers sleep the watch does so, too, without a limit of time.
///
/// As a stand-in is a worker of its own, nothing is taken from who blocks: it goes on as soon as it can.
class StandIns {
 public:
  /// At a time.
  static constexpr std::size_t kMost = 256;

  explicit StandIns(WorkerPool& pool) noexcept : pool_(pool) {}
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;

  /// Begins to watch. Throws std::system_error when no thread can be had.
  void start();
  /// Ends it; no worker may be left that runs tasks.
  void stop() noexcept;

  /// Those that have been made; they stay.
  [[nodiscard]] std::size_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] Worker& at(std::size_t number) const noexcept { return *workers_[number]; }

  struct Report {
    std::size_t blocked = 0;    ///< workers, no stand-ins, that block and keep all from getting on
    std::size_t lent = 0;       ///< stand-ins
    bool is_exhausted = false;  ///< all of them block
  };
  /// `blocked` and `is_exhausted` as of the last look at the workers. Any thread.
  [[nodiscard]] Report report() const noexcept;

  /// A worker that has rested works: the watch goes on. Any thread.
  void wake() noexcept {
    if (is_at_rest_.load(std::memory_order_seq_cst)) [[unlikely]]
      end_rest();
  }
  /// Whether the watch sleeps until wake(), as all workers do.
  [[nodiscard]] bool is_at_rest() const noexcept { return is_at_rest_.load(std::memory_order_relaxed); }
  /// At the workers, so far.
  [[nodiscard]] std::uint64_t looks() const noexcept { return looks_.load(std::memory_order_relaxed); }

  // What a stand-in does, in its own thread.

  [[nodiscard]] Task* find_task(Worker& worker) noexcept;
  /// Whether find_task() would find one.
  [[nodiscard]] bool has_task(const Worker& worker) const noexcept;
  /// Nobody needs it, and it has nothing left to do: its thread is to leave it.
  [[nodiscard]] bool may_leave(const Worker& worker) const noexcept;
  /// Its thread has left it. With the pool's mutex of threads held.
  void left(Worker& worker) noexcept;

 private:
  /// What was last seen of a worker.
  struct Seen {
    std::uint64_t done = 0;
    std::int64_t since = 0;      // it has not got on
    std::int64_t processor = 0;  // time that its thread had used
    std::int64_t at = 0;         // when that was read; 0: it was not
    bool is_blocked = false;
  };
  /// What all that run come to.
  struct Sum {
    std::size_t workers = 0;  // of the pool
    std::size_t blocked = 0;  // of these, those that block
    std::size_t stuck = 0;    // those that block or have not got on for long
    std::size_t idle = 0;     // stand-ins without a turn that do not block
    std::size_t begun = 0;    // stand-ins with a turn that do not block
    std::size_t begun_blocked = 0;
    std::uint64_t finished = 0;  // tasks
    bool is_suspicious = false;  // a worker seems to block
  };

  void run() noexcept;
  /// Whether all workers sleep; then wake() is heard.
  [[nodiscard]] bool begin_rest() noexcept;
  void end_rest() noexcept;
  [[nodiscard]] Sum look(std::int64_t now) noexcept;
  void look_at(Worker& worker, Seen& seen, std::int64_t now, Sum& sum) noexcept;
  void judge(const Sum& sum, std::int64_t now) noexcept;
  /// One more stand-in. False: there is no thread, or none is left.
  bool lend() noexcept;
  [[nodiscard]] bool take_turn(Worker& worker) noexcept;
  void end_turn(Worker& worker) noexcept;
  /// With the pool's mutex of threads held: the watch may rest before the last stand-in leaves.
  void count_lent() noexcept;
  /// Whether the task may run without a turn, and its kind.
  [[nodiscard]] bool may_run(Task& task, const void*& kind) noexcept;
  /// The task if the stand-in may run it now; otherwise nullptr, and it is held back.
  [[nodiscard]] Task* sort(Worker& worker, Task& task) noexcept;

  WorkerPool& pool_;
  std::array<std::unique_ptr<Worker>, kMost> workers_;
  std::atomic<std::size_t> count_{0};
  std::vector<Worker*> free_;  // guarded by the pool's mutex of threads
  BlockedKinds kinds_;
  std::atomic<bool> are_needed_{false};
  std::atomic<bool> are_wanted_{false};  // are_needed_, or were until just now
  // Of stand-ins that begin tasks of blocked kinds: how many may, and do.
  std::atomic<std::uint32_t> turns_{0};
  std::atomic<std::uint32_t> taken_turns_{0};
  std::atomic<std::uint32_t> blocked_{0};
  std::atomic<std::uint32_t> lent_{0};
  std::atomic<bool> is_exhausted_{false};

  // The watching thread's own.
  std::vector<Seen> seen_;
  std::uint64_t finished_ = 0;
  std::int64_t needed_at_ = 0;
  std::uint32_t growth_ = 1;

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_ending_ = false;
  std::atomic<bool> is_at_rest_{false};
  std::atomic<std::uint64_t> looks_{0};
};

}  // namespace weft::parcel
