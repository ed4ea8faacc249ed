// Teams: which ranks they have, and every collective over them.
#include "conformance/operations/collective/every_kind.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

namespace weft {
namespace {

using test::error_of;
using TeamJob = test::Ranks<Endpoint>;

/// Calls `work(rank)` in a thread for each rank; ranks that are done progress until all are.
void on_every_rank(TeamJob& job, const std::function<void(int)>& work) {
  std::atomic<int> running{job.size()};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < job.size(); ++rank)
    threads.emplace_back([&, rank] {
      work(rank);
      --running;
      while (running.load() != 0)
        if (job.endpoint(rank).progress() == 0) std::this_thread::yield();
    });
  for (std::thread& thread : threads) thread.join();
}

std::vector<int> members_of(const Team& team) {
  std::vector<int> members;
  for (int rank = 0; rank < team.size(); ++rank) members.push_back(team.job_rank(rank));
  return members;
}

TEST(Teams, know_their_members_by_list_and_by_range) {
  TeamJob job(6);
  Runtime& runtime = job.runtime(4);
  const Team world = Team::world(runtime);
  EXPECT_EQ(world.size(), 6);
  EXPECT_EQ(world.rank(), 4);
  const Team evens(runtime, TeamRange{.first = 0, .count = 3, .stride = 2});
  EXPECT_EQ(members_of(evens), (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(evens.rank(), 2);
  EXPECT_EQ(evens.rank_of(2), 1);
  EXPECT_EQ(evens.rank_of(3), -1);
  const Team back(runtime, TeamRange{.first = 5, .count = 6, .stride = -1});
  EXPECT_EQ(members_of(back), (std::vector<int>{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(back.rank(), 1);
  EXPECT_EQ(back.translate(0, evens), -1);
  EXPECT_EQ(back.translate(1, evens), 2);
  const Team listed(runtime, std::vector<int>{3, 0, 5, 1});
  EXPECT_EQ(members_of(listed), (std::vector<int>{3, 0, 5, 1}));
  EXPECT_EQ(listed.rank(), -1);
  EXPECT_EQ(listed.rank_of(5), 2);
  EXPECT_EQ(listed.rank_of(-7), -1);
  EXPECT_TRUE(Team(runtime, std::vector<int>{0, 2, 4}) == evens);
  EXPECT_FALSE(listed == evens);
  EXPECT_EQ(Team().size(), 0);
  EXPECT_EQ(Team().rank_of(0), -1);
}

TEST(Teams, find_every_member_of_irregular_lists) {
  TeamJob job(1);
  Runtime& runtime = job.runtime(0);
  EXPECT_EQ(Team(runtime, std::vector<int>{0}).rank(), 0);
  EXPECT_EQ(Team(runtime, std::vector<int>{}).rank(), -1);
  TeamJob wide(40);
  std::vector<int> ranks;
  for (int place = 0; place < 40; ++place) ranks.push_back(place * 27 % 40 ^ (place % 3 == 0 ? 0 : 1));
  std::vector<int> unique;
  for (const int rank : ranks)
    if (std::ranges::find(unique, rank) == unique.end()) unique.push_back(rank);
  const Team team(wide.runtime(0), unique);
  EXPECT_GT(team.ranges(), 8U);
  for (int rank = 0; rank < 40; ++rank) {
    const auto found = std::ranges::find(unique, rank);
    const int expected = found == unique.end() ? -1 : static_cast<int>(found - unique.begin());
    EXPECT_EQ(team.rank_of(rank), expected);
  }
}

TEST(Teams, of_regular_ranks_are_stored_as_one_range) {
  TeamJob job(8);
  for (const int rank : {0, 5}) {
    EXPECT_EQ(Team::world(job.runtime(rank)).ranges(), 1U);
    EXPECT_EQ(Team::host(job.runtime(rank)).ranges(), 1U);
    EXPECT_EQ(Team::leaders(job.runtime(rank)).ranges(), 1U);
    EXPECT_EQ(Team::host(job.runtime(rank)).size(), static_cast<int>(job.runtime(rank).local_ranks().size()));
    EXPECT_EQ(Team::leaders(job.runtime(rank)).size(), job.runtime(rank).hosts());
  }
}

TEST(Teams, are_refused_with_a_clear_message) {
  TeamJob job(3);
  Runtime& runtime = job.runtime(1);
  EXPECT_EQ(error_of([&] {
              Team(runtime, std::vector<int>{0, 3});
            }),
            "Team: rank 3 is not a rank of this job (0 to 2)");
  EXPECT_EQ(error_of([&] {
              Team(runtime, std::vector<int>{2, 0, 2});
            }),
            "Team: rank 2 is listed twice, at 0 and at 2: a rank is a member once");
  EXPECT_EQ(error_of([&] { Team(runtime, TeamRange{.first = 1, .count = 2, .stride = 2}); }),
            "Team: the range of 2 ranks from 1 with stride 2 leaves this job, whose ranks are 0 to 2");
  EXPECT_EQ(error_of([&] { Team(runtime, TeamRange{.first = 1, .count = 2, .stride = 0}); }),
            "Team: the range of 2 ranks from 1 with stride 0 is one rank several times: a stride is not 0");
  EXPECT_EQ(error_of([&] { Team(runtime, TeamRange{.first = 1, .count = -2}); }),
            "Team: the range of -2 ranks from 1 with stride 1 has less than no ranks");
  const Team others(runtime, TeamRange{.first = 0, .count = 2, .stride = 2});
  EXPECT_EQ(error_of([&] { static_cast<void>(others.job_rank(2)); }),
            "Team: 2 is not a rank of the team (0 to 1)");
  EXPECT_EQ(error_of([&] { Collective(runtime, job.endpoint(1), others); }),
            "Collective: rank 1 of the job is no member of the team of 2 ranks (0, 2): only members have its "
            "collectives");
  EXPECT_EQ(error_of([&] { Collective(runtime, job.endpoint(1), Team()); }),
            "Collective: rank 1 of the job is no member of the team of 0 ranks: only members have its "
            "collectives");
}

class CollectivesOfTeams : public ::testing::TestWithParam<int> {};

TEST_P(CollectivesOfTeams, are_right_for_every_kind) {
  TeamJob job(GetParam());
  const int size = job.size();
  std::mutex mutex;
  on_every_rank(job, [&](int rank) {
    std::vector<int> mixed;
    for (int member = 0; member < size; member += 2) mixed.push_back(member);
    for (int member = 1; member < size; member += 4) mixed.push_back(member);
    // Teams with members in common, whose collectives are under way at the same time on different ranks.
    const Team teams[] = {Team(job.runtime(rank), TeamRange{size - 1, size, -1}),
                          Team(job.runtime(rank), mixed),
                          Team(job.runtime(rank), TeamRange{size / 3, size - size / 3})};
    std::vector<std::unique_ptr<Collective>> collectives;
    for (int number = 0; const Team& team : teams) {
      ++number;
      if (team.rank() >= 0)
        collectives.push_back(std::make_unique<Collective>(job.runtime(rank), job.endpoint(rank), team,
                                                           CollectiveOptions{.key = number}));
    }
    for (const std::size_t count : {std::size_t{1}, std::size_t{0}, std::size_t{129}, std::size_t{4097}})
      for (const auto& collective : collectives) {
        test::EveryKind kinds(*collective, count, count + static_cast<std::uint64_t>(collective->size()));
        const std::string wrong = kinds.wrong();
        const std::lock_guard lock(mutex);
        EXPECT_EQ(wrong, "") << "rank " << rank << " of " << size << ", " << count << " elements";
      }
  });
}

TEST(ManyCollectives, live_by_the_thousand_and_are_made_again) {
  constexpr std::uint32_t kTeams = 2000;
  TeamJob job(3);
  std::atomic<int> wrong{0};
  on_every_rank(job, [&](int rank) {
    for (int round = 0; round < 2; ++round) {
      std::vector<std::unique_ptr<Collective>> collectives;
      for (std::uint32_t key = 0; key < kTeams; ++key) {
        const Team team(job.runtime(rank), TeamRange{static_cast<int>(key % 2), 2});
        if (team.rank() >= 0)
          collectives.push_back(std::make_unique<Collective>(job.runtime(rank), job.endpoint(rank), team,
                                                             CollectiveOptions{.key = key}));
      }
      for (const auto& collective : collectives) {
        int sum = 0;
        if (collective->allreduce(collective->rank() + 5, sum, operators::Sum{}) != Outcome::ok || sum != 11)
          ++wrong;
      }
      Collective all(job.runtime(rank), job.endpoint(rank), CollectiveOptions{.key = kTeams});
      if (all.barrier() != Outcome::ok) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(CollectivesOfTeams, several_at_a_time_are_posted_by_several_threads) {
  TeamJob job(GetParam());
  std::atomic<int> wrong{0};
  on_every_rank(job, [&](int rank) {
    constexpr std::size_t kEach = 8;
    std::vector<std::thread> threads;
    // A thread for each team, all over one endpoint.
    for (std::uint32_t number = 0; number < 3; ++number)
      threads.emplace_back([&, number] {
        const int first = static_cast<int>(number) % job.size();
        const Team team(job.runtime(rank), TeamRange{first, job.size() - first});
        if (team.rank() < 0) return;
        Collective all(job.runtime(rank), job.endpoint(rank), team, {.key = 300 + number});
        std::vector<std::vector<std::uint64_t>> mine;
        std::vector<std::vector<std::uint64_t>> sums(kEach);
        for (std::size_t post = 0; post < kEach; ++post) {
          mine.push_back(test::elements(team.rank(), post * post * 200, post));
          sums[post].resize(mine[post].size());
        }
        for (std::size_t post = 0; post < kEach; ++post)
          all.post(all.make_allreduce(mine[post], sums[post], operators::Sum{}));
        if (all.wait_posted() != Outcome::ok) ++wrong;
        for (std::size_t post = 0; post < kEach; ++post)
          if (sums[post] != test::sums(team.size(), mine[post].size(), post)) ++wrong;
      });
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Ranks, CollectivesOfTeams, ::testing::Values(1, 2, 3, 4, 5, 6, 9),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace weft
