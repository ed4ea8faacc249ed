// What every configuration of the parcel runtime promises.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "support/parcel_ranks.hpp"

namespace weft::parcel {
namespace {

using test::ParcelSettings;
using test::run_parcel_ranks;

class Parcels : public testing::TestWithParam<ParcelSettings> {
 protected:
  static void run(int ranks, const std::function<void(Runtime&)>& main) {
    run_parcel_ranks(ranks, GetParam(), main);
  }
};

int twice(int value) { return 2 * value; }
double sum_of(std::vector<double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }
std::vector<double> halves(std::vector<double> values) {
  for (double& value : values) value /= 2;
  return values;
}

TEST_P(Parcels, CallsAFunctionAndReturnsItsResult) {
  run(2, [](Runtime& runtime) {
    const int other = 1 - runtime.rank();
    EXPECT_EQ(runtime.async(other, action<&twice>, 21).get(), 42);
    EXPECT_EQ(runtime.async(runtime.rank(), action<&twice>, 4).get(), 8);
    EXPECT_EQ(runtime.async(other, [](Runtime& there) { return there.rank(); }).get(), other);
  });
}

TEST_P(Parcels, ConvertsArgumentsToTheActionsTypes) {
  run(2, [](Runtime& runtime) {
    const auto half = [](double value) { return value / 2; };
    EXPECT_EQ(runtime.async(1 - runtime.rank(), half, 7).get(), 3.5);
  });
}

TEST_P(Parcels, MovesLongArraysBothWays) {
  run(2, [](Runtime& runtime) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1023}, std::size_t{1024},
                                   std::size_t{3000}, std::size_t{5000}, std::size_t{1} << 20}) {
      std::vector<double> values(size);
      std::iota(values.begin(), values.end(), 1.0);
      const double expected = sum_of(values);
      EXPECT_EQ(runtime.async(1 - runtime.rank(), action<&sum_of>, values).get(), expected) << size;
      const std::vector<double> result =
          runtime.async(1 - runtime.rank(), action<&halves>, std::move(values)).get();
      ASSERT_EQ(result.size(), size);
      EXPECT_EQ(sum_of(result), expected / 2) << size;
    }
  });
}

Array<double> halves_of(Array<double> values) {
  for (double& value : values) value /= 2;
  return values;
}
std::mutex kept_mutex;
std::vector<Array<double>> kept;
void keep(std::vector<Array<double>> arrays) {
  const std::lock_guard lock(kept_mutex);
  for (Array<double>& array : arrays) kept.push_back(std::move(array));
}

TEST_P(Parcels, MovesArraysThatAreNotCopied) {
  run(2, [](Runtime& runtime) {
    for (const std::size_t size : {0, 1, 1023, 1024, 2048, 3000, 5000, 1 << 20}) {
      Array<double> values(size);
      std::iota(values.begin(), values.end(), 1.0);
      const Array<double> result =
          runtime.async(1 - runtime.rank(), action<&halves_of>, std::move(values)).get();
      ASSERT_EQ(result.size(), size);
      for (std::size_t index = 0; index < size; ++index)
        ASSERT_EQ(result[index], (static_cast<double>(index) + 1) / 2);
    }
  });
}

