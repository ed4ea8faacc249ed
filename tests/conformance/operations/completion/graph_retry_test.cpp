// Refused nodes of graphs end by progress alone: nobody waits, nobody calls test().
#include "core/completion/refused_nodes.hpp"
#include "support/graphs.hpp"
#include "support/ranks.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::Held;
using test::Ranks;

/// What keeps next to nothing for retry, so that nodes are refused.
const std::vector<AttributeSetting> kNoBacklog = {
    {"backlog", "1"}, {"backlog_peer", "1"}, {"lane_slots", "64"}, {"lane_slots_max", "64"}};

/// A node that says retry `times` times of its own accord.
Graph::Node add_stubborn(Graph& graph, int& times) {
  return graph.add(
      [&](Completion&) { return times-- > 0 ? Status::retry(Reason::backlog) : Status::done(); });
}

template <class EndpointType>
void ends_by_progress() {
  Ranks<EndpointType> ranks(1);
  Graph graph;
  Counter ended;
  int times = 5;
  int begun_after = 0;
  const auto node = add_stubborn(graph, times);
  graph.order(node, graph.add_function([&] { ++begun_after; }));
  graph.set_completion(&ended);
  for (std::uint64_t run = 1; run <= 3; ++run) {
    times = 5;
    graph.start();
    EXPECT_EQ(ended.value(), run - 1);
    ASSERT_TRUE(ranks.progress_until([&] { return ended.value() == run; }));
    EXPECT_EQ(begun_after, static_cast<int>(run));
  }
  EXPECT_FALSE(detail::NodeRefusals::any()) << "nothing is left for progress to look at";
}

TEST(GraphRetry, progress_tries_a_refused_node_again) {
  ends_by_progress<Endpoint>();
  ends_by_progress<SerialEndpoint>();
}

TEST(GraphRetry, progress_leaves_graphs_alone_that_were_destroyed_with_a_refused_node) {
  Ranks<Endpoint> ranks(1);
  int attempts = 0;
  auto graph = std::make_unique<Graph>();
  graph->add([&](Completion&) {
    ++attempts;
    return Status::retry(Reason::backlog);
  });
  graph->start();
  ranks.progress();
  graph.reset();
  const int before = attempts;
  for (int count = 0; count < 10; ++count) ranks.progress();
  EXPECT_EQ(attempts, before);
  EXPECT_FALSE(detail::NodeRefusals::any()) << "nothing is left for progress to look at";
}

TEST(GraphRetry, progress_says_how_many_it_brought_forward) {
  Ranks<Endpoint> ranks(1, test::kNoSurprises);
  Graph graph;
  int times = 2;
  add_stubborn(graph, times);
  graph.start();
  EXPECT_EQ(ranks.progress(), 0U);
  EXPECT_EQ(ranks.progress(), 1U);
  EXPECT_TRUE(graph.ready());
  EXPECT_EQ(ranks.progress(), 0U);
}

/// More sends than lanes, credits and backlog take, and receives that come late.
template <class EndpointType>
void posts_what_was_refused() {
  constexpr int kNodes = 2000;
  std::vector<AttributeSetting> attributes = kNoBacklog;
  attributes.push_back({"unexpected_credits", "8"});
  Ranks<EndpointType> ranks(2, attributes);
  ASSERT_TRUE(ranks.meet());
  std::vector<std::uint64_t> sent(kNodes);
  std::vector<std::uint64_t> received(kNodes);
  Graph graph;
  Counter ended;
  for (std::size_t node = 0; node < kNodes; ++node) {
    sent[node] = node * 77 + 1;
    graph.add_send(ranks.endpoint(0), 1, node, bytes_of(sent[node]));
  }
  graph.set_completion(&ended);
  graph.start();
  EXPECT_TRUE(detail::NodeRefusals::any()) << "the test refuses nothing";
  Counter arrived;
  for (std::size_t node = 0; node < kNodes; ++node) {
    const auto buffer = std::as_writable_bytes(std::span(&received[node], 1));
    ASSERT_TRUE(ranks.progress_until([&] {
      return ranks.endpoint(1).post_receive(0, node, buffer, {.completion = &arrived}).is_accepted();
    }));
  }
  ASSERT_TRUE(ranks.progress_until([&] { return ended.value() == 1 && arrived.value() == kNodes; }));
  EXPECT_EQ(graph.outcome(), Outcome::ok);
  EXPECT_EQ(received, sent);
  EXPECT_FALSE(detail::NodeRefusals::any());
}

