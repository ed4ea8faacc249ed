// Graphs: nodes begin when those before them have ended, failures cancel the rest, and mistakes are refused.
#include "support/graphs.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft {
namespace {

using test::expect_error;
using test::Held;
using test::Ranks;
using test::signal;

TEST(Graph, begins_a_node_when_all_before_it_have_ended) {
  Graph graph;
  Held first;
  Held second;
  int calls = 0;
  const auto a = first.add_to(graph);
  const auto b = second.add_to(graph);
  const auto c = graph.add_function([&] { ++calls; });
  graph.order(a, c);
  graph.order(b, c);
  EXPECT_FALSE(graph.ready());
  graph.start();
  EXPECT_EQ(first.begun + second.begun, 2);
  second.end();
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(graph.test());
  first.end();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(graph.ready());
  EXPECT_EQ(graph.outcome(), Outcome::ok);
  EXPECT_EQ(graph.outcome(c), Outcome::ok);
  EXPECT_EQ(graph.size(), 3U);
}

TEST(Graph, without_nodes_ends_at_once) {
  Graph graph;
  graph.start();
  EXPECT_TRUE(graph.ready());
  graph.start();
  EXPECT_TRUE(graph.test());
}

TEST(Graph, calls_functions_in_the_order_of_the_edges) {
  Graph graph;
  std::vector<int> order;
  const auto last = graph.add_function([&] { order.push_back(2); });
  const auto first = graph.add_function([&] { order.push_back(0); });
  const auto middle = graph.add_function([&] { order.push_back(1); });
  graph.order(first, middle);
  graph.order(middle, last);
  graph.order(first, last);
  graph.start();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(Graph, runs_a_long_chain_without_a_deep_stack) {
  constexpr int kNodes = 100'000;
  Graph graph;
  int calls = 0;
  Graph::Node before = graph.add_function([&] { ++calls; });
  for (int node = 1; node < kNodes; ++node) {
    // Every third one is an operation that ends inside its post.
    const Graph::Node next = node % 3 == 0 ? graph.add([&](Completion& completion) {
      ++calls;
      signal(completion);
      return Status::posted();
    })
                                           : graph.add_function([&] { ++calls; });
    graph.order(before, next);
    before = next;
  }
  graph.start();
  EXPECT_EQ(calls, kNodes);
  EXPECT_TRUE(graph.ready());
}

TEST(Graph, that_starts_itself_again_needs_no_deep_stack) {
  Graph graph;
  int runs = 0;
  struct Again final : Completion {
    Again(Graph& graph, int& runs) : graph_(graph), runs_(runs) {}
    ~Again() override { withdraw(); }
    void signal(Message&) noexcept override {
      if (++runs_ < 100'000) graph_.start();
    }
    [[nodiscard]] bool ready() const noexcept override { return true; }
    Graph& graph_;
    int& runs_;
  } again(graph, runs);
  graph.add_function([] {});
  graph.set_completion(&again);
  graph.start();
  EXPECT_EQ(runs, 100'000);
}

TEST(Graph, fails_with_the_first_failure_and_cancels_what_has_not_begun) {
  Graph graph;
  Held bad;
  Held slow;
  int calls = 0;
  const auto a = bad.add_to(graph);
  const auto b = slow.add_to(graph);
  const auto after_a = graph.add_function([&] { ++calls; });
  const auto after_b = graph.add_function([&] { ++calls; });
  const auto after_both = graph.add_function([&] { ++calls; });
  graph.order(a, after_a);
  graph.order(b, after_b);
  graph.order(after_a, after_both);
  graph.order(after_b, after_both);
  graph.start();
  bad.end(Outcome::peer_failed);
  EXPECT_FALSE(graph.ready()) << "an operation is still under way";
  slow.end(Outcome::truncated);
  EXPECT_TRUE(graph.ready());
  EXPECT_EQ(graph.outcome(), Outcome::peer_failed);
  EXPECT_EQ(graph.outcome(a), Outcome::peer_failed);
  EXPECT_EQ(graph.outcome(b), Outcome::truncated);
  for (const auto node : {after_a, after_b, after_both}) EXPECT_EQ(graph.outcome(node), Outcome::cancelled);
  EXPECT_EQ(calls, 0);

  graph.start();  // nothing remains of the failure
  bad.end();
  slow.end();
  EXPECT_EQ(graph.outcome(), Outcome::ok);
  EXPECT_EQ(graph.outcome(after_both), Outcome::ok);
  EXPECT_EQ(calls, 3);
}

TEST(Graph, fails_with_the_outcome_that_a_function_returns) {
  Graph graph;
  bool called = false;
  const auto a = graph.add_function([] { return Outcome::timed_out; });
  const auto b = graph.add_function([&] { called = true; });
  graph.order(a, b);
  graph.start();
  EXPECT_TRUE(graph.ready());
  EXPECT_EQ(graph.outcome(), Outcome::timed_out);
  EXPECT_FALSE(called);
}

TEST(Graph, lets_a_node_judge_the_message_that_ends_it) {
  Graph graph;
  Completion* completion = nullptr;
  const auto node = graph.add(
      [&](Completion& mine) {
        completion = &mine;
        return Status::posted();
      },
      [](Message& message) {
        return message.outcome() == Outcome::truncated ? Outcome::ok : message.outcome();
      });
  graph.start();
  signal(*completion, Outcome::truncated);
  EXPECT_EQ(graph.outcome(node), Outcome::ok);
  graph.start();
  signal(*completion, Outcome::cancelled);
  EXPECT_EQ(graph.outcome(), Outcome::cancelled);
}

TEST(Graph, posts_refused_nodes_again_in_test_and_when_others_end) {
  Graph graph;
  bool refuse = true;
  int attempts = 0;
  Held other;
  graph.add([&](Completion&) {
    ++attempts;
    return refuse ? Status::retry(Reason::backlog) : Status::done();
  });
  other.add_to(graph);
  graph.start();
  EXPECT_EQ(attempts, 1);
  EXPECT_FALSE(graph.test());
  EXPECT_EQ(attempts, 2);
  other.end();
  EXPECT_EQ(attempts, 3);
  EXPECT_FALSE(graph.ready());
  refuse = false;
  EXPECT_TRUE(graph.test());

  refuse = true;
  graph.start();
  refuse = false;
  other.end();
  EXPECT_TRUE(graph.ready());
}

TEST(Graph, tries_refused_nodes_in_turn_so_that_none_keeps_others_waiting) {
  constexpr int kNodes = 1000;
  bool open = false;
  int accepted = 0;
  Graph graph;
  for (int node = 0; node < kNodes; ++node)
    graph.add([&, node](Completion&) {
      const bool accepts = open && (node % 2 == 0 || accepted >= kNodes / 2);
      if (!accepts) return Status::retry(Reason::backlog);
      ++accepted;
      return Status::done();
    });
  graph.start();
  EXPECT_EQ(accepted, 0);
  open = true;
  for (int calls = 0; calls < kNodes && !graph.test(); ++calls) continue;
  EXPECT_TRUE(graph.ready());
  EXPECT_EQ(accepted, kNodes);
}

TEST(Graph, cancels_refused_nodes_when_another_one_fails) {
  Graph graph;
  Held bad;
  std::vector<Graph::Node> refused;
  for (int count = 0; count < 100; ++count)
    refused.push_back(graph.add([](Completion&) { return Status::retry(Reason::backlog); }));
  bad.add_to(graph);
  graph.start();
  bad.end(Outcome::refused);
  EXPECT_TRUE(graph.ready());
  for (const auto node : refused) EXPECT_EQ(graph.outcome(node), Outcome::cancelled);
}

TEST(Graph, fails_when_a_post_throws) {
  Ranks<Endpoint> ranks(1);
  Graph graph;
  graph.add_send(ranks.endpoint(0), 7, 0, {});
  testing::internal::CaptureStderr();
  graph.start();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("node 0 could not begin"), std::string::npos);
  EXPECT_TRUE(graph.ready());
  EXPECT_EQ(graph.outcome(), Outcome::refused);
}

TEST(GraphMisuse, a_circle_is_refused_by_the_names_of_its_nodes) {
  Graph graph;
  std::vector<Graph::Node> nodes;
  for (int count = 0; count < 5; ++count) nodes.push_back(graph.add_function([] {}));
  graph.order(nodes[0], nodes[1]);
  graph.order(nodes[1], nodes[2]);
  graph.order(nodes[2], nodes[3]);
  graph.order(nodes[3], nodes[1]);
  graph.order(nodes[3], nodes[4]);
  expect_error([&] { graph.prepare(); }, "nodes wait for each other in a circle (");
  expect_error([&] { graph.start(); }, "2 -> 3 -> 1 -> 2");
}

TEST(GraphMisuse, edges_to_the_same_node_or_to_other_graphs_are_refused) {
  Graph graph;
  Graph other;
  const auto mine = graph.add_function([] {});
  const auto foreign = other.add_function([] {});
  expect_error([&] { graph.order(mine, mine); }, "node 0 cannot come after itself");
  expect_error([&] { graph.order(mine, foreign); }, "node 0 belongs to another graph");
  expect_error([&] { graph.order({}, mine); }, "the node names nothing");
  expect_error([&] { graph.add_graph(graph); }, "a graph cannot be a node of itself");
}

TEST(GraphMisuse, graphs_that_contain_each_other_are_refused) {
  Graph a;
  Graph b;
  a.add_graph(b);
  b.add_graph(a);
  expect_error([&] { a.prepare(); }, "contains itself");
}

TEST(GraphMisuse, a_running_graph_is_neither_changed_nor_started) {
  Graph graph;
  Held held;
  const auto node = held.add_to(graph);
  const auto next = graph.add_function([] {});
  graph.start();
  expect_error([&] { graph.start(); }, "Graph::start: the graph is running");
  expect_error([&] { graph.add_function([] {}); }, "Graph::add: the graph is running");
  expect_error([&] { graph.order(node, next); }, "Graph::order: the graph is running");
  expect_error([&] { graph.set_completion(nullptr); }, "the graph is running");
  held.end();
  EXPECT_TRUE(graph.ready());
  graph.order(node, next);
  graph.start();
  held.end();
  EXPECT_TRUE(graph.ready());
}

}  // namespace
}  // namespace weft
