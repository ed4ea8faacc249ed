// Waiting tasks over a pool of workers without a network.
#include <gtest/gtest.h>

#include <weft/parcel/blocking.hpp>
#include <weft/parcel/condition_variable.hpp>
#include <weft/parcel/future.hpp>
#include <weft/parcel/latch.hpp>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "parcel/tasks/worker_pool.hpp"
#include "unit/parcel/tasks/background_doubles.hpp"

namespace weft::parcel {
namespace {

// ThreadSanitizer has room for some thousands of stacks.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif
constexpr std::size_t kStack = std::size_t{1} << 20;

class Pool {
 public:
  explicit Pool(unsigned workers, std::size_t stack = kStack, Stepper* stepper = nullptr)
      : pool_(workers, stack, quiet_, this, stepper) {
    pool_.start();
  }
  ~Pool() { pool_.stop(); }
  template <class Function>
  auto spawn(Function function, const SpawnOptions& options = {}) {
    using Result = std::invoke_result_t<Function&>;
    Promise<Result> promise(&pool_);
    Future<Result> future = promise.future();
    auto call = [promise = std::move(promise), function = std::move(function)]() mutable noexcept {
      detail::fulfil(promise, [&]() -> Result { return function(); });
    };
    auto* const task = new detail::FunctionTask<decltype(call)>(std::move(call));
    future.state().set_maker(*task);
    pool_.schedule(*task, options);
    return future;
  }
  WorkerPool& pool() { return pool_; }