TEST(GraphRetry, sends_beyond_every_bound_leave_by_progress) {
  posts_what_was_refused<Endpoint>();
  posts_what_was_refused<SerialEndpoint>();
}

TEST(GraphRetry, barriers_and_sums_that_nobody_waits_for_end_by_progress) {
  constexpr int kRanks = 4;
  std::vector<AttributeSetting> attributes = kNoBacklog;
  attributes.push_back({"unexpected_credits", "1"});
  Ranks<Endpoint> ranks(kRanks, attributes);
  std::vector<std::unique_ptr<Collective>> contexts;
  std::vector<CollectiveOperation> operations;
  std::vector<std::vector<std::uint64_t>> sums(kRanks, std::vector<std::uint64_t>(5000));
  const std::vector<std::uint64_t> ones(5000, 1);
  Counter ended;
  for (int rank = 0; rank < kRanks; ++rank)
    contexts.push_back(std::make_unique<Collective>(ranks.runtime(rank), ranks.endpoint(rank)));
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    operations.push_back(contexts[rank]->make_barrier());
    operations.push_back(contexts[rank]->make_allreduce(ones, sums[rank], operators::Sum{}));
  }
  for (auto& operation : operations) operation.graph().set_completion(&ended);
  for (std::uint64_t run = 1; run <= 20; ++run) {
    for (auto& operation : operations) operation.start();
    ASSERT_TRUE(ranks.progress_until([&] { return ended.value() == run * operations.size(); }));
  }
  for (auto& operation : operations) EXPECT_EQ(operation.graph().outcome(), Outcome::ok);
  EXPECT_EQ(sums[kRanks - 1], std::vector<std::uint64_t>(5000, kRanks));
  operations.clear();
}

/// Fills whatever lies between this rank and the other, until posts are refused; with how many messages.
std::uint64_t fill_up(Endpoint& endpoint, RemoteCompletion remote) {
  const std::uint64_t none = 0;
  std::uint64_t accepted = 0;
  while (endpoint.post_am(1, remote, bytes_of(none)).is_accepted()) ++accepted;
  while (endpoint.post_am(1, remote, bytes_of(none), {.may_retry = false}).is_accepted()) ++accepted;
  return accepted;
}

TEST(GraphRetry, only_the_device_that_has_refused_a_node_tries_it_again) {
  Ranks<Endpoint> ranks(2, kNoBacklog);
  Device other_device(ranks.runtime(0), {.index = 1});
  Endpoint other(other_device);
  Counter arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  ASSERT_TRUE(ranks.meet());
  const std::uint64_t posted = fill_up(ranks.endpoint(0), remote) + 1;
  Graph graph;
  int attempts = 0;
  const std::uint64_t none = 0;  // as long as the messages that fill the room
  graph.add([&](Completion& node) {
    ++attempts;
    return ranks.endpoint(0).post_am(1, remote, bytes_of(none), {.completion = &node, .may_retry = false});
  });
  graph.start();
  EXPECT_EQ(attempts, 1);
  for (int round = 0; round < 100; ++round) other.progress();
  EXPECT_EQ(attempts, 1) << "a device of which another thread may be the user";
  ASSERT_TRUE(ranks.progress_until([&] { return graph.ready() && arrived.value() == posted; }));
  EXPECT_GT(attempts, 1);
}

