// What tasks that wait promise, in every configuration: a task that waits keeps no other from running.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "conformance/parcel/over_parcelports.hpp"

namespace weft::parcel {
namespace {

class Waiting : public test::OverParcelports {};

int plus_one(int value) { return value + 1; }

long fib(Runtime& runtime, int number) {
  if (number < 2) return number;
  auto left = runtime.spawn([&runtime, number] { return fib(runtime, number - 1); });
  const long right = fib(runtime, number - 2);
  return left.get() + right;
}

TEST_P(Waiting, TasksWaitForTasksThatTheyHaveMade) {
  run(1, [](Runtime& runtime) { EXPECT_EQ(runtime.run([&] { return fib(runtime, 18); }), 2584); });
}

/// Two parts of a domain, as tasks that exchange a value in every step.
double part(ChannelTo<double>& to, Channel<double>& from, std::uint64_t steps) {
  double mine = 1;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    to.set(step, mine);
    mine = 0.5 * (mine + from.get(step).get());
  }
  return mine;
}

TEST_P(Waiting, TasksOfOneRankWaitForEachOther) {
  run(2, [](Runtime& runtime) {
    constexpr std::uint64_t kSteps = 100;
    Channel<double> into_a(runtime, 1);
    Channel<double> into_b(runtime, 2);
    ChannelTo<double> to_a(runtime, runtime.rank(), 1);
    ChannelTo<double> to_b(runtime, runtime.rank(), 2);
    auto a = runtime.spawn([&] { return part(to_b, into_a, kSteps); });
    auto b = runtime.spawn([&] { return part(to_a, into_b, kSteps); });
    EXPECT_EQ(a.get(), 1.0);
    EXPECT_EQ(b.get(), 1.0);
  });
}

TEST_P(Waiting, StencilOfManyPartsOverRanks) {
  run(2, [](Runtime& runtime) {
    // Parts 0 to 5, the even ones on rank 0; each wants both neighbours of the step before.
    constexpr int kParts = 6;
    constexpr std::uint64_t kSteps = 30;
    const auto rank_of = [](int place) { return place % 2; };
    const auto name = [](int to, bool is_from_left) {
      return static_cast<std::uint64_t>(2 * to + (is_from_left ? 1 : 0));
    };
    std::vector<Future<long>> parts;
    runtime.barrier();
    for (int place = runtime.rank(); place < kParts; place += 2)
      parts.push_back(runtime.spawn([&runtime, place, rank_of, name] {
        const int left = (place + kParts - 1) % kParts;
        const int right = (place + 1) % kParts;
        Channel<long> from_left(runtime, name(place, true));
        Channel<long> from_right(runtime, name(place, false));
        ChannelTo<long> to_left(runtime, rank_of(left), name(left, false));
        ChannelTo<long> to_right(runtime, rank_of(right), name(right, true));
        long mine = place;
        for (std::uint64_t step = 0; step < kSteps; ++step) {
          to_left.set(step, mine);
          to_right.set(step, mine);
          mine = (from_left.get(step).get() + from_right.get(step).get() + mine) % 1009;
        }
        return mine;
      }));
    std::array<long, kParts> expected{};
    for (int place = 0; place < kParts; ++place) expected[static_cast<std::size_t>(place)] = place;
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      const auto before = expected;
      for (std::size_t place = 0; place < kParts; ++place)
        expected[place] =
            (before[(place + kParts - 1) % kParts] + before[(place + 1) % kParts] + before[place]) % 1009;
    }
    for (int place = runtime.rank(); place < kParts; place += 2)
      EXPECT_EQ(parts[static_cast<std::size_t>(place / 2)].get(), expected[static_cast<std::size_t>(place)]);
  });
}

TEST_P(Waiting, AMutexIsHeldWhileItsTaskWaits) {
  run(2, [](Runtime& runtime) {
    Mutex mutex;
    long total = 0;
    std::vector<Future<void>> tasks;
    for (int number = 0; number < 100; ++number)
      tasks.push_back(runtime.spawn([&, number] {
        const std::lock_guard lock(mutex);
        const long before = total;
        const int answer = runtime.async(1 - runtime.rank(), action<&plus_one>, number).get();
        EXPECT_EQ(total, before) << "another task has had the mutex";
        total = before + answer;
      }));
    for (auto& task : tasks) task.get();
    EXPECT_EQ(total, 5050);
    runtime.barrier();
  });
}

