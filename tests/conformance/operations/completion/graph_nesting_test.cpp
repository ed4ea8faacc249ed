// Graphs as completion objects, and as nodes of others.
#include "support/graphs.hpp"
#include "support/small_stack.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace weft {
namespace {

using test::Held;
using test::signal;

TEST(GraphAsCompletion, tells_another_object_of_its_end) {
  Graph graph;
  CompletionQueue queue;
  int mark = 0;
  bool fail = false;
  graph.add_function([&] { return fail ? Outcome::timed_out : Outcome::ok; });
  graph.set_completion(&queue, &mark);
  graph.start();
  fail = true;
  graph.start();
  Message message;
  for (const Outcome outcome : {Outcome::ok, Outcome::timed_out}) {
    ASSERT_TRUE(queue.pop(message));
    EXPECT_EQ(message.operation(), Operation::graph);
    EXPECT_EQ(message.user_data(), &mark);
    EXPECT_EQ(message.outcome(), outcome);
  }
  Counter counter;
  graph.set_completion(&counter);
  graph.start();
  EXPECT_EQ(counter.value(), 1U);
}

TEST(GraphAsCompletion, starts_when_it_is_signalled_and_passes_failures_on) {
  Graph first;
  Graph second;
  Held held;
  int calls = 0;
  held.add_to(first);
  second.add_function([&] { ++calls; });
  second.prepare();
  first.set_completion(&second);
  first.start();
  held.end();
  EXPECT_TRUE(second.ready());
  EXPECT_EQ(calls, 1);
  first.start();
  held.end(Outcome::peer_failed);
  EXPECT_EQ(second.outcome(), Outcome::peer_failed);
  EXPECT_EQ(calls, 1);
}

TEST(GraphAsCompletion, counts_and_reports_signals_that_it_cannot_take) {
  Graph graph;
  Held held;
  held.add_to(graph);
  testing::internal::CaptureStderr();
  signal(graph);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("before the graph was prepared"), std::string::npos);
  graph.start();
  signal(graph);
  EXPECT_EQ(graph.lost(), 2U);
  held.end();
  EXPECT_TRUE(graph.ready());
}

TEST(GraphInGraph, is_a_node_that_ends_with_the_inner_graph) {
  Graph inner;
  Graph outer;
  Held held;
  int before = 0;
  int after = 0;
  held.add_to(inner);
  const auto first = outer.add_function([&] { ++before; });
  const auto middle = outer.add_graph(inner);
  const auto last = outer.add_function([&] { ++after; });
  outer.order(first, middle);
  outer.order(middle, last);
  for (int run = 1; run <= 3; ++run) {
    outer.start();
    EXPECT_EQ(before, run);
    EXPECT_FALSE(outer.ready());
    held.end();
    EXPECT_TRUE(inner.ready());
    EXPECT_TRUE(outer.ready());
    EXPECT_EQ(after, run);
  }
  outer.start();
  held.end(Outcome::truncated);
  EXPECT_EQ(outer.outcome(), Outcome::truncated);
  EXPECT_EQ(outer.outcome(last), Outcome::cancelled);
}

TEST(GraphInGraph, in_several_nodes_runs_once_for_each) {
  Graph inner;
  Graph outer;
  Held held;
  held.add_to(inner);
  outer.add_graph(inner);
  outer.add_graph(inner);
  outer.start();
  EXPECT_EQ(held.begun, 1);
  held.end();
  EXPECT_FALSE(outer.test());
  EXPECT_EQ(held.begun, 2);
  held.end();
  EXPECT_TRUE(outer.ready());
}

TEST(GraphInGraph, that_changes_under_a_running_one_fails_it) {
  Graph inner;
  Graph outer;
  Held held;
  const auto first = held.add_to(outer);
  outer.order(first, outer.add_graph(inner));
  outer.start();
  inner.add_function([] {});
  testing::internal::CaptureStderr();
  held.end();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("changed after the start"), std::string::npos);
  EXPECT_TRUE(outer.ready());
  EXPECT_EQ(outer.outcome(), Outcome::refused);
}

TEST(GraphAsCompletion, starts_chains_of_graphs_on_a_small_stack) {
  constexpr std::size_t kGraphs = 3000;
  std::size_t calls = 0;
  std::vector<std::unique_ptr<Graph>> graphs;
  for (std::size_t each = 0; each < kGraphs; ++each) {
    graphs.push_back(std::make_unique<Graph>());
    graphs.back()->add_function([&] { ++calls; });
  }
  // Each is started by the end of the one before: by its signal, or by a handler.
  std::size_t next = 0;
  Handler starts_next{[&](Message&) { graphs[next + 1]->start(); }};
  for (std::size_t each = 0; each < kGraphs; ++each) {
    if (each % 2 == 1) graphs[each - 1]->set_completion(&starts_next);
    if (each % 2 == 0 && each != 0) graphs[each - 1]->set_completion(graphs[each].get());
    graphs[each]->add_function([&next, each] { next = each; });
    graphs[each]->prepare();
  }
  auto whole = [&] { graphs.front()->start(); };
  ASSERT_TRUE(test::on_small_stack(whole));
  EXPECT_EQ(calls, kGraphs);
  for (const auto& graph : graphs) EXPECT_TRUE(graph->ready());
}

TEST(GraphAsCompletion, starts_two_graphs_by_turns_on_a_small_stack) {
  constexpr int kRounds = 20'000;
  Graph ping;
  Graph pong;
  int rounds = 0;
  ping.add_function([&] { ++rounds; });
  pong.add_function([] {});
  ping.set_completion(&pong);
  Handler back{[&](Message&) {
    if (rounds < kRounds) ping.start();
  }};
  pong.set_completion(&back);
  pong.prepare();
  auto whole = [&] { ping.start(); };
  ASSERT_TRUE(test::on_small_stack(whole));
  EXPECT_EQ(rounds, kRounds);
  EXPECT_TRUE(pong.ready());
  EXPECT_EQ(ping.lost() + pong.lost(), 0U);
}

}  // namespace
}  // namespace weft
