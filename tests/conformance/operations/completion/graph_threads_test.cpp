// Graphs whose nodes end in several threads at once, are refused, and fail: every run ends, and as it should.
#include "support/graphs.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace weft {
namespace {

constexpr std::size_t kThreads = 3;
constexpr std::size_t kLayers = 20;
constexpr std::size_t kWidth = 6;
constexpr std::size_t kNodes = kLayers * kWidth;

/// Threads that end the operations of nodes as soon as they are posted; node n belongs to thread n %
/// kThreads.
class Enders {
 public:
  Enders() {
    for (std::size_t thread = 0; thread < kThreads; ++thread)
      threads_.emplace_back([this, thread] {
        while (!stop_.load(std::memory_order_relaxed)) {
          bool found = false;
          for (std::size_t node = thread; node < kNodes; node += kThreads)
            if (Completion* completion = posted_[node].exchange(nullptr, std::memory_order_acquire)) {
              found = true;
              test::signal(*completion, node == failing_.load(std::memory_order_relaxed) ? Outcome::truncated
                                                                                         : Outcome::ok);
            }
          if (!found) std::this_thread::yield();
        }
      });
  }
  ~Enders() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  void post(std::size_t node, Completion& completion) {
    posted_[node].store(&completion, std::memory_order_release);
  }
  /// From the next run on.
  void fail(std::size_t node) { failing_.store(node, std::memory_order_relaxed); }

 private:
  std::array<std::atomic<Completion*>, kNodes> posted_ = {};
  std::atomic<std::size_t> failing_{kNodes};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

TEST(GraphThreads, end_layers_that_depend_on_all_of_the_one_before) {
  constexpr std::size_t kRuns = 100;
  Enders enders;
  std::atomic<std::size_t> begun{0};
  std::size_t layers_ended = 0;
  Graph graph;
  Graph::Node before = graph.add_function([] {});
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    const Graph::Node after = graph.add_function([&] { ++layers_ended; });
    for (std::size_t place = 0; place < kWidth; ++place) {
      const Graph::Node node = graph.add([&, number = layer * kWidth + place](Completion& completion) {
        begun.fetch_add(1, std::memory_order_relaxed);
        enders.post(number, completion);
        return Status::posted();
      });
      graph.order(before, node);
      graph.order(node, after);
    }
    before = after;
  }
  for (std::size_t run = 1; run <= kRuns; ++run) {
    graph.start();
    ASSERT_TRUE(test::until([&] { return graph.ready(); }, [] { std::this_thread::yield(); }));
    ASSERT_EQ(layers_ended, run * kLayers);
    ASSERT_EQ(begun, run * kNodes);
  }
}

TEST(GraphThreads, end_every_run_with_refusals_and_failures) {
  constexpr std::size_t kRuns = 300;
  Enders enders;
  std::array<std::atomic<std::uint32_t>, kNodes> attempts = {};
  Graph graph;
  std::vector<Graph::Node> nodes;
  std::vector<std::array<std::size_t, 2>> edges;
  for (std::size_t number = 0; number < kNodes; ++number) {
    nodes.push_back(graph.add([&, number](Completion& completion) {
      // Refused up to three times.
      if (attempts[number].fetch_add(1, std::memory_order_relaxed) < number * 7 % 4)
        return Status::retry(Reason::backlog);
      enders.post(number, completion);
      return Status::posted();
    }));
    for (std::size_t edge = 0; number >= kWidth && edge < 3; ++edge) {
      const std::size_t before = (number / kWidth - 1) * kWidth + (number * 5 + edge * 2) % kWidth;
      edges.push_back({before, number});
      graph.order(nodes[before], nodes[number]);
    }
  }
  for (std::size_t run = 0; run < kRuns; ++run) {
    const bool fails = run % 3 != 0;
    enders.fail(fails ? run * 37 % kNodes : kNodes);
    for (auto& count : attempts) count.store(0, std::memory_order_relaxed);
    graph.start();
    ASSERT_TRUE(test::until([&] { return graph.test(); }, [] { std::this_thread::yield(); }))
        << "run " << run;
    ASSERT_EQ(graph.outcome(), fails ? Outcome::truncated : Outcome::ok) << "run " << run;
    for (const auto& [before, after] : edges) {
      if (graph.outcome(nodes[after]) != Outcome::cancelled) {
        ASSERT_EQ(graph.outcome(nodes[before]), Outcome::ok)
            << "run " << run << ", " << before << " " << after;
      }
    }
    for (const Graph::Node node : nodes) {
      if (!fails) {
        ASSERT_EQ(graph.outcome(node), Outcome::ok);
      }
    }
  }
}

}  // namespace
}  // namespace weft