std::mutex lock_of_calls;
std::atomic<long> sum_of_calls{0};
void add_with_lock(Runtime& runtime, int caller, int value) {
  const std::lock_guard lock(lock_of_calls);
  const long before = sum_of_calls;
  const int answer = runtime.async(caller, action<&plus_one>, value).get();
  EXPECT_EQ(sum_of_calls, before) << "another call has had the mutex";
  sum_of_calls = before + answer;
}

TEST_P(Waiting, AStdMutexIsHeldWhileItsTaskWaitsThoughItBlocksAllWorkers) {
  run(2, [](Runtime& runtime) {
    std::mutex mutex;
    long total = 0;
    std::vector<Future<void>> tasks;
    for (int number = 0; number < 150; ++number)
      tasks.push_back(runtime.spawn([&, number] {
        const std::lock_guard lock(mutex);
        const long before = total;
        const int answer = runtime.async(1 - runtime.rank(), action<&plus_one>, number).get();
        EXPECT_EQ(total, before) << "another task has had the mutex";
        total = before + answer;
      }));
    for (auto& task : tasks) task.get();
    EXPECT_EQ(total, 150 * 151 / 2);
    runtime.barrier();
  });
}

TEST_P(Waiting, CallsHoldAStdMutexWhileTheyCallBack) {
  sum_of_calls = 0;
  run(2, [](Runtime& runtime) {
    // The ranks are threads of this process: one mutex for both.
    for (int number = 0; number < 100; ++number)
      runtime.apply(1 - runtime.rank(), action<&add_with_lock>, runtime.rank(), number);
    runtime.wait_quiet();
  });
  EXPECT_EQ(sum_of_calls, 2 * 5050);
}

TEST_P(Waiting, ABarrierInsideATask) {
  run(3, [](Runtime& runtime) {
    std::atomic<int> others{0};
    auto waits = runtime.spawn([&] {
      for (int round = 0; round < 20; ++round) runtime.barrier();
      return 1;
    });
    for (int number = 0; number < 50; ++number) runtime.spawn([&] { ++others; }).get();
    EXPECT_EQ(waits.get(), 1);
    EXPECT_EQ(others, 50);
  });
}

TEST_P(Waiting, AnExceptionInFlightStaysWithItsTask) {
  run(2, [](Runtime& runtime) {
    std::vector<Future<int>> tasks;
    for (int number = 0; number < 200; ++number)
      tasks.push_back(runtime.spawn([&runtime, number] {
        try {
          try {
            throw number;
          } catch (int) {
            // Other tasks, in this thread, throw and catch meanwhile; this one may go on in another.
            const int answer = runtime.async(1 - runtime.rank(), action<&plus_one>, number).get();
            EXPECT_EQ(answer, number + 1);
            EXPECT_NE(std::current_exception(), nullptr);
            throw;
          }
        } catch (int caught) {
          return caught;
        }
      }));
    for (int number = 0; number < 200; ++number)
      EXPECT_EQ(tasks[static_cast<std::size_t>(number)].get(), number);
    runtime.barrier();
  });
}

/// Waits in a destructor that unwinding runs.
struct WaitsAtTheEnd {
  Runtime& runtime;
  ~WaitsAtTheEnd() {
    EXPECT_EQ(std::uncaught_exceptions(), 1);
    EXPECT_EQ(runtime.async(1 - runtime.rank(), action<&plus_one>, 1).get(), 2);
    EXPECT_EQ(std::uncaught_exceptions(), 1);
  }
};

TEST_P(Waiting, ADestructorWaitsWhileAnExceptionUnwindsIt) {
  run(2, [](Runtime& runtime) {
    std::vector<Future<int>> tasks;
    for (int number = 0; number < 50; ++number)
      tasks.push_back(runtime.spawn([&runtime, number] {
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        try {
          const WaitsAtTheEnd guard{runtime};
          throw number;
        } catch (int caught) {
          return caught;
        }
      }));
    for (int number = 0; number < 50; ++number)
      EXPECT_EQ(tasks[static_cast<std::size_t>(number)].get(), number);
    runtime.barrier();
  });
}

