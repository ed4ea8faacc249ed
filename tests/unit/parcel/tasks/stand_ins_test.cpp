// Tasks that block their threads in the kernel: what they wait for comes all the same.
#include <gtest/gtest.h>

#include <weft/parcel/future.hpp>

#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "parcel/tasks/thread_state.hpp"
#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel {
namespace {

/// Answers, as messages are answered: by who polls.
class Answers final : public BackgroundWork {
 public:
  Future<int> ask(WorkerPool& pool, int value) {
    Promise<int> promise(&pool);
    Future<int> future = promise.future();
    const std::lock_guard lock(mutex_);
    asked_.push_back({std::move(promise), value});
    return future;
  }
  bool poll(unsigned) override {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || asked_.empty()) return false;
    auto [promise, value] = std::move(asked_.front());
    asked_.pop_front();
    lock.unlock();
    promise.set(value);
    return true;
  }
  std::uint64_t wakes() const noexcept override { return 0; }
  void park(unsigned slot, Timeout, std::uint64_t) override {
    const StandIns* const watch = keeps_parked_.load();
    if (watch != nullptr && slot >= watch_from_)
      while (!watch->is_at_rest()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::unique_lock lock(sleeping_);
    changed_.wait_for(lock, std::chrono::milliseconds(1));
  }
  void wake() noexcept override { changed_.notify_all(); }
  /// From now on whoever parks in one of these slots sleeps until the watch rests, as a thread does that gets
  /// no processor.
  void keep_parked(const StandIns& watch, unsigned first_slot) {
    watch_from_ = first_slot;
    keeps_parked_ = &watch;
  }

 private:
  std::atomic<const StandIns*> keeps_parked_{nullptr};
  std::atomic<unsigned> watch_from_{0};
  std::mutex mutex_;
  std::deque<std::pair<Promise<int>, int>> asked_;
  std::mutex sleeping_;
  std::condition_variable changed_;
};

class BlockablePool {
 public:
  explicit BlockablePool(unsigned workers) : pool_(workers, std::size_t{256} << 10, answers_, this) {
    pool_.start();
  }
  ~BlockablePool() { pool_.stop(); }
  template <class Function>
  auto spawn(Function function) {
    using Result = std::invoke_result_t<Function&>;
    Promise<Result> promise(&pool_);
    Future<Result> future = promise.future();
    detail::schedule_call(pool_,
                          [promise = std::move(promise), function = std::move(function)]() mutable noexcept {
                            detail::fulfil(promise, [&]() -> Result { return function(); });
                          });
    return future;
  }
  Future<int> ask(int value) { return answers_.ask(pool_, value); }
  void keep_stand_ins_parked() { answers_.keep_parked(pool_.stand_ins(), pool_.outside() + 1); }
  WorkerPool& pool() { return pool_; }

 private:
  Answers answers_;
  WorkerPool pool_;
};

class BlockedWorkers : public testing::TestWithParam<unsigned> {
 protected:
  BlockablePool pool_{GetParam()};
};

TEST_P(BlockedWorkers, AStdMutexIsHeldWhileItsTaskWaitsForAnAnswer) {
  std::mutex mutex;
  long total = 0;
  std::vector<Future<void>> tasks;
  for (int number = 0; number < 300; ++number)
    tasks.push_back(pool_.spawn([&, number] {
      const std::lock_guard lock(mutex);
      const long before = total;
      const int answer = pool_.ask(number).get();
      EXPECT_EQ(total, before) << "another task has had the mutex";
      total = before + answer;
    }));
  for (auto& task : tasks) task.get();
  EXPECT_EQ(total, 300 * 299 / 2);
}

TEST_P(BlockedWorkers, AStdMutexIsHeldWhileItsTaskWaitsForTasksThatHaveNotBegun) {
  std::mutex mutex;
  long total = 0;
  std::vector<Future<void>> tasks;
  for (int number = 0; number < 20; ++number)
    tasks.push_back(pool_.spawn([&, number] {
      const std::lock_guard lock(mutex);
      std::vector<Future<int>> parts;
      for (int part = 0; part < 10; ++part)
        parts.push_back(pool_.spawn([&, part] { return pool_.ask(part).get(); }));
      for (auto& part : parts) total += part.get();
      total += number;
    }));
  for (auto& task : tasks) task.get();
  EXPECT_EQ(total, 20 * 45 + 190);
}

TEST_P(BlockedWorkers, MoreTasksThanWorkersMeetAtAStdBarrier) {
  std::barrier meeting(12);
  std::atomic<int> met{0};
  std::vector<Future<void>> tasks;
  for (int number = 0; number < 12; ++number)
    tasks.push_back(pool_.spawn([&] {
      for (int round = 0; round < 3; ++round) {
        meeting.arrive_and_wait();
        ++met;
      }
    }));
  for (auto& task : tasks) task.get();
  EXPECT_EQ(met, 36);
}

TEST_P(BlockedWorkers, ATaskReadsWhatALaterOneWrites) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::vector<Future<int>> readers;
  for (int number = 0; number < 6; ++number)
    readers.push_back(pool_.spawn([&] {
      char byte = 0;
      return ::read(ends[0], &byte, 1) == 1 ? byte : -1;
    }));
  auto writer = pool_.spawn([&] { return static_cast<int>(::write(ends[1], "weaves", 6)); });
  EXPECT_EQ(writer.get(), 6);
  int sum = 0;
  for (auto& reader : readers) sum += reader.get();
  EXPECT_EQ(sum, 'w' + 'e' + 'a' + 'v' + 'e' + 's');
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_P(BlockedWorkers, OneConditionVariableOfTheStandardLibraryWakesAll) {
  std::mutex mutex;
  std::condition_variable changed;
  int turn = 0;
  std::vector<Future<void>> tasks;
  // The last one begins the chain.
  for (int number = 0; number < 30; ++number)
    tasks.push_back(pool_.spawn([&, number] {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return turn == 30 - number; });
      ++turn;
      changed.notify_all();
    }));
  tasks.push_back(pool_.spawn([&] {
    const std::lock_guard lock(mutex);
    turn = 1;
    changed.notify_all();
  }));
  for (auto& task : tasks) task.get();
  EXPECT_EQ(turn, 31);
}

TEST_P(BlockedWorkers, OthersRunWhileATaskOfEachWorkerBlocksForLong) {
  std::binary_semaphore gate(0);
  std::vector<Future<void>> blocked;
  for (unsigned worker = 0; worker < GetParam(); ++worker)
    blocked.push_back(pool_.spawn([&] {
      gate.acquire();
      gate.release();
    }));
  long sum = 0;
  for (int number = 0; number < 2000; ++number)
    sum += pool_.spawn([&, number] { return pool_.ask(number).get(); }).get();
  EXPECT_EQ(sum, 1000L * 1999);
  gate.release();
  for (auto& task : blocked) task.get();
}

TEST_P(BlockedWorkers, ThePoolEndsAfterTasksThatBlock) {
  std::mutex mutex;
  std::atomic<int> ended{0};
  {
    BlockablePool pool(GetParam());
    for (int number = 0; number < 20; ++number)
      detail::schedule_call(pool.pool(), [&, number]() noexcept {
        const std::lock_guard lock(mutex);
        EXPECT_EQ(pool.ask(number).get(), number);
        ++ended;
      });
  }
  EXPECT_EQ(ended, 20);
}