TEST_P(Parcels, LeavesArraysThatAreKeptWhenItEnds) {
  // More than a peer may hold packets of, alone and several in a message.
  constexpr std::size_t kMessages = 150;
  kept.clear();
  run(2, [](Runtime& runtime) {
    for (std::size_t number = 0; number < kMessages; ++number) {
      std::vector<Array<double>> arrays;
      for (std::size_t size : {1024, 1500, 20'000})
        if (size == 1500 || number % 3 == 0) arrays.emplace_back(size, static_cast<double>(number));
      runtime.apply(1 - runtime.rank(), action<&keep>, std::move(arrays));
    }
  });
  std::map<std::pair<std::size_t, double>, int> seen;
  for (const Array<double>& array : kept) {
    ASSERT_FALSE(array.empty());
    for (const double value : array) ASSERT_EQ(value, array.front());
    ++seen[{array.size(), array.front()}];
  }
  if (kept.empty()) GTEST_SKIP() << "no rank of a job of two is here";
  const int ranks = seen.begin()->second;  // of this process
  EXPECT_EQ(seen.size(), kMessages + 2 * kMessages / 3);
  for (const auto& [what, count] : seen) EXPECT_EQ(count, ranks) << what.first << " " << what.second;
  kept.clear();
}

TEST_P(Parcels, MovesThousandsOfChunksAndNestedContainers) {
  using Nested = std::map<std::string, std::vector<std::vector<std::uint32_t>>>;
  run(2, [](Runtime& runtime) {
    Nested nested;
    std::uint64_t expected = 0;
    for (std::uint32_t row = 0; row < 3000; ++row) {
      auto& rows = nested["row " + std::to_string(row % 7)];
      rows.emplace_back(row % 3 == 0 ? 2048 + row : row % 5, row);
      expected += rows.back().size() * row;
    }
    const auto total = [](const Nested& all) {
      std::uint64_t sum = 0;
      for (const auto& [name, rows] : all)
        for (const auto& row : rows) sum = std::accumulate(row.begin(), row.end(), sum);
      return sum;
    };
    EXPECT_EQ(runtime.async(1 - runtime.rank(), total, std::move(nested)).get(), expected);
  });
}

TEST_P(Parcels, ThrowsHereWhatTheActionThrowsThere) {
  run(2, [](Runtime& runtime) {
    const int other = 1 - runtime.rank();
    const auto fail = [](int value) -> int {
      throw std::runtime_error("no such thing as " + std::to_string(value));
    };
    try {
      runtime.async(other, fail, 5).get();
      FAIL() << "did not throw";
    } catch (const RemoteError& error) {
      EXPECT_EQ(error.rank(), other);
      EXPECT_EQ(std::string(error.what()), "rank " + std::to_string(other) + ": no such thing as 5");
    }
    EXPECT_THROW(runtime.async(runtime.rank(), fail, 5).get(), std::runtime_error);
    EXPECT_EQ(runtime.async(other, action<&twice>, 1).get(), 2) << "the runtime goes on";
  });
}

TEST_P(Parcels, RefusesARankThatDoesNotExist) {
  run(2, [](Runtime& runtime) {
    try {
      runtime.apply(3, action<&twice>, 1);
      FAIL() << "did not throw";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "rank 3 was called; the job has ranks 0 to 1");
    }
  });
}

std::atomic<std::uint64_t> counted[4];
void count(Runtime& runtime, std::uint64_t value) {
  counted[runtime.rank()].fetch_add(value, std::memory_order_relaxed);
}

TEST_P(Parcels, RunsEveryParcelBeforeItEnds) {
  for (auto& count : counted) count = 0;
  constexpr std::uint64_t kParcels = 3000;
  std::atomic<bool> is_here[3]{};
  run(3, [&](Runtime& runtime) {
    is_here[runtime.rank()] = true;
    runtime.run([&] {
      for (std::uint64_t number = 1; number <= kParcels; ++number)
        for (int rank = 0; rank < runtime.size(); ++rank) runtime.apply(rank, action<&count>, number);
    });
    // Destroyed with parcels in flight.
  });
  for (int rank = 0; rank < 3; ++rank)
    if (is_here[rank]) {
      EXPECT_EQ(counted[rank], 3 * kParcels * (kParcels + 1) / 2);
    }
}

void spread(Runtime& runtime, int depth) {
  count(runtime, 1);
  if (depth == 0) return;
  runtime.apply((runtime.rank() + 1) % runtime.size(), action<&spread>, depth - 1);
  runtime.apply(runtime.rank(), action<&spread>, depth - 1);
}

TEST_P(Parcels, FindsTheEndOfParcelsThatMakeParcels) {
  for (auto& count : counted) count = 0;
  run(3, [](Runtime& runtime) {
    const auto count_there = [](Runtime& there) { return counted[there.rank()].load(); };
    if (runtime.rank() == 1) runtime.apply(2, action<&spread>, 9);
    runtime.wait_quiet();
    std::uint64_t total = 0;
    for (int rank = 0; rank < 3; ++rank) total += runtime.async(rank, count_there).get();
    EXPECT_EQ(total, 1023U);
    runtime.barrier();
  });
}

TEST_P(Parcels, TakesActionsFromManyThreads) {
  for (auto& count : counted) count = 0;
  run(2, [](Runtime& runtime) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&] {
        for (int number = 0; number < 300; ++number) {
          runtime.apply(1 - runtime.rank(), action<&count>, std::uint64_t{1});
          if (number % 50 == 0) {
            EXPECT_EQ(runtime.async(1 - runtime.rank(), action<&twice>, number).get(), 2 * number);
          }
        }
      });
    for (auto& thread : threads) thread.join();
    runtime.wait_quiet();
    EXPECT_EQ(counted[runtime.rank()], 1200U);
    runtime.barrier();
  });
}

