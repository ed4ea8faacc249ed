// Schedules of tasks that wait, by seeds: whatever the order, everything ends, and a seed shows it again.
#include <gtest/gtest.h>

#include <weft/parcel/condition_variable.hpp>
#include <weft/parcel/future.hpp>
#include <weft/parcel/latch.hpp>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "parcel/tasks/worker_pool.hpp"
#include "unit/parcel/tasks/background_doubles.hpp"

namespace weft::parcel {
namespace {

/// Two pools, of two workers and of one, as ranks of one process have them.
class Simulated {
 public:
  explicit Simulated(std::uint64_t seed) : stepper_(seed) {
    for (const unsigned workers : {2U, 1U}) {
      pools_.push_back(
          std::make_unique<WorkerPool>(workers, std::size_t{128} << 10, quiet_, this, &stepper_));
      pools_.back()->start();
    }
  }
  template <class Function>
  auto spawn(std::size_t pool, Function function, const SpawnOptions& options = {}) {
    using Result = std::invoke_result_t<Function&>;
    Promise<Result> promise(pools_[pool].get());
    Future<Result> future = promise.future();
    auto call = [promise = std::move(promise), function = std::move(function)]() mutable noexcept {
      detail::fulfil(promise, [&]() -> Result { return function(); });
    };
    auto* const task = new detail::FunctionTask<decltype(call)>(std::move(call));
    future.state().set_maker(*task);
    pools_[pool]->schedule(*task, options);
    return future;
  }
  /// Runs `function()` as a task. False: it has not ended.
  template <class Function>
  [[nodiscard]] bool run(Function function) {
    auto future = spawn(0, std::move(function));
    if (!stepper_.run_until([&] { return future.ready(); }, 100'000)) return false;
    future.get();
    return true;
  }
  [[nodiscard]] std::uint64_t digest() const noexcept { return stepper_.digest(); }

 private:
  NoBackground quiet_;
  Stepper stepper_;
  std::vector<std::unique_ptr<WorkerPool>> pools_;
};

long fib(Simulated& pools, int number) {
  if (number < 2) return number;
  auto left =
      pools.spawn(static_cast<std::size_t>(number % 2), [&, number] { return fib(pools, number - 1); });
  const long right = fib(pools, number - 2);
  return left.get() + right;
}

/// Tasks over both pools that count under a mutex which they hold while they wait.
void mutex_over_get(Simulated& pools) {
  Mutex mutex;
  int total = 0;
  std::vector<Future<void>> tasks;
  for (int number = 0; number < 6; ++number)
    tasks.push_back(pools.spawn(static_cast<std::size_t>(number % 2), [&] {
      const std::lock_guard lock(mutex);
      const int before = total;
      total = pools.spawn(0, [before] { return before + 1; }).get();
      EXPECT_EQ(total, before + 1);
    }));
  for (auto& task : tasks) task.get();
  EXPECT_EQ(total, 6);
}

/// A buffer of one place between two producers and two consumers.
void condition_variable(Simulated& pools) {
  Mutex mutex;
  ConditionVariable changed;
  int full = 0;
  int taken = 0;
  std::vector<Future<void>> tasks;
  for (int side = 0; side < 4; ++side)
    tasks.push_back(pools.spawn(static_cast<std::size_t>(side / 2),
                                [&, produces = side % 2 == 0] {
                                  for (int item = 0; item < 3; ++item) {
                                    std::unique_lock lock(mutex);
                                    changed.wait(lock, [&] { return full == (produces ? 0 : 1); });
                                    full = produces ? 1 : 0;
                                    if (!produces) ++taken;
                                    lock.unlock();
                                    changed.notify_all();
                                  }
                                },
                                {side == 3 ? Priority::low : Priority::high}));
  for (auto& task : tasks) task.get();
  EXPECT_EQ(taken, 6);
}

void latch_and_catch(Simulated& pools) {
  Latch latch(4);
  int caught = 0;
  std::vector<Future<void>> tasks;
  for (int number = 0; number < 4; ++number)
    tasks.push_back(pools.spawn(static_cast<std::size_t>(number % 2),
                                [&, number] {
                                  try {
                                    try {
                                      throw number;
                                    } catch (int) {
                                      latch.arrive_and_wait();
                                      throw;
                                    }
                                  } catch (int thrown) {
                                    EXPECT_EQ(thrown, number);
                                    ++caught;
                                  }
                                },
                                {.worker = number}));
  for (auto& task : tasks) task.get();
  EXPECT_EQ(caught, 4);
}

void everything(Simulated& pools) {
  EXPECT_EQ(fib(pools, 5), 5);
  mutex_over_get(pools);
  condition_variable(pools);
  latch_and_catch(pools);
}

/// WEFT_TEST_SEED=7 shows the schedule of a seed again.
TEST(Stepper, EverythingEndsUnderTenThousandSeeds) {
  std::uint64_t first = 1;
  std::uint64_t last = 10'000;
  if (const char* const seed = std::getenv("WEFT_TEST_SEED")) first = last = std::strtoull(seed, nullptr, 10);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  else
    last = 300;
#endif
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Simulated pools(seed);
    ASSERT_TRUE(pools.run([&] { everything(pools); })) << "seed " << seed << " does not end";
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(Stepper, ASeedShowsItsScheduleAgain) {
  std::vector<std::uint64_t> digests;
  for (int round = 0; round < 2; ++round)
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Simulated pools(seed);
      ASSERT_TRUE(pools.run([&] { everything(pools); }));
      digests.push_back(pools.digest());
    }
  for (std::size_t seed = 0; seed < 20; ++seed) EXPECT_EQ(digests[seed], digests[seed + 20]) << seed;
  EXPECT_NE(digests[0], digests[1]);
}

/// Two tasks that take two mutexes in opposite orders: some schedules end, some do not, and a seed tells.
TEST(Stepper, FindsADeadlock) {
  const auto ends = [](std::uint64_t seed) {
    auto pools = std::make_unique<Simulated>(seed);
    auto mutexes = std::make_unique<std::array<Mutex, 2>>();
    const bool has_ended = pools->run([&pools = *pools, &mutexes = *mutexes] {
      std::vector<Future<void>> tasks;
      for (std::size_t task = 0; task < 2; ++task)
        tasks.push_back(pools.spawn(task, [&, task] {
          const std::lock_guard outer(mutexes[task]);
          pools.spawn(task, [] {}).get();
          const std::lock_guard inner(mutexes[1 - task]);
        }));
      for (auto& task : tasks) task.get();
    });
    if (!has_ended) {  // stays as it is
      static auto& stuck = *new std::vector<std::unique_ptr<Simulated>>;
      static auto& locked = *new std::vector<std::unique_ptr<std::array<Mutex, 2>>>;
      stuck.push_back(std::move(pools));
      locked.push_back(std::move(mutexes));
    }
    return has_ended;
  };
  int ended = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) ended += ends(seed) ? 1 : 0;
  EXPECT_GT(ended, 0);
  EXPECT_LT(ended, 20);
  EXPECT_EQ(ends(3), ends(3));
}

}  // namespace
}  // namespace weft::parcel
