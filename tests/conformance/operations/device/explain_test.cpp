// What explanations list of a runtime's operations.
#include "core/diagnosis/rank_report.hpp"
#include "core/runtime/runtime_state.hpp"
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

using core::PendingKind;
using core::PendingOperation;
using test::Ranks;
using test::Recorder;
using test::until;

std::vector<PendingOperation> pending(Runtime& runtime, PendingKind kind) {
  core::PendingList list(100);
  std::vector<std::string> notes;
  runtime.state().describe(list, notes);
  std::vector<PendingOperation> found;
  std::copy_if(list.operations().begin(), list.operations().end(), std::back_inserter(found),
               [&](const PendingOperation& operation) { return operation.kind == kind; });
  return found;
}

TEST(Explain, ListsPostedReceivesWithSourceTagAndRoom) {
  Ranks<Endpoint> ranks(2);
  Counter received;
  std::byte room[24];
  ReceiveHandle handle;
  ASSERT_TRUE(
      ranks.endpoint(0).post_receive(1, 7, room, {.completion = &received, .handle = &handle}).is_posted());
  const auto receives = pending(ranks.runtime(0), PendingKind::receive);
  ASSERT_EQ(receives.size(), 1U);
  EXPECT_EQ(receives[0].peer, 1);
  EXPECT_TRUE(receives[0].has_tag);
  EXPECT_EQ(receives[0].tag, 7U);
  EXPECT_EQ(receives[0].size, sizeof room);
  EXPECT_EQ(receives[0].completion, &received);
  EXPECT_TRUE(ranks.endpoint(0).cancel(handle));
  EXPECT_TRUE(pending(ranks.runtime(0), PendingKind::receive).empty());
}

TEST(Explain, ListsOfAReceiveWhatItsPolicyLooksAt) {
  struct Case {
    MatchingPolicy policy;
    bool by_rank;
    bool by_tag;
  };
  constexpr Case kCases[] = {{MatchingPolicy::rank_and_tag, true, true},
                             {MatchingPolicy::rank_only, true, false},
                             {MatchingPolicy::tag_only, false, true},
                             {MatchingPolicy::any, false, false}};
  Ranks<Endpoint> ranks(2);
  for (const Case& each : kCases) {
    Counter received;
    std::byte room[8];
    ReceiveHandle handle;
    ASSERT_TRUE(
        ranks.endpoint(0)
            .post_receive(1, 7, room, {.completion = &received, .policy = each.policy, .handle = &handle})
            .is_posted());
    const auto receives = pending(ranks.runtime(0), PendingKind::receive);
    ASSERT_EQ(receives.size(), 1U);
    EXPECT_EQ(receives[0].peer, each.by_rank ? 1 : PendingOperation::kAnybody);
    EXPECT_EQ(receives[0].has_tag, each.by_tag);
    EXPECT_TRUE(ranks.endpoint(0).cancel(handle));
  }
}

TEST(Explain, ShowsReceivesOfContextsByTheirTags) {
  Ranks<Endpoint> ranks(2);
  const MatchingContext by_key(ranks.runtime(0), {.key = 12});
  const MatchingContext needs_all(ranks.runtime(0),
                                  {.order = MatchOrder::ordered, .key = 13, .needs_all_members = true});
  Counter received;
  std::byte room[8];
  ASSERT_TRUE(ranks.endpoint(0).post_receive(1, by_key.tag(7), room, {.completion = &received}).is_posted());
  ASSERT_TRUE(
      ranks.endpoint(0).post_receive(1, needs_all.tag(8), room, {.completion = &received}).is_posted());
  core::Report report;
  for (const PendingOperation& operation : pending(ranks.runtime(0), PendingKind::receive))
    report.operations.push_back({operation, "", 0});
  ASSERT_EQ(report.operations.size(), 2U);
  const std::string text = core::to_text(report, "a test");
  EXPECT_NE(text.find("receive from rank 1, tag 7 of context key 12, room for 8 bytes"), std::string::npos)
      << text;
  EXPECT_NE(text.find("receive from rank 1, of a Collective, room for 8 bytes"), std::string::npos) << text;
  EXPECT_NE(core::to_json(report).find(R"("tag_text":"tag 7 of context key 12")"), std::string::npos);
}