TEST_P(Waiting, ForeignThreadsAndTasksShareMutexConditionAndLatch) {
  run(1, [](Runtime& runtime) {
    Mutex mutex;
    ConditionVariable changed;
    std::vector<int> box;
    constexpr int kItems = 300;
    const auto produce = [&](int first) {
      for (int item = first; item < first + kItems; ++item) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return box.size() < 4; });
        box.push_back(item);
        changed.notify_all();
      }
    };
    const auto consume = [&](int count) {
      long sum = 0;
      for (int item = 0; item < count; ++item) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return !box.empty(); });
        sum += box.back();
        box.pop_back();
        changed.notify_all();
      }
      return sum;
    };
    Latch latch(4);
    long sum_of_thread = 0;
    std::thread producer([&] {
      produce(0);
      latch.arrive_and_wait();
    });
    std::thread consumer([&] {
      sum_of_thread = consume(kItems);
      latch.arrive_and_wait();
    });
    auto produced = runtime.spawn([&] {
      produce(kItems);
      latch.arrive_and_wait();
    });
    auto consumed = runtime.spawn([&] {
      const long sum = consume(kItems);
      latch.arrive_and_wait();
      return sum;
    });
    produced.get();
    const long sum = consumed.get();
    producer.join();
    consumer.join();
    EXPECT_EQ(sum + sum_of_thread, 2L * kItems * (2 * kItems - 1) / 2);
  });
}

TEST_P(Waiting, DeadlinesEndWaits) {
  using std::chrono::milliseconds;
  run(1, [](Runtime& runtime) {
    const auto late = [&runtime] {
      Mutex mutex;
      ConditionVariable never;
      std::unique_lock lock(mutex);
      EXPECT_EQ(never.wait_for(lock, milliseconds(5)), std::cv_status::timeout);
      EXPECT_TRUE(lock.owns_lock());
      auto other = runtime.spawn([&] { return mutex.try_lock_for(milliseconds(5)); });
      EXPECT_FALSE(other.get());
      EXPECT_FALSE(never.wait_for(lock, milliseconds(5), [] { return false; }));
      lock.unlock();
      EXPECT_TRUE(runtime.run([&] { return mutex.try_lock_for(std::chrono::hours(24 * 365 * 1000)); }));
      mutex.unlock();
    };
    runtime.run(late);
    late();  // this thread is no worker
  });
}

TEST_P(Waiting, NotificationsAndDeadlinesMeet) {
  run(1, [](Runtime& runtime) {
    // The mutex is handed over at about the time at which its next owner gives up.
    Mutex mutex;
    std::atomic<int> had{0};
    std::vector<Future<void>> tasks;
    for (int number = 0; number < 200; ++number)
      tasks.push_back(runtime.spawn([&, number] {
        if (!mutex.try_lock_for(std::chrono::microseconds(number))) return;
        ++had;
        runtime.spawn([] {}).get();
        mutex.unlock();
      }));
    for (auto& task : tasks) task.get();
    EXPECT_TRUE(mutex.try_lock());
    EXPECT_GE(had, 1);
    mutex.unlock();
  });
}

TEST_P(Waiting, ABlockedThreadDoesNotBlockItsWorker) {
  run(1, [](Runtime& runtime) {
    std::vector<Future<int>> tasks;
    std::atomic<bool> is_open{false};
    for (int number = 0; number < 5; ++number)
      tasks.push_back(runtime.spawn([&, number] {
        const int got = blocking([&] {
          EXPECT_EQ(Runtime::current(), nullptr);
          while (!is_open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return number;
        });
        EXPECT_EQ(Runtime::current(), &runtime);
        return got;
      }));
    // Runs although more tasks block than there are workers.
    runtime.run([&] { is_open = true; });
    for (int number = 0; number < 5; ++number)
      EXPECT_EQ(tasks[static_cast<std::size_t>(number)].get(), number);
    EXPECT_THROW(runtime.run([] { blocking([]() -> int { throw std::runtime_error("no"); }); }),
                 std::runtime_error);
  });
}

TEST_P(Waiting, NoPriorityStarvesAnother) {
  run(1, [](Runtime& runtime) {
    // A task of each kind, which tasks of high and of normal priority do not keep from running.
    for (const SpawnOptions& options :
         {SpawnOptions{Priority::low}, SpawnOptions{Priority::normal}, SpawnOptions{Priority::high},
          SpawnOptions{.worker = 0}, SpawnOptions{.worker = 1}}) {
      std::atomic<bool> has_run{false};
      runtime.run([&] {
        auto given = runtime.spawn([&] { has_run = true; }, options);
        auto busy = runtime.spawn([&] {
          while (!has_run) runtime.spawn([] {}, {Priority::high}).get();
        });
        while (!has_run) runtime.spawn([] {}).get();
        given.get();
        busy.get();
      });
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Configurations, Waiting, testing::ValuesIn(test::settings_of_waits()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace weft::parcel
