// What ranks learn of one that fails, on the simulated network.
#include "support/ranks.hpp"
#include "support/small_stack.hpp"

#include <weft/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>

namespace weft {
namespace {

using test::Recorder;

class PeerFailure : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int rank = 0; rank < 3; ++rank) {
      runtimes_.push_back(std::make_unique<Runtime>(simulation_, rank));
      endpoints_.push_back(std::make_unique<Endpoint>(*runtimes_.back()));
    }
  }
  void TearDown() override {
    endpoints_.clear();
    runtimes_.clear();
  }
  [[nodiscard]] bool until(const std::function<bool()>& condition) {
    return test::until(condition, [&] {
      for (auto& endpoint : endpoints_) endpoint->progress();
    });
  }
  [[nodiscard]] bool kill(int rank) {
    simulation_.kill(rank);
    return until([&] {
      for (int other = 0; other < 3; ++other)
        if (other != rank && runtimes_[static_cast<std::size_t>(other)]->failed_peers() == 0) return false;
      return true;
    });
  }
  Runtime& runtime(int rank) { return *runtimes_[static_cast<std::size_t>(rank)]; }
  Endpoint& endpoint(int rank) { return *endpoints_[static_cast<std::size_t>(rank)]; }

  sim::Simulation simulation_{{.ranks = 3, .delay = 10, .refuse = 0, .gone = 100}};
  std::vector<std::unique_ptr<Runtime>> runtimes_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

TEST_F(PeerFailure, is_listed_and_told_once_to_each_watcher) {
  Recorder first;
  Recorder late;
  Recorder forgotten;
  runtime(0).on_peer_failure(first);
  runtime(0).on_peer_failure(forgotten);
  runtime(0).forget_peer_failures(forgotten);
  EXPECT_EQ(runtime(0).failed_peers(), 0U);
  ASSERT_TRUE(kill(1));
  std::array<int, 2> failed{-1, -1};
  EXPECT_EQ(runtime(0).failed_peers(failed), 1U);
  EXPECT_EQ(failed[0], 1);
  EXPECT_TRUE(runtime(0).has_failed(1));
  EXPECT_FALSE(runtime(0).has_failed(2));
  ASSERT_EQ(first.messages.size(), 1U);
  EXPECT_EQ(first.messages[0].operation(), Operation::peer_failure);
  EXPECT_EQ(first.messages[0].outcome(), Outcome::peer_failed);
  EXPECT_EQ(first.messages[0].peer(), 1);
  runtime(0).on_peer_failure(late);
  ASSERT_EQ(late.messages.size(), 1U);
  EXPECT_EQ(late.messages[0].peer(), 1);
  ASSERT_TRUE(kill(2));
  ASSERT_TRUE(until([&] { return first.messages.size() == 2 && late.messages.size() == 2; }));
  EXPECT_EQ(runtime(0).failed_peers(failed), 2U);
  EXPECT_EQ(failed[1], 2);
  EXPECT_TRUE(forgotten.messages.empty());
  runtime(0).forget_peer_failures(first);
  runtime(0).forget_peer_failures(late);
}

TEST_F(PeerFailure, ends_synchronous_sends_that_it_has_not_matched) {
  MatchingEngine ordered(runtime(0), {.id = 256, .order = MatchOrder::ordered});
  std::deque<Recorder> ended;
  const auto bytes = test::payload(100'000, 1);
  for (const std::uint16_t engine : {std::uint16_t{0}, std::uint16_t{256}})
    for (const std::size_t size : {std::size_t{0}, std::size_t{8}, bytes.size()}) {
      Recorder& each = ended.emplace_back();
      ASSERT_TRUE(until([&] {
        return endpoint(0)
            .post_send(1, 1, Bytes(bytes).first(size),
                       {.completion = &each, .engine = engine, .synchronous = true})
            .is_posted();
      }));
    }
  ProbedMessage found;
  ASSERT_TRUE(until([&] { return endpoint(1).probe(0, 1, found, {.engine = 256}); }));
  for (const Recorder& each : ended) EXPECT_TRUE(each.messages.empty());
  ASSERT_TRUE(kill(1));
  for (const Recorder& each : ended) {
    ASSERT_TRUE(until([&] { return !each.messages.empty(); }));
    EXPECT_EQ(each.messages[0].outcome(), Outcome::peer_failed);
  }
  Recorder late;
  ASSERT_TRUE(until([&] {
    return endpoint(0).post_send(1, 1, {}, {.completion = &late, .synchronous = true}).is_accepted();
  }));
  ASSERT_TRUE(until([&] { return !late.messages.empty(); }));
  EXPECT_EQ(late.messages[0].outcome(), Outcome::peer_failed);
}

TEST_F(PeerFailure, ends_probes_that_wait_for_it_when_what_had_come_is_taken) {
  constexpr std::uint64_t kValue = 3;
  Counter sent;
  ASSERT_TRUE(until(
      [&] { return endpoint(1).post_send(0, 4, bytes_of(kValue), {.completion = &sent}).is_accepted(); }));
  ProbedMessage found;
  ASSERT_TRUE(until([&] { return endpoint(0).probe(1, 4, found); }));
  ASSERT_TRUE(kill(1));
  EXPECT_EQ(endpoint(0).wait_probe(1, 4, found), Outcome::ok);
  MatchedMessage message;
  EXPECT_EQ(endpoint(0).wait_matched_probe(1, 4, message), Outcome::ok);
  EXPECT_TRUE(message);
  EXPECT_EQ(endpoint(0).wait_probe(1, 4, found), Outcome::peer_failed);
  message = MatchedMessage();
  EXPECT_EQ(endpoint(0).wait_matched_probe(1, 4, message), Outcome::peer_failed);
  EXPECT_FALSE(message);
  // Another rank could still send what any source may.
  const ReceiveOptions options{.engine = 256, .timeout = std::chrono::milliseconds(5)};
  EXPECT_EQ(endpoint(0).wait_probe(any_source, 4, found, options), Outcome::timed_out);
}

TEST_F(PeerFailure, ends_vectored_operations_once) {
  constexpr std::size_t kSize = 40'000;
  constexpr std::size_t kKinds = 3;
  std::vector<std::byte> memory(kSize);
  const MemoryRegion region(runtime(1), memory);
  Recorder inbox;  // receives no parts
  const RemoteCompletion remote = runtime(1).expose(inbox, {.id = 1});
  std::vector<std::byte> buffer(kSize);
  const auto source = test::payload(kSize, 1);
  const auto post = [&](std::size_t kind, Completion& completion) {
    const std::size_t half = kSize / 2;
    if (kind == 0) {
      const std::array pieces = {PutPiece{region.remote().at(0), Bytes(source).first(half)},
                                 PutPiece{region.remote().at(half), Bytes(source).subspan(half)}};
      return endpoint(0).post_put(1, pieces, {.completion = &completion});
    }
    if (kind == 1) {
      const std::array pieces = {GetPiece{region.remote().at(0), std::span(buffer).first(half)},
                                 GetPiece{region.remote().at(half), std::span(buffer).subspan(half)}};
      return endpoint(0).post_get(1, pieces, {.completion = &completion});
    }
    const std::array parts = {Bytes(source).first(half), Bytes(source).subspan(half)};
    return endpoint(0).post_am(1, remote, Bytes(source).first(16), parts, {.completion = &completion});
  };
  std::deque<Recorder> ended;
  for (std::size_t count = 0; count < 30; ++count) {
    Recorder& each = ended.emplace_back();
    ASSERT_TRUE(until([&] { return post(count % kKinds, each).is_accepted(); }));
    for (std::size_t step = 0; step < count; ++step) endpoint(count % 2 == 0 ? 0 : 1).progress();
  }
  ASSERT_TRUE(kill(1));
  for (std::size_t count = 0; count < ended.size(); ++count) {
    ASSERT_TRUE(until([&] { return !ended[count].messages.empty(); })) << count;
    const Outcome outcome = ended[count].messages[0].outcome();
    EXPECT_TRUE(outcome == Outcome::peer_failed || (outcome == Outcome::ok && count % kKinds != 2))
        << count << name_of(outcome);
  }
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    Recorder& each = ended.emplace_back();
    ASSERT_TRUE(until([&] { return post(kind, each).is_accepted(); }));
    ASSERT_TRUE(until([&] { return !each.messages.empty(); })) << kind;
    EXPECT_EQ(each.messages[0].outcome(), Outcome::peer_failed) << kind;
  }
  for (int count = 0; count < 1000; ++count)
    for (int rank : {0, 2}) endpoint(rank).progress();
  for (const Recorder& each : ended) EXPECT_EQ(each.messages.size(), 1U);
}