TEST(Explain, ListsWildcardsOfOrderedEnginesAsSuch) {
  Ranks<Endpoint> ranks(2);
  MatchingEngine engine(ranks.runtime(0), {.id = kMatchingEngines, .order = MatchOrder::ordered});
  Counter received;
  std::byte room[8];
  ReceiveHandle handle;
  ASSERT_TRUE(ranks.endpoint(0)
                  .post_receive(any_source, any_tag, room,
                                {.completion = &received, .engine = kMatchingEngines, .handle = &handle})
                  .is_posted());
  const auto receives = pending(ranks.runtime(0), PendingKind::receive);
  ASSERT_EQ(receives.size(), 1U);
  EXPECT_EQ(receives[0].peer, PendingOperation::kAnybody);
  EXPECT_FALSE(receives[0].has_tag);
  EXPECT_EQ(receives[0].engine, static_cast<int>(kMatchingEngines));
  EXPECT_TRUE(ranks.endpoint(0).cancel(handle));
}

TEST(Explain, ListsMessagesThatNoReceiveFits) {
  Ranks<Endpoint> ranks(2);
  const std::uint64_t value = 5;
  ASSERT_TRUE(until([&] { return ranks.endpoint(1).post_send(0, 9, bytes_of(value)).is_accepted(); },
                    [&] { ranks.progress(); }));
  ASSERT_TRUE(until([&] { return !pending(ranks.runtime(0), PendingKind::held_message).empty(); },
                    [&] { ranks.progress(); }));
  const auto held = pending(ranks.runtime(0), PendingKind::held_message);
  EXPECT_EQ(held[0].peer, 1);
  EXPECT_EQ(held[0].tag, 9U);
  EXPECT_EQ(held[0].size, sizeof value);
  std::uint64_t received = 0;
  static_cast<void>(ranks.endpoint(0).receive(1, 9, std::as_writable_bytes(std::span(&received, 1))));
  EXPECT_TRUE(pending(ranks.runtime(0), PendingKind::held_message).empty());
}

TEST(Explain, ListsLargeSendsUntilTheyAreReceived) {
  Ranks<Endpoint> ranks(2);
  const auto bytes = test::payload(300'000, 1);
  std::vector<std::byte> room(bytes.size());
  Counter sent;
  Counter received;
  ASSERT_TRUE(
      until([&] { return ranks.endpoint(0).post_send(1, 3, bytes, {.completion = &sent}).is_accepted(); },
            [&] { ranks.progress(); }));
  const auto sends = pending(ranks.runtime(0), PendingKind::send);
  ASSERT_EQ(sends.size(), 1U);
  EXPECT_EQ(sends[0].peer, 1);
  EXPECT_EQ(sends[0].tag, 3U);
  EXPECT_EQ(sends[0].size, bytes.size());
  EXPECT_EQ(sends[0].completion, &sent);
  ASSERT_TRUE(ranks.endpoint(1).post_receive(0, 3, room, {.completion = &received}).is_accepted());
  ASSERT_TRUE(until([&] { return sent.value() == 1 && received.value() == 1; }, [&] { ranks.progress(); }));
  EXPECT_TRUE(pending(ranks.runtime(0), PendingKind::send).empty());
  EXPECT_EQ(room, bytes);
}

TEST(Explain, ListsWhatIsKeptForRetry) {
  Ranks<Endpoint> ranks(2);
  Counter sent;
  // Nobody exposes this handle: the peer is not ready for it.
  const RemoteCompletion nobody(77, 1, 0);
  const int value = 1;  // borrowed until the message is sent
  ASSERT_TRUE(ranks.endpoint(0)
                  .post_am(1, nobody, bytes_of(value), {.completion = &sent, .tag = 4, .may_retry = false})
                  .is_posted());
  ASSERT_TRUE(until([&] { return !pending(ranks.runtime(0), PendingKind::active_message).empty(); },
                    [&] { ranks.endpoint(0).progress(); }));
  const auto kept = pending(ranks.runtime(0), PendingKind::active_message);
  EXPECT_EQ(kept[0].peer, 1);
  EXPECT_EQ(kept[0].tag, 4U);
  EXPECT_EQ(kept[0].completion, &sent);
  // So that it ends.
  CompletionQueue inbox;
  static_cast<void>(ranks.runtime(1).expose(inbox, {.id = 77}));
  ASSERT_TRUE(until([&] { return sent.value() == 1; }, [&] { ranks.progress(); }));
}

TEST(Explain, TellsTheRoomOfListsThatAreKept) {
  Ranks<Endpoint> ranks(2, {{"matching_records", "64"}});
  Endpoint& endpoint = ranks.endpoint(0);
  Recorder others;
  Recorder received;
  std::array<std::byte, 24> room{};
  std::vector<ReceiveHandle> handles;
  for (std::uint64_t tag = 100;; ++tag) {
    ReceiveHandle handle;
    if (endpoint.post_receive(1, tag, room, {.completion = &others, .handle = &handle}).is_retry()) break;
    handles.push_back(handle);
  }
  const std::array<MutableBytes, 2> parts = {std::span(room).first(7), std::span(room).subspan(7)};
  ASSERT_TRUE(endpoint.post_receive(1, 7, parts, {.completion = &received, .may_retry = false}).is_posted());
  const auto receives = pending(ranks.runtime(0), PendingKind::receive);
  const auto kept = std::find_if(receives.begin(), receives.end(),
                                 [](const PendingOperation& each) { return each.tag == 7; });
  ASSERT_NE(kept, receives.end());
  EXPECT_EQ(kept->size, sizeof room);
  EXPECT_EQ(kept->completion, &received);
  for (const ReceiveHandle& handle : handles) EXPECT_TRUE(endpoint.cancel(handle));
  ASSERT_TRUE(test::post_send(ranks, 1, 0, 7, room).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return received.messages.size() == 1; }));
}