Future<int> fibonacci(Runtime& runtime, int n) {
  if (n < 2) co_return n;
  auto first = runtime.async((runtime.rank() + 1) % runtime.size(), action<&fibonacci>, n - 1);
  auto second = runtime.async(runtime.rank(), action<&fibonacci>, n - 2);
  const int sum = co_await first + co_await second;
  co_return sum;
}

TEST_P(Parcels, AwaitsRemoteActionsInCoroutines) {
  run(2, [](Runtime& runtime) {
    EXPECT_EQ(runtime.async(1 - runtime.rank(), action<&fibonacci>, 10).get(), 55);
  });
}

int deep(Runtime& runtime, int depth) {
  return depth == 0 ? 0 : 1 + runtime.async(1 - runtime.rank(), action<&deep>, depth - 1).get();
}

TEST_P(Parcels, RunsOthersWhileAnActionWaits) {
  run(2, [](Runtime& runtime) { EXPECT_EQ(runtime.async(1 - runtime.rank(), action<&deep>, 40).get(), 40); });
}

void spin_until_set(Runtime& runtime, std::uint64_t flag) {
  auto& is_set = *reinterpret_cast<std::atomic<bool>*>(flag);
  if (!is_set) runtime.apply(runtime.rank(), action<&spin_until_set>, flag);
}

TEST_P(Parcels, TasksThatMakeTasksStarveNoOther) {
  run(2, [](Runtime& runtime) {
    std::atomic<bool> is_set{false};
    runtime.run([&] {
      static_cast<void>(runtime.spawn([&] { is_set = true; }));
      for (unsigned worker = 0; worker < runtime.workers(); ++worker)
        runtime.apply(runtime.rank(), action<&spin_until_set>, reinterpret_cast<std::uint64_t>(&is_set));
    });
    runtime.wait_quiet();
    EXPECT_TRUE(is_set);
    runtime.barrier();
  });
}

TEST_P(Parcels, GivesChannelValuesByGeneration) {
  run(3, [](Runtime& runtime) {
    const int size = runtime.size();
    const int from = (runtime.rank() + size - 1) % size;
    ChannelTo<std::vector<int>> out(runtime, (runtime.rank() + 1) % size, 5);
    for (int generation = 9; generation >= 0; --generation)
      out.set(static_cast<std::uint64_t>(generation),
              std::vector<int>(3000, 100 * runtime.rank() + generation));
    Channel<std::vector<int>> in(runtime, 5, from);
    for (int generation = 0; generation < 10; ++generation) {
      const auto values = in.get(static_cast<std::uint64_t>(generation)).get();
      ASSERT_EQ(values.size(), 3000U);
      EXPECT_EQ(values[2999], 100 * from + generation);
    }
  });
}

class Account {
 public:
  explicit Account(int balance) : balance_(balance) { living_.fetch_add(1); }
  ~Account() { living_.fetch_sub(1); }
  int add(int amount) { return balance_ += amount; }
  [[nodiscard]] static int living() { return living_; }

 private:
  int balance_;
  static inline std::atomic<int> living_{0};
};

int add_to(Object<Account> account, int amount) { return account.async(action<&Account::add>, amount).get(); }

TEST_P(Parcels, KeepsARemoteObjectWhileSomebodyNamesIt) {
  run(3, [](Runtime& runtime) {
    if (runtime.rank() == 0) {
      auto account = make_object<Account>(runtime, 1, 100).get();
      EXPECT_EQ(account.async(action<&Account::add>, 5).get(), 105);
      EXPECT_EQ(runtime.async(2, action<&add_to>, account, 10).get(), 115);
      EXPECT_EQ(runtime.async(1, action<&Account::living>).get(), 1);
    }
    runtime.wait_quiet();
    EXPECT_EQ(Account::living(), 0);
    runtime.barrier();
  });
}

TEST_P(Parcels, CountsWhatItDoes) {
  run(2, [](Runtime& runtime) {
    for (int number = 0; number < 10; ++number)
      EXPECT_EQ(runtime.async(1 - runtime.rank(), action<&twice>, number).get(), 2 * number);
    runtime.wait_quiet();
    const ParcelCounters counters = runtime.counters();
    EXPECT_EQ(counters.sent, 20U);
    EXPECT_EQ(counters.received, 20U);
    EXPECT_EQ(counters.malformed, 0U);
    runtime.barrier();
  });
}