TEST_F(PeerFailure, fails_the_graphs_that_need_the_rank) {
  const auto bytes = test::payload(100'000, 1);
  std::array<std::byte, 8> room{};
  Graph graph;
  const auto send = graph.add_send(endpoint(0), 1, 5, bytes);
  const auto receive = graph.add_receive(endpoint(0), 1, 5, room);
  int after = 0;
  graph.order(send, graph.add_function([&] { ++after; }));
  graph.order(receive, graph.add_function([&] { ++after; }));
  graph.start();
  for (int count = 0; count < 200; ++count) endpoint(0).progress();
  ASSERT_TRUE(kill(1));
  ASSERT_TRUE(until([&] { return graph.test(); }));
  EXPECT_EQ(graph.outcome(), Outcome::peer_failed);
  // And once more, when it is known.
  graph.start();
  ASSERT_TRUE(until([&] { return graph.test(); }));
  EXPECT_EQ(graph.outcome(), Outcome::peer_failed);
  EXPECT_EQ(after, 0);
}

TEST_F(PeerFailure, leaves_receives_of_any_sender_to_their_timeouts) {
  const MatchingEngine ordered(runtime(0), {.id = kMatchingEngines, .order = MatchOrder::ordered});
  std::array<std::byte, 8> room{};
  Recorder ended;
  ASSERT_TRUE(kill(1));
  for (const ReceiveOptions& options :
       {ReceiveOptions{.policy = MatchingPolicy::tag_only}, ReceiveOptions{.engine = ordered.id()}}) {
    ReceiveOptions with = options;
    with.completion = &ended;
    with.timeout = std::chrono::milliseconds(1);
    ASSERT_TRUE(endpoint(0).post_receive(any_source, 7, room, with).is_posted());
  }
  ASSERT_TRUE(until([&] { return ended.messages.size() == 2; }));
  for (const Message& message : ended.messages) EXPECT_EQ(message.outcome(), Outcome::timed_out);
}

TEST_F(PeerFailure, of_a_rank_that_leaves_in_order_is_none) {
  endpoints_[1].reset();
  runtimes_[1].reset();
  for (int count = 0; count < 1000; ++count) endpoint(0).progress();
  EXPECT_FALSE(runtime(0).has_failed(1));
  EXPECT_EQ(runtime(0).failed_peers(), 0U);
  endpoints_.erase(endpoints_.begin() + 1);
}

TEST_F(PeerFailure, ends_receives_that_nobody_else_can_match) {
  std::array<std::byte, 16> room{};
  Recorder lost;
  Recorder kept;
  ReceiveHandle handle;
  ReceiveHandle wildcard;
  const MatchingEngine ordered(runtime(0), {.id = kMatchingEngines, .order = MatchOrder::ordered});
  const MatchingEngine serial(runtime(0), {.id = 1, .serial = true});
  const auto post = [&](Recorder& recorder, int source, ReceiveOptions options) {
    options.completion = &recorder;
    return endpoint(0).post_receive(source, 7, room, options).is_posted();
  };
  ASSERT_TRUE(post(lost, 1, {}));
  ASSERT_TRUE(post(lost, 1, {.policy = MatchingPolicy::rank_only}));
  ASSERT_TRUE(post(lost, 1, {.engine = ordered.id()}));
  ASSERT_TRUE(post(lost, 1, {.engine = serial.id()}));
  ASSERT_TRUE(post(kept, 2, {}));
  ASSERT_TRUE(post(kept, 1, {.policy = MatchingPolicy::tag_only, .handle = &handle}));
  ASSERT_TRUE(post(kept, any_source, {.engine = ordered.id(), .handle = &wildcard}));
  ASSERT_TRUE(kill(1));
  ASSERT_TRUE(until([&] { return lost.messages.size() == 4; }));
  for (const Message& message : lost.messages) {
    EXPECT_EQ(message.outcome(), Outcome::peer_failed);
    EXPECT_EQ(message.operation(), Operation::receive);
    EXPECT_EQ(message.peer(), 1);
    EXPECT_EQ(message.size(), 0U);
  }
  // Those that are posted now end before the post returns.
  ASSERT_TRUE(post(lost, 1, {}));
  ASSERT_TRUE(post(lost, 1, {.engine = ordered.id()}));
  ASSERT_TRUE(post(lost, 1, {.engine = serial.id()}));
  EXPECT_EQ(lost.messages.size(), 7U);
  EXPECT_EQ(kept.messages.size(), 0U);
  ASSERT_TRUE(until([&] { return endpoint(2).post_send(0, 7, {}).is_accepted(); }));
  ASSERT_TRUE(until([&] { return kept.messages.size() == 1; }));
  EXPECT_EQ(kept.messages[0].outcome(), Outcome::ok);
  EXPECT_TRUE(endpoint(0).cancel(handle));
  EXPECT_TRUE(endpoint(0).cancel(wildcard));
}

/// Every receive below takes a fast path: the completion object is known, and the engine has records.
TEST_F(PeerFailure, ends_receives_of_serial_engines_that_were_posted_by_fast_paths_alone) {
  for (const std::uint16_t id : {std::uint16_t{1}, std::uint16_t{257}}) {
    const MatchOrder order = id < kMatchingEngines ? MatchOrder::unordered : MatchOrder::ordered;
    const MatchingEngine serial(runtime(0), {.id = id, .order = order, .serial = true});
    std::array<std::byte, 16> room{};
    Recorder received;
    const auto post = [&](int source, std::uint64_t tag) {
      return endpoint(0)
          .post_receive(source, tag, room, {.completion = &received, .engine = serial.id()})
          .is_posted();
    };
    ASSERT_TRUE(endpoint(0).post_receive(2, 1, room, {.completion = &received}).is_posted());
    ASSERT_TRUE(until([&] { return endpoint(2).post_send(0, 1, {}).is_accepted(); }));
    constexpr std::size_t kBefore = 100;  // messages that come before their receives
    for (std::size_t message = 0; message < kBefore; ++message)
      ASSERT_TRUE(
          until([&] { return endpoint(2).post_send(0, 7, {}, {.engine = serial.id()}).is_accepted(); }));
    ASSERT_TRUE(until([&] { return runtime(0).counters().unexpected_now == kBefore; }));
    for (std::size_t message = 0; message < kBefore; ++message) ASSERT_TRUE(post(2, 7));
    ASSERT_TRUE(until([&] { return received.messages.size() == kBefore + 1; }));
    received.messages.clear();
    const int victim = id < kMatchingEngines ? 1 : 2;
    constexpr std::size_t kLost = 5;
    for (std::uint64_t tag = 0; tag < kLost; ++tag) ASSERT_TRUE(post(victim, 100 + tag));
    simulation_.kill(victim);
    ASSERT_TRUE(until([&] { return received.messages.size() == kLost; })) << received.messages.size();
    for (const Message& message : received.messages) EXPECT_EQ(message.outcome(), Outcome::peer_failed);
  }
}

TEST_F(PeerFailure, leaves_what_had_arrived) {
  std::array<std::byte, 16> room{};
  Recorder received;
  const std::uint64_t value = 42;
  ASSERT_TRUE(until([&] { return endpoint(1).post_send(0, 5, bytes_of(value)).is_accepted(); }));
  // A large one is only announced, and lost with its sender.
  const auto large = test::payload(500'000, 1);
  Counter ignored;
  ASSERT_TRUE(
      until([&] { return endpoint(1).post_send(0, 6, large, {.completion = &ignored}).is_accepted(); }));
  ProbedMessage found;
  ASSERT_TRUE(until([&] { return endpoint(0).probe(1, 5, found) && endpoint(0).probe(1, 6, found); }));
  ASSERT_TRUE(kill(1));
  EXPECT_TRUE(endpoint(0).probe(1, 5, found));
  EXPECT_FALSE(endpoint(0).probe(1, 6, found));
  ASSERT_TRUE(endpoint(0).post_receive(1, 5, room, {.completion = &received}).is_posted());
  ASSERT_TRUE(endpoint(0).post_receive(1, 6, room, {.completion = &received}).is_posted());
  ASSERT_EQ(received.messages.size(), 2U);
  EXPECT_EQ(received.messages[0].outcome(), Outcome::ok);
  EXPECT_EQ(received.messages[0].as<std::uint64_t>(), value);
  EXPECT_EQ(received.messages[1].outcome(), Outcome::peer_failed);
}

/// What is posted to a rank that has failed ends at once, and so does what is watched; chains of either nest
/// little.
TEST_F(PeerFailure, ends_chains_of_posts_and_of_watchers_on_a_small_stack) {
  constexpr int kLength = 3000;
  Counter inbox;
  const RemoteCompletion remote = runtime(1).expose(inbox, {.id = 1});
  ASSERT_TRUE(until([&] { return endpoint(0).post_am(1, remote, {}).is_accepted(); }));
  ASSERT_TRUE(kill(1));
  int count = 0;
  int depth = 0;
  int deepest = 0;
  std::function<Status()> post;
  const auto goes_on = [&](Message& message) {
    EXPECT_EQ(message.outcome(), Outcome::peer_failed);
    deepest = std::max(deepest, ++depth);
    if (++count % kLength != 0) {
      EXPECT_TRUE(post().is_posted());
    }
    --depth;
  };
  Handler ended{goes_on};
  std::function<void()> watch_next;
  std::deque<Handler<std::function<void(Message&)>>> watchers;
  for (int each = 0; each < kLength; ++each)
    watchers.emplace_back([&](Message&) {
      deepest = std::max(deepest, ++depth);
      ++count;
      watch_next();
      --depth;
    });
  std::size_t watched = 0;
  watch_next = [&] {
    if (watched < watchers.size()) runtime(0).on_peer_failure(watchers[watched++]);
  };
  bool is_over = false;
  auto whole = [&] {
    const std::function<Status()> posts[] = {
        [&] { return endpoint(0).post_am(1, remote, {}, {.completion = &ended}); },
        [&] { return endpoint(0).post_send(1, 7, {}, {.completion = &ended}); },
        [&] { return endpoint(0).post_receive(1, 7, {}, {.completion = &ended}); }};
    for (const auto& each : posts) {
      post = each;
      count = 0;
      ASSERT_TRUE(until([&] { return post().is_posted(); }));
      ASSERT_TRUE(until([&] { return count == kLength; }));
    }
    count = 0;
    watch_next();
    is_over = count == kLength;
  };
  ASSERT_TRUE(test::on_small_stack(whole));
  EXPECT_TRUE(is_over) << count;
  EXPECT_LE(deepest, 6);
  for (auto& watcher : watchers) runtime(0).forget_peer_failures(watcher);
}

}  // namespace
}  // namespace weft