// Found by ThreadSanitizer if a look at records of other threads is more than a look.
TEST(Explain, DisturbsNoTraffic) {
  Ranks<Endpoint> ranks(2);
  constexpr int kRounds = 300;
  std::atomic<bool> is_over{false};
  std::atomic<int> ranks_done{0};
  std::thread watcher([&] {
    while (!is_over.load()) {
      for (int rank = 0; rank < 2; ++rank) {
        core::PendingList list(8);
        std::vector<std::string> notes;
        ranks.runtime(rank).state().describe(list, notes);
      }
      std::this_thread::yield();
    }
  });
  const auto exchange = [&](int rank) {
    std::vector<std::byte> room(100'000);
    for (int round = 0; round < kRounds; ++round) {
      const std::size_t size = round % 10 == 9 ? room.size() : round % 3 == 2 ? 3000 : 8;
      const auto bytes = test::payload(size, static_cast<std::uint64_t>(round));
      Counter sent;
      Counter received;
      const auto tag = static_cast<std::uint64_t>(round);
      const bool is_posted = until(
          [&] {
            return ranks.endpoint(rank)
                .post_receive(1 - rank, tag, {room.data(), size}, {.completion = &received})
                .is_accepted();
          },
          [&] { ranks.endpoint(rank).progress(); });
      ASSERT_TRUE(is_posted);
      ASSERT_TRUE(until(
          [&] {
            return ranks.endpoint(rank).post_send(1 - rank, tag, bytes, {.completion = &sent}).is_accepted();
          },
          [&] { ranks.endpoint(rank).progress(); }));
      ASSERT_TRUE(until([&] { return sent.value() == 1 && received.value() == 1; },
                        [&] { ranks.endpoint(rank).progress(); }));
      ASSERT_TRUE(test::matches({room.data(), size}, static_cast<std::uint64_t>(round)));
    }
  };
  // The peer's last large send ends only while its receiver progresses.
  const auto take_part = [&](int rank) {
    exchange(rank);
    ranks_done.fetch_add(1);
    EXPECT_TRUE(until([&] { return ranks_done.load() == 2; }, [&] { ranks.endpoint(rank).progress(); }));
  };
  std::thread other([&] { take_part(1); });
  take_part(0);
  other.join();
  is_over.store(true);
  watcher.join();
}

}  // namespace
}  // namespace weft