std::vector<ParcelSettings> settings_of_mpi() {
  if (!test::is_rank_of_mpi()) return {};
  return {{"adaptive", false, Aggregation::adaptive, 1, 1, "mpi"},
          {"immediate", false, Aggregation::immediate, 2, 1, "mpi"},
          {"queued", false, Aggregation::queued, 1, 1, "mpi"},
          {"original", false, Aggregation::immediate, 1, 1, "mpi-original"},
          {"original_queued", false, Aggregation::queued, 2, 1, "mpi-original"},
          {"short_headers", false, Aggregation::adaptive, 1, 1, "mpi", "zero_copy=16"}};
}
// Empty unless mpiexec has started the process, see tests/multiprocess/parcel.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Parcels);
INSTANTIATE_TEST_SUITE_P(Mpi, Parcels, testing::ValuesIn(settings_of_mpi()),
                         [](const auto& instance) { return std::string(instance.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Variants, Parcels,
    testing::Values(
        ParcelSettings{"put_queue", false, Aggregation::immediate, 2, 1, "putsendrecv"},
        ParcelSettings{"put_queue_adaptive", false, Aggregation::adaptive, 1, 1, "putsendrecv"},
        ParcelSettings{"put_synchronizer", false, Aggregation::queued, 2, 1, "putsendrecv",
                       "followup_completion=synchronizer"},
        ParcelSettings{"put_pinned", false, Aggregation::immediate, 1, 1, "putsendrecv", "progress=pinned"},
        ParcelSettings{"put_two_devices", false, Aggregation::adaptive, 2, 2, "putsendrecv",
                       "progress=thread"},
        ParcelSettings{"put_own", false, Aggregation::immediate, 2, 2, "putsendrecv",
                       "followup_devices=own,retries=own"},
        ParcelSettings{"send_queue", false, Aggregation::immediate, 2, 1, "sendrecv"},
        ParcelSettings{"send_header_synchronizer", false, Aggregation::queued, 2, 1, "sendrecv",
                       "header_completion=synchronizer"},
        ParcelSettings{"send_synchronizers", false, Aggregation::adaptive, 1, 1, "sendrecv",
                       "header_completion=synchronizer,followup_completion=synchronizer"},
        ParcelSettings{"send_both", false, Aggregation::adaptive, 1, 1, "sendrecv", "progress=both"},
        ParcelSettings{"onepost_thread", false, Aggregation::adaptive, 1, 1, "weft", "progress=thread"},
        ParcelSettings{"onepost_pinned", false, Aggregation::queued, 2, 1, "weft", "progress=pinned"},
        ParcelSettings{"onepost_both", false, Aggregation::immediate, 2, 2, "weft", "progress=both"},
        ParcelSettings{"loopback_put", true, Aggregation::adaptive, 1, 1, "putsendrecv"},
        ParcelSettings{"loopback_send", true, Aggregation::immediate, 2, 1, "sendrecv"},
        ParcelSettings{"loopback_send_own", true, Aggregation::adaptive, 2, 1, "sendrecv",
                       "followup_devices=own,retries=own"},
        ParcelSettings{"loopback_send_synchronizers", true, Aggregation::queued, 1, 1, "sendrecv",
                       "header_completion=synchronizer,followup_completion=synchronizer"}),
    [](const auto& instance) { return std::string(instance.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Configurations, Parcels,
    testing::Values(ParcelSettings{"shm_adaptive", false, Aggregation::adaptive},
                    ParcelSettings{"shm_immediate", false, Aggregation::immediate},
                    ParcelSettings{"shm_queued", false, Aggregation::queued},
                    ParcelSettings{"shm_two_workers", false, Aggregation::adaptive, 2},
                    ParcelSettings{"shm_two_devices", false, Aggregation::adaptive, 2, 2},
                    ParcelSettings{"tcp_adaptive", false, Aggregation::adaptive, 1, 1, "tcp"},
                    ParcelSettings{"tcp_immediate", false, Aggregation::immediate, 1, 1, "tcp"},
                    ParcelSettings{"tcp_queued", false, Aggregation::queued, 2, 1, "tcp"},
                    ParcelSettings{"loopback_adaptive", true, Aggregation::adaptive},
                    ParcelSettings{"loopback_immediate", true, Aggregation::immediate},
                    ParcelSettings{"loopback_queued", true, Aggregation::queued, 2}),
    [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace weft::parcel
