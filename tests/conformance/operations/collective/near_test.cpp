// Collectives that have been used often enough for the members of a host to share memory.
#include "conformance/operations/collective/every_kind.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::CollectiveJob;
using test::connect;
using test::elements;
using test::Ranks;
using test::sums;

class NearRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(of, NearRanks, testing::Values(2, 3, 6), testing::PrintToStringParamName());

TEST_P(NearRanks, get_what_every_kind_promises_at_each_length) {
  CollectiveJob job(GetParam());
  job.run([](Collective& all, int) {
    connect(all);
    std::uint64_t salt = 1;
    for (const std::size_t count : {0, 6, 7, 256, 257}) {
      const std::string wrong = test::EveryKind(all, count, ++salt).wrong();
      EXPECT_EQ(wrong, "") << "with " << count << " elements";
    }
  });
}

TEST_P(NearRanks, may_be_far_ahead_of_a_slow_one) {
  CollectiveJob job(GetParam());
  job.run([&](Collective& all, int rank) {
    connect(all);
    constexpr int kTurns = 300;
    for (int turn = 0; turn < kTurns; ++turn) {
      if (rank == all.size() - 1 && turn == 20) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      // Of a length that fills slots first, or the ring.
      auto values = rank == 0 ? elements(0, turn % 2 == 0 ? 3 : 200, static_cast<std::uint64_t>(turn))
                              : std::vector<std::uint64_t>(turn % 2 == 0 ? 3 : 200);
      EXPECT_EQ(all.broadcast(values, 0), Outcome::ok);
      EXPECT_EQ(values, elements(0, values.size(), static_cast<std::uint64_t>(turn)));
    }
    EXPECT_EQ(all.barrier(), Outcome::ok);
  });
}

TEST_P(NearRanks, wait_for_one_that_sleeps) {
  CollectiveJob job(GetParam());
  job.run([&](Collective& all, int rank) {
    connect(all);
    for (int turn = 0; turn < 3; ++turn) {
      if (rank == turn % all.size()) std::this_thread::sleep_for(std::chrono::milliseconds(60));
      std::vector<std::uint64_t> sum(5);
      EXPECT_EQ(all.allreduce(elements(rank, 5, 3), sum, operators::Sum{}), Outcome::ok);
      EXPECT_EQ(sum, sums(all.size(), 5, 3));
    }
  });
}

TEST_P(NearRanks, are_told_of_other_lengths_and_go_on) {
  CollectiveJob job(GetParam());
  std::barrier turn_over(GetParam());
  std::atomic<int> told{0};
  job.run([&](Collective& all, int rank) {
    connect(all);
    int expected = 0;
    // The second one is of messages that go another way, which takes a second or two to find.
    for (const std::size_t other : {4, 300}) {
      if (other == 300 && all.size() != 3) continue;
      expected += all.size();
      const std::size_t count = rank == all.size() - 1 ? other : 3;
      std::vector<std::uint64_t> mine(count, 1);
      std::vector<std::uint64_t> sum(count);
      bool is_told = false;
      const auto call = [&](const auto& collective) {
        try {
          static_cast<void>(collective());
        } catch (const Error&) {
          if (!std::exchange(is_told, true)) ++told;
        }
        turn_over.arrive_and_wait();
        const bool are_all_told = told == expected;
        turn_over.arrive_and_wait();
        return are_all_told;
      };
      // One that has ended the call before it could know is told at the end of a later one.
      if (call([&] { return all.allreduce(mine, sum, operators::Sum{}); })) continue;
      EXPECT_TRUE(test::until([&] { return call([&] { return all.barrier(); }); }, [] {}));
    }
    std::vector<std::uint64_t> sum(3);
    EXPECT_EQ(all.allreduce(elements(rank, 3, 9), sum, operators::Sum{}), Outcome::ok);
    EXPECT_EQ(sum, sums(all.size(), 3, 9));
  });
}

TEST_P(NearRanks, are_told_that_one_has_called_another_collective) {
  CollectiveJob job(GetParam());
  job.run([&](Collective& all, int rank) {
    connect(all);
    std::uint64_t value = 1;
    std::uint64_t sum = 0;
    const auto call = [&] {
      if (rank == 0)
        static_cast<void>(all.allreduce(value, sum, operators::Sum{}));
      else
        static_cast<void>(all.allreduce(value, sum, operators::Max{}));
      static_cast<void>(all.barrier());
    };
    EXPECT_EQ(test::error_of(call).find("ranks have called different collectives"), 0U);
  });
}

/// As the teams of hosts in LeaveAfter (collective_leave_test.cpp), of which some have what they wanted.
TEST_P(NearRanks, leave_as_soon_as_they_have_their_result) {
  for (int turn = 0; turn < 5; ++turn) {
    Ranks<Endpoint> ranks(GetParam());
    std::vector<std::unique_ptr<Collective>> collectives;
    for (int rank = 0; rank < ranks.size(); ++rank)
      collectives.push_back(std::make_unique<Collective>(ranks.runtime(rank), ranks.endpoint(rank)));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks.size(); ++rank)
      threads.emplace_back([&, rank] {
        auto& collective = collectives[static_cast<std::size_t>(rank)];
        connect(*collective);
        std::vector<std::uint64_t> sum(100);
        EXPECT_EQ(collective->allreduce(elements(rank, 100, 1), sum, operators::Sum{}), Outcome::ok);
        EXPECT_EQ(sum, sums(ranks.size(), 100, 1));
        collective.reset();
        ranks.leave(rank);
      });
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_P(NearRanks, do_not_wait_for_one_that_has_left) {
  Ranks<Endpoint> ranks(GetParam());
  std::vector<std::unique_ptr<Collective>> collectives;
  for (int rank = 0; rank < ranks.size(); ++rank)
    collectives.push_back(std::make_unique<Collective>(ranks.runtime(rank), ranks.endpoint(rank)));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks.size(); ++rank)
    threads.emplace_back([&, rank] {
      auto& collective = collectives[static_cast<std::size_t>(rank)];
      connect(*collective);
      // Each that ends a collective so leaves, which ends the next one's.
      if (rank != 0) {
        std::uint64_t sum = 0;
        EXPECT_EQ(collective->allreduce(std::uint64_t{1}, sum, operators::Sum{}), Outcome::peer_failed);
      }
      collective.reset();
      ranks.leave(rank);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Near, teams_that_have_members_in_common_do_not_disturb_each_other) {
  CollectiveJob job(5);
  job.run([&](Collective& all, int rank) {
    const Runtime& runtime = job.ranks().runtime(rank);
    const std::vector<int> lists[] = {{4, 2, 0}, {1, 2, 3, 4}};
    std::vector<std::unique_ptr<Collective>> teams;
    for (std::uint32_t key = 1; const auto& list : lists) {
      const Team team(runtime, list);
      teams.push_back(team.rank() < 0 ? nullptr
                                      : std::make_unique<Collective>(job.ranks().runtime(rank),
                                                                     job.ranks().endpoint(rank), team,
                                                                     CollectiveOptions{.key = key}));
      ++key;
    }
    for (std::uint64_t turn = 0; turn < 30; ++turn)
      for (const auto& team : teams) {
        if (team == nullptr) continue;
        EXPECT_EQ(test::EveryKind(*team, 5, turn).wrong(), "");
      }
    EXPECT_EQ(all.barrier(), Outcome::ok);
  });
}

}  // namespace
}  // namespace weft