 private:
  CountedWakes quiet_;
  WorkerPool pool_;
};

class Workers : public testing::TestWithParam<unsigned> {
 protected:
  Pool pool_{GetParam()};
};

long chain(Pool& pool, long left) {
  if (left == 0) return 0;
  return pool.spawn([&pool, left] { return chain(pool, left - 1); }).get() + 1;
}

TEST_P(Workers, AMillionNestedWaitsEnd) {
  constexpr long kDepth = kIsSanitized ? 20'000 : 1'000'000;
  EXPECT_EQ(pool_.spawn([&] { return chain(pool_, kDepth); }).get(), kDepth);
}

TEST_P(Workers, ManyTasksWaitAtATime) {
  constexpr int kTasks = kIsSanitized ? 2000 : 100'000;
  std::vector<Promise<int>> promises(kTasks);
  std::vector<Future<int>> tasks;
  for (Promise<int>& promise : promises)
    tasks.push_back(pool_.spawn([future = promise.future()]() mutable { return future.get() + 1; }));
  for (int number = 0; number < kTasks; ++number) promises[static_cast<std::size_t>(number)].set(number);
  for (int number = 0; number < kTasks; ++number)
    ASSERT_EQ(tasks[static_cast<std::size_t>(number)].get(), number + 1);
}

TEST_P(Workers, TasksGoOnInAnyWorker) {
  // Ping-pong of pairs: wake-ups meet switches, in all orders.
  constexpr int kPairs = 8;
  constexpr int kRounds = 2000;
  std::vector<Future<void>> tasks;
  struct Pair {
    Mutex mutex;
    ConditionVariable changed;
    int turn = 0;
  };
  std::vector<std::unique_ptr<Pair>> pairs;
  for (int pair = 0; pair < kPairs; ++pair) {
    pairs.push_back(std::make_unique<Pair>());
    for (int side = 0; side < 2; ++side)
      tasks.push_back(pool_.spawn([&own = *pairs.back(), side] {
        for (int round = 0; round < kRounds; ++round) {
          std::unique_lock lock(own.mutex);
          own.changed.wait(lock, [&] { return own.turn % 2 == side; });
          ++own.turn;
          own.changed.notify_one();
        }
      }));
  }
  for (auto& task : tasks) task.get();
  for (const auto& pair : pairs) EXPECT_EQ(pair->turn, 2 * kRounds);
}

TEST_P(Workers, ExceptionsInFlightMoveWithTheirTasks) {
  std::vector<Future<int>> tasks;
  for (int number = 0; number < 500; ++number)
    tasks.push_back(pool_.spawn([this, number] {
      try {
        try {
          throw std::to_string(number);
        } catch (const std::string& caught) {
          auto other = pool_.spawn(
              [caught] {
                try {
                  throw 1;
                } catch (int) {
                  return std::stoi(caught);
                }
              },
              {.worker = number});
          EXPECT_EQ(other.get(), number);
          throw;
        }
      } catch (const std::string& caught) {
        return std::stoi(caught);
      }
    }));
  for (int number = 0; number < 500; ++number)
    EXPECT_EQ(tasks[static_cast<std::size_t>(number)].get(), number);
}

TEST_P(Workers, ALatchMayEndWithTheWaitForIt) {
  for (int round = 0; round < 300; ++round) {
    auto latch = std::make_unique<Latch>(3);
    std::vector<Future<void>> tasks;
    for (int task = 0; task < 3; ++task)
      tasks.push_back(pool_.spawn([&latch = *latch] { latch.count_down(); }));
    if (round % 2 == 0)
      latch->wait();
    else
      pool_.spawn([&latch = *latch] { latch.wait(); }).get();
    latch.reset();
    for (auto& task : tasks) task.get();
  }
}

TEST_P(Workers, ValuesAndDeadlinesMeet) {
  std::vector<Future<int>> tasks;
  std::vector<Promise<int>> promises(300);
  for (int number = 0; number < 300; ++number)
    tasks.push_back(
        pool_.spawn([future = promises[static_cast<std::size_t>(number)].future(), number]() mutable -> int {
          const auto deadline = Waiter::Clock::now() + std::chrono::microseconds(number * 3);
          int expired = 0;
          while (!future.state().wait_until(deadline, std::source_location::current())) {
            ++expired;
            future.wait();
          }
          return future.get() + 1000 * std::min(expired, 1);
        }));
  for (int number = 0; number < 300; ++number) promises[static_cast<std::size_t>(number)].set(number);
  for (int number = 0; number < 300; ++number)
    EXPECT_EQ(tasks[static_cast<std::size_t>(number)].get() % 1000, number);
}

TEST_P(Workers, MoreTasksMayBlockThanThereAreWorkers) {
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0;
  std::vector<Future<int>> tasks;
  for (int number = 0; number < 10; ++number)
    tasks.push_back(pool_.spawn([&, number] {
      return blocking([&] {
        std::unique_lock lock(mutex);
        ++arrived;
        changed.notify_all();
        changed.wait(lock, [&] { return arrived == 10; });
        return number;
      });
    }));
  for (int number = 0; number < 10; ++number)
    EXPECT_EQ(tasks[static_cast<std::size_t>(number)].get(), number);
}

TEST_P(Workers, BlockingBeyondTheSpareThreadsBlocksWorkersOnly) {
  std::vector<Future<void>> tasks;
  for (int number = 0; number < 300; ++number)
    tasks.push_back(
        pool_.spawn([] { blocking([] { std::this_thread::sleep_for(std::chrono::microseconds(200)); }); }));
  for (auto& task : tasks) task.get();
}

INSTANTIATE_TEST_SUITE_P(Counts, Workers, testing::Values(1, 2, 4),
                         [](const auto& instance) { return std::to_string(instance.param); });

TEST(Pools, TasksOfOneWaitForTasksOfAnother) {
  Pool one(2);
  Pool two(2);
  std::vector<Future<int>> tasks;
  for (int number = 0; number < 200; ++number)
    tasks.push_back(one.spawn([&, number] {
      const int half = two.spawn([&, number] { return one.spawn([number] { return number; }).get(); }).get();
      EXPECT_EQ(Scheduler::current(), &one.pool());
      return half + two.spawn([number] { return number; }).get();
    }));
  for (int number = 0; number < 200; ++number)
    EXPECT_EQ(tasks[static_cast<std::size_t>(number)].get(), 2 * number);
}

TEST(Pools, APoolMayEndInATaskOfAnother) {
  Pool outer(1);
  EXPECT_EQ(outer
                .spawn([] {
                  Pool inner(2);
                  return inner.spawn([&] { return chain(inner, 10); }).get();
                })
                .get(),
            10);
  EXPECT_EQ(outer.spawn([&] { return chain(outer, 10); }).get(), 10);
}

TEST(Pools, HintsChooseTheWorker) {
  Pool pool(2);
  std::set<unsigned> numbers;
  for (int round = 0; round < 100; ++round)
    numbers.insert(pool.spawn([&] { return pool.pool().worker_number(); }, {.worker = round}).get());
  EXPECT_LE(numbers.size(), 2U);
}

TEST(Pools, TasksOfHighPriorityComeFirst) {
  Pool pool(1);
  std::string order;
  pool.spawn([&] {
        auto low = pool.spawn([&] { order += 'l'; }, {Priority::low});
        auto normal = pool.spawn([&] { order += 'n'; });
        auto high = pool.spawn([&] { order += 'h'; }, {Priority::high});
        low.get();
        normal.get();
        high.get();
      })
      .get();
  EXPECT_EQ(order.size(), 3U);
  EXPECT_LT(order.find('h'), order.find('n'));
}

TEST(Pools, ATaskThatTakesTooMuchOfItsStackEndsTheProcess) {
  if (kIsSanitized) GTEST_SKIP() << "sanitizers have signal handlers of their own";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        Pool pool(1, 64 << 10);
        pool.spawn([] {
              volatile char large[200 << 10];
              for (std::size_t place = 0; place < sizeof large; place += 4096) large[place] = 1;
            })
            .get();
      },
      "");
}

TEST(Latches, OpenWithTheLastArrivalAndForAllWhoWait) {
  Latch latch(3);
  std::atomic<bool> has_come{false};
  std::atomic<int> early{0};
  std::vector<std::thread> waiting;
  for (int number = 0; number < 2; ++number)
    waiting.emplace_back([&] {
      latch.wait();
      if (!has_come.load()) ++early;
    });
  // Those who wait have time to begin, and to go on too early.
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  pause();
  latch.count_down(2);
  EXPECT_FALSE(latch.try_wait());
  pause();
  has_come = true;
  latch.count_down();
  for (std::thread& thread : waiting) thread.join();
  EXPECT_EQ(early, 0);
}

TEST(Latches, RefuseWhatMakesNoSense) {
  EXPECT_THROW(Latch(-1), Error);
  Latch latch(1);
  EXPECT_THROW(latch.count_down(2), Error);
  latch.count_down();
  EXPECT_TRUE(latch.try_wait());
}

}  // namespace
}  // namespace weft::parcel
