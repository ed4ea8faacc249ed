// Threads of several ranks that wait for each other while one of them fails, on the simulated network.
#include "support/ranks.hpp"

#include <weft/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

namespace weft {
namespace {

TEST(PeerFailureThreads, ends_waits_for_the_dead_and_no_others) {
  sim::Simulation simulation({.ranks = 4, .gone = 50});
  constexpr int kVictim = 3;
  std::atomic<int> rounds{0};
  std::atomic<int> over{0};
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  std::atomic<bool> is_dead{false};
  std::deque<Runtime> runtimes;
  for (int rank = 0; rank < 4; ++rank) runtimes.emplace_back(simulation, rank);
  for (int rank = 0; rank < 4; ++rank)
    threads.emplace_back([&, rank] {
      Runtime& runtime = runtimes[static_cast<std::size_t>(rank)];
      Endpoint endpoint(runtime);
      std::array<std::byte, 64> room{};
      if (rank == kVictim) {
        while (!is_dead.load()) endpoint.progress();
        while (over.load() < 3) std::this_thread::yield();
        return;
      }
      Counter never;
      ASSERT_TRUE(endpoint.post_receive(kVictim, 1, room, {.completion = &never}).is_posted());
      for (std::uint64_t round = 0; round < 300; ++round) {
        const int to = (rank + 1) % 3;
        const int from = (rank + 2) % 3;
        static_cast<void>(endpoint.send(to, round + 100, bytes_of(round)));
        static_cast<void>(endpoint.post_send(kVictim, 2, bytes_of(round)));
        const Message message = endpoint.receive(from, round + 100, room);
        if (message.outcome() != Outcome::ok || message.as<std::uint64_t>() != round) break;
        rounds.fetch_add(1);
      }
      endpoint.wait(never, 1);
      failures.fetch_add(never.value() == 1 && runtime.has_failed(kVictim) ? 1 : 0);
      over.fetch_add(1);
      while (over.load() < 3) endpoint.progress();
    });
  while (rounds.load() < 200) std::this_thread::yield();
  simulation.kill(kVictim);
  is_dead.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 3);
}

}  // namespace
}  // namespace weft
