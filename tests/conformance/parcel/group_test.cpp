// What collectives of tasks promise, in every number of ranks.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "conformance/parcel/over_parcelports.hpp"

namespace weft::parcel {
namespace {

using test::ParcelSettings;

class Groups : public test::OverParcelports {};

std::string concatenated(const std::string& left, const std::string& right) { return left + right; }

TEST_P(Groups, CombineInTheOrderOfTheMembers) {
  for (const int ranks : {1, 2, 3, 5, 6, 8}) {
    run(ranks, [ranks](Runtime& runtime) {
      const Group all(runtime);
      ASSERT_EQ(all.size(), ranks);
      ASSERT_EQ(all.index(), runtime.rank());
      const std::string own(1, static_cast<char>('a' + runtime.rank()));
      const std::string everything = std::string("abcdefgh").substr(0, static_cast<std::size_t>(ranks));
      EXPECT_EQ(all.allreduce(own, &concatenated).get(), everything);
      std::vector<int> squares;
      for (int rank = 0; rank < ranks; ++rank) squares.push_back(rank * rank);
      EXPECT_EQ(all.allgather(runtime.rank() * runtime.rank()).get(), squares);
      for (int root = 0; root < ranks; ++root) {
        const bool is_root = root == runtime.rank();
        EXPECT_EQ(all.broadcast(root, own).get(), std::string(1, static_cast<char>('a' + root)));
        const auto reduced = all.reduce(root, own, &concatenated).get();
        EXPECT_EQ(reduced.has_value(), is_root);
        EXPECT_EQ(reduced.value_or(everything), everything);
        EXPECT_EQ(all.gather(root, runtime.rank() * runtime.rank()).get(),
                  is_root ? squares : std::vector<int>());
      }
      all.barrier().get();
    });
  }
}

TEST_P(Groups, MoveLongArrays) {
  run(3, [](Runtime& runtime) {
    const Group all(runtime);
    std::vector<double> values(30'000, runtime.rank() + 1.0);
    const auto sums = all.allreduce(values,
                                    [](std::vector<double> left, const std::vector<double>& right) {
                                      for (std::size_t index = 0; index < left.size(); ++index)
                                        left[index] += right[index];
                                      return left;
                                    })
                          .get();
    EXPECT_EQ(sums, std::vector<double>(30'000, 6.0));
    EXPECT_EQ(
        runtime.rank() == 2 ? all.broadcast(2, values).get() : all.broadcast<std::vector<double>>(2).get(),
        std::vector<double>(30'000, 3.0));
  });
}

std::atomic<int> entered{0};
TEST_P(Groups, BarriersEndWhenAllHaveCome) {
  entered = 0;
  run(3, [](Runtime& runtime) {
    const Group all(runtime);
    for (int round = 1; round <= 20; ++round) {
      ++entered;
      all.barrier().get();
      if (runtime.size() == 3 && !GetParam().port.starts_with("mpi")) {
        EXPECT_GE(entered, 3 * round);
      }
      all.barrier().get();
    }
  });
}

TEST_P(Groups, ManyAreUnderWayAtOnce) {
  run(4, [](Runtime& runtime) {
    const Group all(runtime);
    std::vector<Future<int>> sums;
    for (int number = 0; number < 200; ++number)
      sums.push_back(all.allreduce(number + runtime.rank(), std::plus<>()));
    for (int number = 0; number < 200; ++number)
      EXPECT_EQ(sums[static_cast<std::size_t>(number)].get(), 4 * number + 6);
  });
}

TEST_P(Groups, TagsTellTasksApart) {
  run(3, [](Runtime& runtime) {
    const Group all(runtime);
    std::vector<Future<int>> tasks;
    for (int task = 0; task < 8; ++task)
      tasks.push_back(runtime.spawn([&, task] {
        const std::string tag = "task " + std::to_string(task);
        int sum = 0;
        for (int round = 0; round < 10; ++round) {
          sum += all.allreduce(task, std::plus<>(), {.tag = tag}).get();
          sum += all.broadcast(1, 100 * runtime.rank() + task, {.tag = tag}).get();
        }
        return sum;
      }));
    for (int task = 0; task < 8; ++task)
      EXPECT_EQ(tasks[static_cast<std::size_t>(task)].get(), 10 * (3 * task + 100 + task));
  });
}

TEST_P(Groups, OfSomeRanksInAnyOrder) {
  run(5, [](Runtime& runtime) {
    const Group all(runtime);
    if (runtime.rank() % 2 == 0) {
      const Group even(runtime, {4, 0, 2}, "even");
      const std::string own(1, static_cast<char>('a' + runtime.rank()));
      EXPECT_EQ(even.allreduce(own, &concatenated).get(), "eac");
      EXPECT_EQ(even.broadcast(2, own).get(), "c");
      EXPECT_EQ(even.reduce(0, own, &concatenated).get().value_or("eac"), "eac");
    } else {
      const Group odd(runtime, {1, 3});
      const Group named(runtime, {1, 3}, "named");
      // Two groups of the same ranks do not see each other.
      auto first = odd.allgather(runtime.rank());
      EXPECT_EQ(named.allgather(-runtime.rank()).get(), (std::vector<int>{-1, -3}));
      EXPECT_EQ(first.get(), (std::vector<int>{1, 3}));
    }
    all.barrier().get();
  });
}

TEST_P(Groups, AreAwaitedByCoroutines) {
  run(3, [](Runtime& runtime) {
    const auto count = [](Runtime& there) -> Future<int> {
      const Group all(there);
      int sum = 0;
      for (int round = 0; round < 50; ++round) sum += co_await all.allreduce(round, std::plus<>());
      co_return sum;
    };
    EXPECT_EQ(runtime.run([&] { return count(runtime); }), 3 * 49 * 25);
  });
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const CollectiveError& error) {
    return error.what();
  }
  return "(nothing thrown)";
}

TEST_P(Groups, TellAllMembersThatTheirCallsDiffer) {
  run(4, [](Runtime& runtime) {
    const Group all(runtime);
    const int rank = runtime.rank();
    // A member calls something else; only the root does; another type.
    const std::vector<std::string> texts{error_of([&] {
                                           if (rank == 2)
                                             all.barrier().get();
                                           else
                                             static_cast<void>(all.allreduce(rank, std::plus<>()).get());
                                         }),
                                         error_of([&] {
                                           if (rank == 0)
                                             static_cast<void>(all.reduce(0, rank, std::plus<>()).get());
                                           else
                                             static_cast<void>(all.broadcast<int>(0).get());
                                         }),
                                         error_of([&] {
                                           // Calls that differ reach rank 0 before it calls.
                                           if (rank == 0)
                                             std::this_thread::sleep_for(std::chrono::milliseconds(20));
                                           if (rank == 1)
                                             static_cast<void>(all.allreduce(1.5, std::plus<>()).get());
                                           else
                                             static_cast<void>(all.allreduce(1, std::plus<>()).get());
                                         })};
    for (const std::string& text : texts) {
      EXPECT_EQ(text.rfind("collective ", 0), 0U) << text;
      EXPECT_NE(text.find("all members call the same"), std::string::npos) << text;
    }
    EXPECT_NE(texts[0].find("of the group of ranks 0, 1, 2, 3: rank"), std::string::npos) << texts[0];
    EXPECT_NE(texts[2].find("of another type"), std::string::npos) << texts[2];
    EXPECT_EQ(all.allreduce(1, std::plus<>()).get(), 4) << "the group goes on";
  });
}

std::atomic<int> reported{0};
TEST_P(Groups, ReportRootsThatDiffer) {
  reported = 0;
  run(4, [](Runtime& runtime) {
    const Group all(runtime);
    // Both roots are done once they have sent; who waits behind them must not wait for ever.
    for (const auto& text :
         {error_of([&] { static_cast<void>(all.broadcast(runtime.rank() == 3 ? 3 : 1, 5).get()); }),
          error_of([&] { all.barrier().get(); })})
      if (text != "(nothing thrown)") ++reported;
  });
  if (!GetParam().port.starts_with("mpi")) {
    EXPECT_GT(reported, 0);
  }
}

TEST_P(Groups, EndOnAllMembersWhenAnOperationThrows) {
  run(3, [](Runtime& runtime) {
    const Group all(runtime);
    const auto refuse = [](int left, int right) -> int {
      if (left + right > 1) throw std::runtime_error("too much");
      return left + right;
    };
    const std::string text = [&] {
      try {
        return std::to_string(all.allreduce(runtime.rank(), refuse).get());
      } catch (const std::exception& error) {
        return std::string(error.what());
      }
    }();
    EXPECT_NE(text.find("too much"), std::string::npos) << text;
    EXPECT_EQ(all.allreduce(0, refuse).get(), 0);
  });
}

TEST_P(Groups, RefuseRanksThatCannotBe) {
  run(2, [](Runtime& runtime) {
    EXPECT_THROW(Group(runtime, {0, 1, 2}), Error);
    EXPECT_THROW(Group(runtime, {0, 1, 1}), Error);
    EXPECT_THROW(Group(runtime, {1 - runtime.rank()}), Error);
    const Group own(runtime, {runtime.rank()});
    EXPECT_THROW(static_cast<void>(own.broadcast(1 - runtime.rank(), 1)), Error);
    EXPECT_THROW(static_cast<void>(own.broadcast<int>(runtime.rank())), Error);
    EXPECT_EQ(own.allreduce(3, std::plus<>()).get(), 3);
  });
}

INSTANTIATE_TEST_SUITE_P(Configurations, Groups,
                         testing::Values(ParcelSettings{"shm_adaptive", false, Aggregation::adaptive},
                                         ParcelSettings{"shm_two_workers", false, Aggregation::adaptive, 2},
                                         ParcelSettings{"tcp_adaptive", false, Aggregation::adaptive, 1, 1,
                                                        "tcp"},
                                         ParcelSettings{"loopback_adaptive", true, Aggregation::adaptive}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace weft::parcel