/// Without those that have left, there would not be enough of them for all rounds.
TEST_P(BlockedWorkers, StandInsLeaveWhenNobodyBlocksAndAreUsedAgain) {
  constexpr int kTasks = 72;
  static_assert(4 * (kTasks - 4) > static_cast<int>(StandIns::kMost));
  for (int round = 0; round < 4; ++round) {
    std::barrier meeting(kTasks);
    std::vector<Future<void>> tasks;
    for (int number = 0; number < kTasks; ++number)
      tasks.push_back(pool_.spawn([&] { meeting.arrive_and_wait(); }));
    for (auto& task : tasks) task.get();
    while (pool_.pool().stand_ins().report().lent != 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

INSTANTIATE_TEST_SUITE_P(Pools, BlockedWorkers, testing::Values(1U, 2U, 4U),
                         [](const auto& instance) { return std::to_string(instance.param) + "workers"; });

TEST(StandInsOfAPool, AreNotLentWhileWorkersCompute) {
  BlockablePool pool(2);
  std::vector<Future<void>> tasks;
  for (int number = 0; number < 2; ++number)
    tasks.push_back(pool.spawn([] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
      while (std::chrono::steady_clock::now() < end) {
      }
    }));
  for (auto& task : tasks) task.get();
  EXPECT_EQ(pool.pool().stand_ins().count(), 0U);
}

TEST(StandInsOfAPool, TheWatchRestsWhileAllWorkersDo) {
  BlockablePool pool(2);
  const StandIns& watch = pool.pool().stand_ins();
  for (int round = 0; round < 3; ++round) {
    while (!watch.is_at_rest()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::uint64_t looks = watch.looks();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(watch.looks(), looks) << "nobody has worked, and the watch has looked at the workers";
    // It is there again when tasks block all workers.
    std::barrier meeting(6);
    std::vector<Future<void>> tasks;
    for (int number = 0; number < 6; ++number)
      tasks.push_back(pool.spawn([&] { meeting.arrive_and_wait(); }));
    for (auto& task : tasks) task.get();
    EXPECT_GT(watch.looks(), looks);
  }
}

TEST(StandInsOfAPool, AreReportedUntilTheyLeaveAlsoWhereTheWatchRestsBefore) {
  BlockablePool pool(2);
  const StandIns& watch = pool.pool().stand_ins();
  std::barrier meeting(6);
  std::vector<Future<void>> tasks;
  for (int number = 0; number < 6; ++number)
    tasks.push_back(pool.spawn([&] {
      meeting.arrive_and_wait();
      pool.keep_stand_ins_parked();
    }));
  for (auto& task : tasks) task.get();
  EXPECT_NE(watch.count(), 0U);
  while (watch.report().lent != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// One of two workers blocks until a task has run that waits in its own deque, while the other one never runs
/// out of tasks.
TEST(StandInsOfAPool, ABusyWorkerRunsWhatABlockedOneHas) {
  BlockablePool pool(2);
  std::atomic<bool> is_over{false};
  std::atomic<int> begun{0};
  struct Endless {
    static void run(BlockablePool& pool, std::atomic<bool>& is_over) {
      if (is_over) return;
      detail::schedule_call(pool.pool(), [&]() noexcept { run(pool, is_over); });
    }
  };
  const auto both_have_begun = [&] {
    ++begun;
    while (begun != 2) {
    }
  };
  auto busy = pool.spawn([&] {
    both_have_begun();
    for (int chain = 0; chain < 3; ++chain) Endless::run(pool, is_over);
  });
  auto blocked = pool.spawn([&] {
    both_have_begun();
    std::binary_semaphore gate(0);
    auto opens = pool.spawn([&] { gate.release(); });
    gate.acquire();
    is_over = true;
    opens.get();
  });
  busy.get();
  blocked.get();
}

TEST(ThreadState, SaysWhetherAThreadSleeps) {
  std::binary_semaphore gate(0);
  std::atomic<pid_t> kernel_id{0};
  std::atomic<bool> is_running{true};
  std::thread sleeper([&] {
    kernel_id = ::gettid();
    while (is_running) {
    }
    gate.acquire();
  });
  while (kernel_id == 0) std::this_thread::yield();
  EXPECT_FALSE(is_asleep(kernel_id));
  const std::int64_t before = processor_time_of(sleeper.native_handle());
  while (processor_time_of(sleeper.native_handle()) < before + 1'000'000) std::this_thread::yield();
  is_running = false;
  while (!is_asleep(kernel_id)) std::this_thread::yield();
  gate.release();
  sleeper.join();
}

}  // namespace
}  // namespace weft::parcel
