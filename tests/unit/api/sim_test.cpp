// Simulations as a user's tests see them.
#include <weft/error.hpp>
#include <weft/testing/simulation.hpp>
#include <weft/weft.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace weft {
namespace {

/// Ranks of a simulation, driven by one thread.
struct Simulated {
  explicit Simulated(const sim::Options& options) : simulation(options) {
    for (int rank = 0; rank < options.ranks; ++rank) {
      runtimes.push_back(std::make_unique<Runtime>(simulation, rank));
      endpoints.push_back(std::make_unique<SerialEndpoint>(*runtimes.back()));
    }
  }
  void progress() {
    for (auto& endpoint : endpoints) endpoint->progress();
  }
  template <class Condition>
  [[nodiscard]] bool within(std::uint64_t ticks, const Condition& condition) {
    for (const std::uint64_t end = simulation.now() + ticks; !condition();) {
      if (simulation.now() > end) return false;
      progress();
    }
    return true;
  }

  sim::Simulation simulation;
  std::vector<std::unique_ptr<Runtime>> runtimes;
  std::vector<std::unique_ptr<SerialEndpoint>> endpoints;
};

struct Schedule {
  std::uint64_t schedule_hash;
  sim::Counters counters;
};

Schedule exchange(std::uint64_t seed) {
  Simulated job({.ranks = 3, .seed = seed, .delay = 30, .refuse = 20});
  std::vector<std::unique_ptr<Counter>> arrived;
  RemoteCompletion remote;
  for (auto& runtime : job.runtimes) {
    arrived.push_back(std::make_unique<Counter>());
    remote = runtime->expose(*arrived.back(), {.id = 1});
  }
  const std::size_t sizes[] = {0, 8, 17, 100, 5000, 20'000};
  Counter sent;
  for (std::size_t number = 0; number < 60; ++number) {
    const auto bytes = test::payload(sizes[number % 6], number);
    const std::size_t from = number % 3;
    EXPECT_TRUE(job.within(100'000, [&] {
      return job.endpoints[from]
          ->post_am(static_cast<int>((from + 1) % 3), remote, bytes, {.completion = &sent})
          .is_accepted();
    }));
    EXPECT_TRUE(job.within(100'000, [&] { return sent.value() == number + 1; }));
  }
  EXPECT_TRUE(job.within(100'000, [&] { return job.simulation.counters().in_flight == 0; }));
  for (const auto& counter : arrived) EXPECT_EQ(counter->value(), 20U);
  return {job.simulation.schedule_hash(), job.simulation.counters()};
}

TEST(Simulation, replays_a_seed_event_by_event) {
  const Schedule first = exchange(5);
  const Schedule again = exchange(5);
  const Schedule other = exchange(6);
  EXPECT_EQ(first.schedule_hash, again.schedule_hash);
  EXPECT_NE(first.schedule_hash, other.schedule_hash);
  EXPECT_EQ(first.counters.sent, again.counters.sent);
  EXPECT_EQ(first.counters.refused, again.counters.refused);
  EXPECT_EQ(first.counters.sent, first.counters.delivered);
  EXPECT_GT(first.counters.refused, 0U);
  EXPECT_GT(first.counters.reordered, 0U);
}

TEST(Simulation, answers_with_its_attributes) {
  sim::Simulation simulation({.ranks = 1, .seed = 9, .inject = 100, .rma = false});
  const AttributeSetting settings[] = {{"packets", "32"}};
  const Runtime runtime(simulation, 0, {.attributes = settings});
  EXPECT_EQ(simulation.seed(), 9U);
  EXPECT_EQ(simulation.ranks(), 1);
  EXPECT_STREQ(runtime.attribute("network"), "sim");
  EXPECT_STREQ(runtime.attribute("sim_seed"), "9");
  EXPECT_STREQ(runtime.attribute("sim_inject"), "100");
  EXPECT_STREQ(runtime.attribute("sim_rma"), "no");
  EXPECT_STREQ(runtime.attribute("packets"), "32");
}

TEST(Simulation, refuses_impossible_options_and_a_second_runtime_of_a_rank) {
  EXPECT_THROW(sim::Simulation({.refuse = 96}), Error);
  EXPECT_THROW(sim::Simulation({.immediate = 5}), Error);
  EXPECT_THROW(sim::Simulation({.ranks = 0}), Error);
  sim::Simulation simulation({.ranks = 2});
  const Runtime runtime(simulation, 0);
  EXPECT_THROW(Runtime(simulation, 0), Error);
  EXPECT_THROW(Runtime(simulation, 2), Error);
  EXPECT_THROW(simulation.kill(2), Error);
  EXPECT_THROW(simulation.slow(0, 100), Error);
}

TEST(Simulation, ends_operations_towards_a_rank_that_is_killed) {
  Simulated job({.ranks = 3, .delay = 10, .gone = 500});
  Counter arrived;
  Counter elsewhere;
  const RemoteCompletion remote = job.runtimes[1]->expose(arrived, {.id = 1});
  job.runtimes[2]->expose(elsewhere, {.id = 1});
  const auto bytes = test::payload(100'000, 1);
  test::Recorder ended;
  ASSERT_TRUE(job.within(10'000, [&] {
    return job.endpoints[0]->post_am(1, remote, bytes, {.completion = &ended}).is_accepted();
  }));
  job.simulation.kill(1);
  ASSERT_TRUE(job.within(100'000, [&] {
    return job.endpoints[0]->post_am(1, remote, {}, {.completion = &ended}).is_posted() &&
           !ended.messages.empty() && ended.messages.back().outcome() == Outcome::peer_failed;
  }));
  job.endpoints[0]->wait_until([&] {
    return std::any_of(ended.messages.begin(), ended.messages.end(),
                       [&](const Message& message) { return message.size() == bytes.size(); });
  });
  EXPECT_EQ(arrived.value(), 0U);
  Counter sent;
  ASSERT_TRUE(job.within(100'000, [&] {
    return job.endpoints[0]->post_am(2, remote, bytes, {.completion = &sent}).is_accepted();
  }));
  ASSERT_TRUE(job.within(100'000, [&] { return elsewhere.value() == 1 && sent.value() == 1; }));
}

TEST(Simulation, ends_sends_and_receives_of_a_rank_that_is_killed_while_only_progress_is_called) {
  const auto large = test::payload(5'000'000, 1);
  std::vector<std::byte> room(large.size());
  test::Recorder received;
  test::Recorder sent;
  Counter ignored;
  Simulated job({.ranks = 2, .delay = 10, .refuse = 0, .rma = false, .gone = 100});
  ASSERT_TRUE(job.endpoints[0]->post_receive(1, 7, room, {.completion = &received}).is_posted());
  ASSERT_TRUE(job.within(10'000, [&] {
    return job.endpoints[1]->post_send(0, 7, large, {.completion = &ignored}).is_accepted();
  }));
  // Some of it has come, and an answer to this is expected.
  ASSERT_TRUE(
      job.within(10'000, [&] { return std::ranges::equal(Bytes(room).first(16), Bytes(large).first(16)); }));
  ASSERT_TRUE(job.within(
      10'000, [&] { return job.endpoints[0]->post_send(1, 8, large, {.completion = &sent}).is_accepted(); }));
  job.simulation.kill(1);
  ASSERT_TRUE(job.within(100'000, [&] { return !received.messages.empty() && !sent.messages.empty(); }));
  EXPECT_EQ(received.messages.front().outcome(), Outcome::peer_failed);
  EXPECT_EQ(sent.messages.front().outcome(), Outcome::peer_failed);
  // Nobody returns credits any more.
  for (int count = 0; count < 1000; ++count)
    ASSERT_TRUE(job.within(1000, [&] { return job.endpoints[0]->post_send(1, 9, {}).is_accepted(); }));
}

TEST(Simulation, ends_large_messages_that_the_network_fetches_from_a_rank_that_is_killed) {
  const auto large = test::payload(500'000, 1);
  int lost = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::vector<std::byte> room(large.size());
    test::Recorder received;
    Counter sent;
    Simulated job({.ranks = 2, .seed = seed, .delay = 40, .refuse = 0, .gone = 100});
    ASSERT_TRUE(job.endpoints[0]->post_receive(1, 7, room, {.completion = &received}).is_posted());
    ASSERT_TRUE(job.within(10'000, [&] {
      return job.endpoints[1]->post_send(0, 7, large, {.completion = &sent}).is_accepted();
    }));
    for (std::uint64_t step = 0; step < 5 * seed; ++step) job.progress();
    job.simulation.kill(1);
    ASSERT_TRUE(job.within(100'000, [&] { return !received.messages.empty(); })) << seed;
    ASSERT_EQ(received.messages.size(), 1U);
    if (received.messages.front().outcome() == Outcome::peer_failed) ++lost;
    if (received.messages.front().outcome() == Outcome::ok) {
      EXPECT_EQ(room, large);
    }
  }
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, 40);
}

TEST(Simulation, pauses_and_slows_receivers) {
  Simulated job({.ranks = 2, .delay = 0, .refuse = 0, .stale = 0});
  Counter arrived;
  const RemoteCompletion remote = job.runtimes[1]->expose(arrived, {.id = 1});
  job.simulation.pause(1, 1000);
  const std::uint64_t begin = job.simulation.now();
  ASSERT_TRUE(job.endpoints[0]->post_am(1, remote, {}).is_accepted());
  ASSERT_TRUE(job.within(10'000, [&] { return arrived.value() == 1; }));
  EXPECT_GE(job.simulation.now() - begin, 1000U);
  job.simulation.slow(1, 99);
  std::uint64_t polls = 0;
  for (std::uint64_t count = 2; count < 12; ++count) {
    ASSERT_TRUE(job.endpoints[0]->post_am(1, remote, {}).is_accepted());
    while (arrived.value() < count && polls < 100'000) job.endpoints[1]->progress(), ++polls;
  }
  EXPECT_GT(polls, 100U) << "of ten messages, each found by one poll in a hundred";
}

TEST(Simulation, wakes_threads_that_wait) {
  sim::Simulation simulation({.ranks = 2, .delay = 200});
  const AttributeSetting settings[] = {{"spin", "0"}, {"yield", "0"}, {"park_timeout", "60"}};
  Runtime zero(simulation, 0, {.attributes = settings});
  Runtime one(simulation, 1, {.attributes = settings});
  CompletionQueue ping;
  CompletionQueue pong;
  const RemoteCompletion to_one = one.expose(ping, {.id = 1});
  const RemoteCompletion to_zero = zero.expose(pong, {.id = 1});
  constexpr int kRounds = 100;
  std::thread peer([&] {
    Endpoint endpoint(one);
    for (int round = 0; round < kRounds; ++round) {
      const Message message = endpoint.wait(ping);
      static_cast<void>(endpoint.send_am(0, to_zero, message.bytes()));
    }
  });
  {
    Endpoint endpoint(zero);
    for (int round = 0; round < kRounds; ++round) {
      static_cast<void>(endpoint.send_am(1, to_one, bytes_of(round)));
      EXPECT_EQ(endpoint.wait(pong).as<int>(), round);
    }
  }
  peer.join();
}

}  // namespace
}  // namespace weft
