// Graphs of operations between ranks: every kind of post, chains across ranks, refusals, threads.
#include "support/one_sided.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::matches;
using test::payload;
using test::Ranks;

std::span<std::byte> writable(std::vector<std::byte>& bytes) { return {bytes.data(), bytes.size()}; }

TEST(GraphOfOperations, exchanges_messages_of_all_sizes_a_thousand_times) {
  Ranks<Endpoint> ranks(2);
  ASSERT_TRUE(ranks.meet());
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{1024}, std::size_t{100'000}}) {
    const int runs = size > 10'000 ? 50 : 1000;
    std::vector<std::byte> out(size);
    std::vector<std::byte> in[2] = {std::vector<std::byte>(size), std::vector<std::byte>(size)};
    // Rank 0 sends, rank 1 receives and sends back what it has got, rank 0 receives.
    Graph there;
    Graph back;
    there.add_send(ranks.endpoint(0), 1, 5, out);
    there.add_receive(ranks.endpoint(0), 1, 6, writable(in[0]));
    const auto got = back.add_receive(ranks.endpoint(1), 0, 5, writable(in[1]));
    const auto sent = back.add_send(ranks.endpoint(1), 0, 6, in[1]);
    back.order(got, sent);
    for (int run = 0; run < runs; ++run) {
      test::fill(out, static_cast<std::uint64_t>(run));
      there.start();
      back.start();
      ASSERT_TRUE(ranks.progress_until([&] {
        const bool first = there.test();
        return back.test() && first;
      })) << size
          << " bytes, run " << run;
      ASSERT_EQ(there.outcome(), Outcome::ok);
      ASSERT_TRUE(matches(in[0], static_cast<std::uint64_t>(run))) << size << " bytes, run " << run;
    }
  }
}

TEST(GraphOfOperations, takes_active_messages_puts_and_gets) {
  Ranks<Endpoint> ranks(2);
  ASSERT_TRUE(ranks.meet());
  Counter arrived;
  Counter signalled;
  const RemoteCompletion handle = ranks.runtime(1).expose(arrived, {.id = 1});
  const RemoteCompletion signal = ranks.runtime(1).expose(signalled, {.id = 2});
  MemoryRegion region = MemoryRegion::allocate(ranks.runtime(1), 4096);
  const RemoteRegion remote = region.remote();
  const auto source = payload(3000, 3);
  std::vector<std::byte> copy(3000);
  const std::uint64_t word = 7;
  Graph graph;
  const auto put = graph.add_put(ranks.endpoint(0), 1, remote.at(64), source, {.signal = signal});
  const auto get = graph.add_get(ranks.endpoint(0), 1, remote.at(64), writable(copy));
  const auto told = graph.add_am(ranks.endpoint(0), 1, handle, bytes_of(word));
  graph.order(put, get);
  graph.order(get, told);
  for (std::uint64_t run = 1; run <= 10; ++run) {
    std::fill(copy.begin(), copy.end(), std::byte{0});
    graph.start();
    ASSERT_TRUE(ranks.progress_until([&] { return graph.test() && arrived.value() == run; }));
    EXPECT_EQ(graph.outcome(), Outcome::ok);
    EXPECT_TRUE(matches(copy, 3));
    ASSERT_TRUE(ranks.progress_until([&] { return signalled.value() == run; }));
  }
}

TEST(GraphOfOperations, fails_when_a_receive_is_truncated) {
  Ranks<Endpoint> ranks(2);
  ASSERT_TRUE(ranks.meet());
  const auto bytes = payload(64, 1);
  std::vector<std::byte> small(8);
  bool called = false;
  Graph graph;
  const auto in = graph.add_receive(ranks.endpoint(1), 0, 9, writable(small));
  graph.order(in, graph.add_function([&] { called = true; }));
  graph.start();
  Graph sender;
  sender.add_send(ranks.endpoint(0), 1, 9, bytes);
  sender.start();
  ASSERT_TRUE(ranks.progress_until([&] { return graph.test() && sender.test(); }));
  EXPECT_EQ(graph.outcome(), Outcome::truncated);
  EXPECT_EQ(sender.outcome(), Outcome::ok);
  EXPECT_FALSE(called);
}

TEST(GraphOfOperations, loses_no_node_when_even_the_backlog_is_full) {
  constexpr std::uint64_t kMessages = 2000;
  Ranks<Endpoint> ranks(2, {{"backlog", "16"}, {"backlog_peer", "16"}});
  ASSERT_TRUE(ranks.meet());
  Counter arrived;
  const RemoteCompletion handle = ranks.runtime(1).expose(arrived, {.id = 1});
  const auto bytes = payload(1500, 1);
  Graph graph;
  for (std::uint64_t message = 0; message < kMessages; ++message)
    graph.add_am(ranks.endpoint(0), 1, handle, bytes);
  for (std::uint64_t run = 1; run <= 2; ++run) {
    graph.start();  // the receiver does not progress meanwhile
    ASSERT_TRUE(ranks.progress_until([&] { return graph.test() && arrived.value() == run * kMessages; }));
    EXPECT_EQ(graph.outcome(), Outcome::ok);
  }
}

TEST(GraphOfOperations, is_started_by_a_message_of_a_peer) {
  Ranks<Endpoint> ranks(2);
  ASSERT_TRUE(ranks.meet());
  Counter answers;
  const RemoteCompletion answer = ranks.runtime(0).expose(answers, {.id = 1});
  Graph graph;
  int calls = 0;
  const auto call = graph.add_function([&] { ++calls; });
  graph.order(call, graph.add_am(ranks.endpoint(1), 0, answer, {}));
  graph.prepare();
  const RemoteCompletion start = ranks.runtime(1).expose(graph, {.id = 2});
  for (int run = 1; run <= 20; ++run) {
    ASSERT_TRUE(ranks.post(0, 1, start, {}).has_value());
    ASSERT_TRUE(ranks.progress_until(
        [&] { return answers.value() == static_cast<std::uint64_t>(run) && graph.test(); }));
    EXPECT_EQ(calls, run);
  }
  EXPECT_EQ(graph.lost(), 0U);
}

TEST(GraphOfOperations, is_waited_for_by_threads_of_their_own) {
  constexpr std::uint64_t kRuns = 200;
  Ranks<Endpoint> ranks(2);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Endpoint& endpoint = ranks.endpoint(rank);
      std::uint64_t mine = 0;
      std::uint64_t theirs = 0;
      std::uint64_t sum = 0;
      std::uint64_t run = 0;  // also the tag: the peer may be one run ahead, and messages may overtake
      Graph graph;
      const auto out = graph.add([&](Completion& node) {
        return endpoint.post_send(1 - rank, run, bytes_of(mine), {.completion = &node, .may_retry = false});
      });
      const auto in = graph.add([&](Completion& node) {
        return endpoint.post_receive(1 - rank, run, std::as_writable_bytes(std::span{&theirs, 1}),
                                     {.completion = &node, .may_retry = false});
      });
      const auto add = graph.add_function([&] { sum = mine + theirs; });
      graph.order(out, add);
      graph.order(in, add);
      for (; run < kRuns; ++run) {
        mine = static_cast<std::uint64_t>(rank) * 1000 + run;
        graph.start();
        if (endpoint.wait(graph) != Outcome::ok || sum != 1000 + 2 * run) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft
