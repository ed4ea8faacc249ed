// Collectives of a job that loses a rank, on the simulated network: every rank that is left learns of it,
// whomever it was waiting for.
#include "support/ranks.hpp"

#include <weft/collective.hpp>
#include <weft/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

constexpr int kRanks = 5;

/// What each rank calls, and lays out: lengths on both sides of every border between algorithms.
struct Kind {
  const char* name;
  std::size_t values;
};
constexpr std::array kKinds = {
    Kind{"barrier", 0},        Kind{"broadcast", 2},     Kind{"broadcast", 1'500},
    Kind{"broadcast", 20'000}, Kind{"reduce", 2},        Kind{"reduce", 20'000},
    Kind{"allreduce", 1},      Kind{"allreduce", 1'500}, Kind{"allreduce", 20'000}};

struct Buffers {
  explicit Buffers(std::size_t values) : from(values, 1), to(values) {}
  std::vector<std::uint64_t> from;
  std::vector<std::uint64_t> to;
};

Outcome call(Collective& collective, const Kind& kind, Buffers& buffers) {
  const std::string name = kind.name;
  if (name == "broadcast") return collective.broadcast(buffers.to, 1);
  if (name == "reduce") return collective.reduce(buffers.from, buffers.to, operators::Sum{}, 2);
  if (name == "allreduce") return collective.allreduce(buffers.from, buffers.to, operators::Sum{});
  return collective.barrier();
}

CollectiveOperation lay_out(Collective& collective, const Kind& kind, Buffers& buffers) {
  const std::string name = kind.name;
  if (name == "broadcast") return collective.make_broadcast(buffers.to, 1);
  if (name == "reduce") return collective.make_reduce(buffers.from, buffers.to, operators::Sum{}, 2);
  if (name == "allreduce") return collective.make_allreduce(buffers.from, buffers.to, operators::Sum{});
  return collective.make_barrier();
}

class CollectiveFailure : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(of, CollectiveFailure, testing::ValuesIn(kKinds), [](const auto& kind) {
  return std::string(kind.param.name) + "_" + std::to_string(kind.param.values);
});

/// Whatever step a rank is at when the victim dies, which happens between two operations of its own; what it
/// has sent of the last one is lost in part. And afterwards, as often as a rank likes.
TEST_P(CollectiveFailure, ends_what_was_laid_out_on_every_rank_that_is_left) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    sim::Simulation simulation({.ranks = kRanks, .seed = seed, .gone = 100});
    std::deque<Runtime> runtimes;
    std::deque<Endpoint> endpoints;
    std::deque<Collective> collectives;
    std::deque<Buffers> buffers;
    std::deque<CollectiveOperation> operations;
    for (int rank = 0; rank < kRanks; ++rank) {
      endpoints.emplace_back(runtimes.emplace_back(simulation, rank));
      Collective& collective = collectives.emplace_back(runtimes.back(), endpoints.back());
      operations.push_back(lay_out(collective, GetParam(), buffers.emplace_back(GetParam().values)));
    }
    const auto victim = static_cast<std::size_t>(random() % kRanks);
    std::vector<bool> is_running(kRanks);
    std::vector<std::uint32_t> failed(kRanks);
    const auto step = [&](std::size_t rank) {
      endpoints[rank].progress();
      if (is_running[rank] && operations[rank].test()) {
        is_running[rank] = false;
        if (operations[rank].graph().outcome() == Outcome::peer_failed)
          ++failed[rank];
        else
          EXPECT_EQ(operations[rank].graph().outcome(), Outcome::ok);
      }
      if (!is_running[rank] && failed[rank] < 40) {
        operations[rank].start();
        is_running[rank] = true;
      }
    };
    for (auto steps = random() % 600; steps > 0; --steps) step(random() % kRanks);
    failed[victim] = 40;  // it starts nothing any more
    ASSERT_TRUE(test::until([&] { return !is_running[victim]; }, [&] { step(random() % kRanks); }));
    simulation.kill(static_cast<int>(victim));
    bool are_over = false;
    ASSERT_TRUE(test::until([&] { return are_over; },
                            [&] {
                              are_over = true;
                              for (std::size_t rank = 0; rank < kRanks; ++rank) {
                                if (rank == victim) continue;
                                step(rank);
                                are_over = are_over && !is_running[rank] && failed[rank] == 40;
                              }
                            }))
        << "seed " << seed;
  }
}

/// Each in a thread of its own, in calls that wait.
TEST_P(CollectiveFailure, ends_calls_that_wait_on_every_rank_that_is_left) {
  constexpr int kVictim = 3;
  sim::Simulation simulation({.ranks = kRanks, .gone = 50});
  std::deque<Runtime> runtimes;
  for (int rank = 0; rank < kRanks; ++rank) runtimes.emplace_back(simulation, rank);
  std::atomic<int> over{0};
  std::atomic<int> quiet{0};
  std::atomic<bool> is_idle{false};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      Endpoint endpoint(runtimes[static_cast<std::size_t>(rank)]);
      Collective collective(runtimes[static_cast<std::size_t>(rank)], endpoint);
      Buffers buffers(GetParam().values);
      if (rank == kVictim) {
        for (int round = 0; round < 20; ++round)
          EXPECT_EQ(call(collective, GetParam(), buffers), Outcome::ok);
        is_idle.store(true);
      } else {
        while (call(collective, GetParam(), buffers) == Outcome::ok) {
        }
        for (int round = 0; round < 300; ++round)
          EXPECT_EQ(call(collective, GetParam(), buffers), Outcome::peer_failed);
        over.fetch_add(1);
      }
      if (rank == kVictim) {
        while (quiet.load() < kRanks - 1) std::this_thread::yield();
        return;
      }
      // What the others have sent this one before they knew is taken in.
      while (over.load() < kRanks - 1) endpoint.progress();
      for (int step = 0; step < 1000; ++step) endpoint.progress();
      quiet.fetch_add(1);
      while (quiet.load() < kRanks - 1) endpoint.progress();
    });
  while (!is_idle.load()) std::this_thread::yield();
  simulation.kill(kVictim);
  for (std::thread& thread : threads) thread.join();
}

/// A team whose members live does not notice that another rank has failed; one of the failed rank ends, both
/// what waits and what is posted, whatever it had to do with that rank.
/// The program never asks what has become of it.
TEST(PostedFailure, of_an_operation_that_nobody_waits_for_ends_no_program) {
  sim::Simulation simulation({.ranks = 2, .seed = 3, .gone = 100});
  std::deque<Runtime> runtimes;
  std::deque<Endpoint> endpoints;
  std::deque<Collective> collectives;
  for (int rank = 0; rank < 2; ++rank) {
    endpoints.emplace_back(runtimes.emplace_back(simulation, rank));
    collectives.emplace_back(runtimes.back(), endpoints.back());
  }
  Counter ended;
  collectives[0].post(collectives[0].make_barrier());
  collectives[0].post(collectives[0].make_barrier(), {.completion = &ended});
  simulation.kill(1);
  ASSERT_TRUE(test::until([&] { return ended.value() != 0; }, [&] { endpoints[0].progress(); }));
}

TEST(TeamFailure, ends_the_collectives_of_its_own_teams_only) {
  constexpr int kVictim = 4;
  for (const std::size_t values : {std::size_t{1}, std::size_t{1'500}, std::size_t{20'000}}) {
    sim::Simulation simulation({.ranks = kRanks, .gone = 50});
    std::deque<Runtime> runtimes;
    for (int rank = 0; rank < kRanks; ++rank) runtimes.emplace_back(simulation, rank);
    std::atomic<int> begun{0};
    std::atomic<int> over{0};
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] {
        Runtime& runtime = runtimes[static_cast<std::size_t>(rank)];
        Endpoint endpoint(runtime);
        if (rank == kVictim) {
          Collective with(runtime, endpoint, Team(runtime, TeamRange{0, kRanks}), {.key = 1});
          EXPECT_EQ(with.barrier(), Outcome::ok);
          begun.fetch_add(1);
          while (over.load() < kRanks - 1) std::this_thread::yield();
          return;
        }
        Collective without(runtime, endpoint, Team(runtime, TeamRange{3, 4, -1}), {.key = 2});
        Collective with(runtime, endpoint, Team(runtime, TeamRange{0, kRanks}), {.key = 1});
        // Not all ranks of the job, and with the victim: ranks that wait for living ones end as well.
        std::unique_ptr<Collective> some;
        if (rank != 0)
          some = std::make_unique<Collective>(runtime, endpoint, Team(runtime, TeamRange{1, 4}),
                                              CollectiveOptions{.key = 3});
        EXPECT_EQ(with.barrier(), Outcome::ok);
        begun.fetch_add(1);
        Buffers buffers(values);
        if (some != nullptr) {
          Buffers posted(values);
          Counter done;
          some->post(some->make_allreduce(posted.from, posted.to, operators::Sum{}), {.completion = &done});
          while (some->allreduce(buffers.from, buffers.to, operators::Sum{}) == Outcome::ok) {
          }
          EXPECT_EQ(some->barrier(), Outcome::peer_failed);
          endpoint.wait(done, 1);
        }
        for (int round = 0; round < 20; ++round)
          EXPECT_EQ(without.allreduce(buffers.from, buffers.to, operators::Sum{}), Outcome::ok);
        EXPECT_EQ(buffers.to[0], 4U);
        over.fetch_add(1);
        while (over.load() < kRanks - 1) endpoint.progress();
        for (int step = 0; step < 1000; ++step) endpoint.progress();
      });
    while (begun.load() < kRanks) std::this_thread::yield();
    simulation.kill(kVictim);
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace weft