TEST(GraphRetry, nodes_of_two_devices_in_one_graph_end_whichever_progresses_first) {
  constexpr int kNodes = 300;
  Ranks<Endpoint> ranks(2, kNoBacklog);
  Device other_device(ranks.runtime(0), {.index = 1});
  Endpoint other(other_device);
  Counter arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  ASSERT_TRUE(ranks.meet());
  const std::uint64_t before = fill_up(ranks.endpoint(0), remote) + fill_up(other, remote);
  Graph graph;
  const std::uint64_t value = 1;
  for (int node = 0; node < kNodes; ++node)
    graph.add_am(node % 2 == 0 ? ranks.endpoint(0) : other, 1, remote, bytes_of(value));
  graph.start();
  ASSERT_TRUE(test::until([&] { return graph.ready() && arrived.value() == before + kNodes; },
                          [&] {
                            ranks.progress();
                            other.progress();
                          }));
  EXPECT_EQ(graph.outcome(), Outcome::ok);
}

TEST(GraphRetry, a_graph_that_fails_leaves_nothing_to_try_again) {
  Ranks<Endpoint> ranks(1);
  Held bad;
  int attempts = 0;
  {
    Graph graph;
    for (int count = 0; count < 100; ++count)
      graph.add([&](Completion&) {
        ++attempts;
        return Status::retry(Reason::backlog);
      });
    bad.add_to(graph);
    graph.start();
    ranks.progress();
    bad.end(Outcome::refused);
    EXPECT_TRUE(graph.ready());
  }
  const int before = attempts;
  for (int round = 0; round < 100; ++round) ranks.progress();
  EXPECT_EQ(attempts, before);
  EXPECT_FALSE(detail::NodeRefusals::any());
}

TEST(GraphRetry, many_graphs_take_turns) {
  constexpr std::size_t kGraphs = 200;
  Ranks<Endpoint> ranks(1);
  std::vector<int> times(kGraphs, 3);
  std::vector<Graph> graphs(kGraphs);
  times[0] = 1'000'000'000;  // one that goes on saying no keeps no other waiting
  for (std::size_t index = 0; index < kGraphs; ++index) {
    add_stubborn(graphs[index], times[index]);
    graphs[index].start();
  }
  ASSERT_TRUE(ranks.progress_until([&] {
    for (std::size_t index = 1; index < kGraphs; ++index)
      if (!graphs[index].ready()) return false;
    return true;
  }));
  times[0] = 0;
  ASSERT_TRUE(ranks.progress_until([&] { return graphs[0].ready(); }));
}

TEST(GraphRetry, threads_that_progress_one_device_begin_each_node_once) {
  constexpr int kThreads = 4;
  constexpr int kNodes = 50;
  constexpr int kRuns = 200;
  Ranks<Endpoint> ranks(1);
  std::vector<std::atomic<int>> attempts(kNodes);
  std::vector<std::atomic<int>> begun(kNodes);
  Graph graph;
  Counter ended;
  for (std::size_t node = 0; node < kNodes; ++node)
    graph.add([&, node](Completion&) {
      if (attempts[node].fetch_add(1) % 3 != 2) return Status::retry(Reason::backlog);
      ++begun[node];
      return Status::done();
    });
  graph.set_completion(&ended);
  std::atomic<bool> stops{false};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&] {
      while (!stops.load()) ranks.endpoint(0).progress();
    });
  int ends = 0;
  for (int run = 1; run <= kRuns; ++run) {
    graph.start();
    if (!test::until([&] { return ended.value() == static_cast<std::uint64_t>(run); },
                     [] { std::this_thread::yield(); }))
      break;
    ends = run;
  }
  stops.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ends, kRuns);
  for (const auto& count : begun) EXPECT_EQ(count.load(), kRuns);
}

}  // namespace
}  // namespace weft
