// What runtimes and devices have counted agrees with what was done, whatever the network.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::kNoSurprises;
using test::Ranks;
using test::until;

std::span<std::byte> room(std::uint64_t& value) { return std::as_writable_bytes(std::span(&value, 1)); }

template <class EndpointType>
class Counters : public testing::Test {
 protected:
  /// Sends `count` payloads of `size` bytes from rank 0 to a handler of rank 1, and waits for all.
  void send_active_messages(Ranks<EndpointType>& ranks, std::uint64_t count, std::size_t size) {
    Counter arrived;
    Counter sent;
    const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 7});
    const std::vector<std::byte> bytes = test::payload(size, 1);
    for (std::uint64_t number = 0; number < count; ++number)
      ASSERT_TRUE(ranks.post(0, 1, remote, bytes, {.completion = &sent}).has_value());
    ASSERT_TRUE(ranks.progress_until([&] { return arrived.value() == count && sent.value() == count; }));
  }
};
using Endpoints = testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(Counters, Endpoints);

TYPED_TEST(Counters, AreZeroAtTheBeginningButForLanes) {
  Ranks<TypeParam> ranks(2, kNoSurprises);
  const RuntimeCounters counters = ranks.runtime(0).counters();
  for (const CounterRow& row : counter_rows()) EXPECT_EQ(counters.*row.value, 0U) << row.name;
}

TYPED_TEST(Counters, NameEveryMemberOnce) {
  std::vector<std::string> names;
  for (const CounterRow& row : counter_rows()) names.emplace_back(row.name);
  EXPECT_EQ(names.size() * sizeof(std::uint64_t), sizeof(RuntimeCounters));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TYPED_TEST(Counters, TellActiveMessagesOfEverySizeAtBothRanks) {
  Ranks<TypeParam> ranks(2, kNoSurprises);
  constexpr std::uint64_t kShort = 1000;  // more than a lap of a lane, and room for it to grow
  constexpr std::uint64_t kWide = 300;
  constexpr std::uint64_t kPackets = 100;
  this->send_active_messages(ranks, kShort, 8);
  this->send_active_messages(ranks, kWide, 200);
  this->send_active_messages(ranks, kPackets, 3000);
  const RuntimeCounters sender = ranks.runtime(0).counters();
  const RuntimeCounters receiver = ranks.runtime(1).counters();
  EXPECT_EQ(sender.active_messages_sent, kShort + kWide + kPackets);
  EXPECT_EQ(receiver.active_messages_received, kShort + kWide + kPackets);
  EXPECT_EQ(sender.eager_bytes_sent, kWide * 200 + kPackets * 3000);
  EXPECT_EQ(receiver.eager_bytes_received, sender.eager_bytes_sent);
  EXPECT_EQ(sender.matched_sent, 0U);
  EXPECT_EQ(receiver.matched_received, 0U);
  EXPECT_EQ(sender.active_messages_received, 0U);
}

TYPED_TEST(Counters, TellInlinedPostsFromOthers) {
  Ranks<TypeParam> ranks(2, kNoSurprises);
  ASSERT_TRUE(ranks.meet());
  Counter arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 7});
  ASSERT_TRUE(ranks.post(0, 1, remote, {}).has_value());  // known to the sender from here on
  const RuntimeCounters before = ranks.runtime(0).counters();
  const std::uint64_t value = 3;
  constexpr std::uint64_t kMessages = 2000;
  for (std::uint64_t number = 0; number < kMessages; ++number)
    ASSERT_TRUE(ranks.post(0, 1, remote, bytes_of(value)).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return arrived.value() == kMessages + 1; }));
  const RuntimeCounters after = ranks.runtime(0).counters();
  EXPECT_EQ(after.active_messages_sent - before.active_messages_sent, kMessages);
  const bool has_lanes = std::string_view(ranks.runtime(0).network()) == "shm";
  if (has_lanes) {
    EXPECT_GT(after.inlined_sent - before.inlined_sent, kMessages / 2);
    EXPECT_GE(after.lanes, 1U);
  } else if (std::string_view(ranks.runtime(0).network()) != "mixed") {
    EXPECT_EQ(after.inlined_sent, 0U);
    EXPECT_EQ(after.lanes, 0U);
  }
  EXPECT_LE(after.inlined_sent, after.active_messages_sent);
}

TYPED_TEST(Counters, TellMatchedMessagesWhetherExpectedOrNot) {
  Ranks<TypeParam> ranks(2, kNoSurprises);
  constexpr std::uint64_t kMessages = 100;
  const std::uint64_t value = 5;
  const std::vector<std::byte> wide = test::payload(2000, 3);
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    ASSERT_TRUE(until([&] { return ranks.endpoint(0).post_send(1, number, bytes_of(value)).is_accepted(); },
                      [&] { ranks.progress(); }));
    ASSERT_TRUE(until([&] { return ranks.endpoint(0).post_send(1, 1000, wide).is_accepted(); },
                      [&] { ranks.progress(); }));
  }
  ASSERT_TRUE(
      ranks.progress_until([&] { return ranks.runtime(1).counters().matched_received == 2 * kMessages; }));
  RuntimeCounters receiver = ranks.runtime(1).counters();
  EXPECT_EQ(receiver.unexpected_now, 2 * kMessages);
  EXPECT_GE(receiver.unexpected_highest, 2 * kMessages);
  EXPECT_GE(receiver.records_highest, 2 * kMessages);
  std::uint64_t got = 0;
  std::vector<std::byte> got_multi_slot(wide.size());
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    static_cast<void>(ranks.endpoint(1).receive(0, number, room(got)));
    static_cast<void>(ranks.endpoint(1).receive(0, 1000, got_multi_slot));
  }
  EXPECT_TRUE(test::matches(got_multi_slot, 3));
  // And some whose receives are there before.
  for (std::uint64_t number = 0; number < kMessages; ++number) {
    Counter received;
    ASSERT_TRUE(ranks.endpoint(1).post_receive(0, number, room(got), {.completion = &received}).is_posted());
    ASSERT_TRUE(until([&] { return ranks.endpoint(0).post_send(1, number, bytes_of(value)).is_accepted(); },
                      [&] { ranks.progress(); }));
    ASSERT_TRUE(ranks.progress_until([&] { return received.value() == 1; }));
  }
  receiver = ranks.runtime(1).counters();
  const RuntimeCounters sender = ranks.runtime(0).counters();
  EXPECT_EQ(sender.matched_sent, 3 * kMessages);
  EXPECT_EQ(receiver.matched_received, 3 * kMessages);
  EXPECT_EQ(receiver.unexpected_now, 0U);
  EXPECT_EQ(sender.active_messages_sent, 0U);
  EXPECT_EQ(receiver.active_messages_received, 0U);
  EXPECT_EQ(sender.eager_bytes_sent, kMessages * (wide.size() + 8)) << "with what the receiver matches by";
  EXPECT_EQ(receiver.eager_bytes_received, sender.eager_bytes_sent);
}

TYPED_TEST(Counters, TellLargeMessagesAndTheirBytes) {
  Ranks<TypeParam> ranks(2, kNoSurprises);
  constexpr std::uint64_t kMessages = 3;
  constexpr std::size_t kSize = 300'000;
  this->send_active_messages(ranks, kMessages, kSize);
  const RuntimeCounters sender = ranks.runtime(0).counters();
  const RuntimeCounters receiver = ranks.runtime(1).counters();
  EXPECT_EQ(sender.large_sent, kMessages);
  EXPECT_EQ(receiver.large_received, kMessages);
  EXPECT_EQ(sender.large_bytes_sent, receiver.large_bytes_received);
  EXPECT_EQ(receiver.large_bytes_received + receiver.large_bytes_read, kMessages * kSize);
  EXPECT_GE(sender.control_sent, kMessages) << "announcements, and chunks where payloads are not fetched";
  EXPECT_EQ(sender.control_sent, receiver.control_received);
  EXPECT_EQ(receiver.control_sent, sender.control_received);
}

TYPED_TEST(Counters, TellAccessesAndSignals) {
  Ranks<TypeParam> ranks(2, kNoSurprises);
  MemoryRegion region = MemoryRegion::allocate(ranks.runtime(1), 4096);
  Counter signalled;
  const RemoteCompletion remote = ranks.runtime(1).expose(signalled, {.id = 9});
  const std::vector<std::byte> bytes = test::payload(1000, 2);
  std::vector<std::byte> copy(1000);
  Counter ended;
  const auto accepted = [&](const auto& post) {
    ASSERT_TRUE(until([&] { return post().is_accepted(); }, [&] { ranks.progress(); }));
  };
  accepted([&] {
    return ranks.endpoint(0).post_put(1, region.remote().at(0), bytes,
                                      {.completion = &ended, .signal = remote});
  });
  ASSERT_TRUE(ranks.progress_until([&] { return ended.value() == 1 && signalled.value() == 1; }));
  accepted(
      [&] { return ranks.endpoint(0).post_get(1, region.remote().at(0), copy, {.completion = &ended}); });
  ASSERT_TRUE(ranks.progress_until([&] { return ended.value() == 2; }));
  accepted([&] {
    return ranks.endpoint(0).template post_atomic<std::uint64_t>(
        1, region.remote().at(0), AtomicOperation::add, 1, {.completion = &ended});
  });
  ASSERT_TRUE(ranks.progress_until([&] { return ended.value() == 3; }));
  const RuntimeCounters counters = ranks.runtime(0).counters();
  EXPECT_EQ(counters.puts, 1U);
  EXPECT_EQ(counters.put_bytes, 1000U);
  EXPECT_EQ(counters.gets, 1U);
  EXPECT_EQ(counters.get_bytes, 1000U);
  EXPECT_EQ(counters.atomics, 1U);
  EXPECT_LE(counters.accesses_by_messages, 3U);
}

TYPED_TEST(Counters, TellRefusalsByReasonAndWhatWasKept) {
  Ranks<TypeParam> ranks(2, {{"unexpected_credits", "4"}, {"sim_refuse", "0"}, {"sim_delay", "0"}});
  ASSERT_TRUE(ranks.meet());
  const std::uint64_t value = 5;
  std::uint64_t sent = 0;
  std::uint64_t refused = 0;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const Status status = ranks.endpoint(0).post_send(1, 1, bytes_of(value));
    sent += status.is_accepted() ? 1U : 0U;
    refused += status.is_retry() && status.reason() == Reason::no_credit ? 1U : 0U;
  }
  RuntimeCounters counters = ranks.runtime(0).counters();
  EXPECT_EQ(counters.refused_no_credit, refused);
  EXPECT_EQ(counters.matched_sent, sent);
  EXPECT_GT(refused, 0U);
  const Status kept = ranks.endpoint(0).post_send(1, 1, bytes_of(value), {.may_retry = false});
  ASSERT_TRUE(kept.is_posted());
  counters = ranks.runtime(0).counters();
  EXPECT_EQ(counters.backlog_posts, 1U);
  EXPECT_EQ(counters.backlog_now, 1U);
  EXPECT_EQ(counters.backlog_highest, 1U);
  std::uint64_t got = 0;
  for (std::uint64_t number = 0; number < sent + 1; ++number) {
    Counter received;
    const Status posted =
        ranks.endpoint(1).post_receive(0, 1, room(got), {.completion = &received, .may_complete_now = true});
    ASSERT_TRUE(posted.is_accepted());
    if (!posted.is_done()) {
      ASSERT_TRUE(ranks.progress_until([&] { return received.value() == 1; }));
    }
  }
  counters = ranks.runtime(0).counters();
  EXPECT_EQ(counters.backlog_now, 0U);
  EXPECT_EQ(counters.backlog_highest, 1U);
  EXPECT_EQ(counters.matched_sent, sent + 1);
}

TYPED_TEST(Counters, TellLargeMessagesThatAreOnTheirWay) {
  Ranks<TypeParam> ranks(2, {{"rendezvous", "copy"}, {"sim_refuse", "0"}});
  ASSERT_TRUE(ranks.meet());
  const std::vector<std::byte> large(std::size_t{1} << 20, std::byte{7});
  std::vector<std::byte> got(large.size());
  Counter sent, received;
  ASSERT_TRUE(
      ranks.endpoint(0).post_send(1, 1, large, {.completion = &sent, .may_retry = false}).is_posted());
  ProbedMessage found;
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(1).probe(0, 1, found); }));
  EXPECT_EQ(ranks.runtime(1).counters().large_arriving_now, 0U) << "nobody takes it";
  ASSERT_TRUE(
      ranks.endpoint(1).post_receive(0, 1, got, {.completion = &received, .may_retry = false}).is_posted());
  for (int round = 0; round < 3; ++round) ranks.endpoint(1).progress();
  EXPECT_EQ(ranks.runtime(1).counters().large_arriving_now, 1U) << "its sender has not sent the payload yet";
  EXPECT_EQ(ranks.runtime(0).counters().large_arriving_now, 0U);
  ASSERT_TRUE(ranks.progress_until([&] { return sent.value() == 1 && received.value() == 1; }));
  ASSERT_TRUE(ranks.progress_until([&] { return ranks.runtime(1).counters().large_arriving_now == 0; }));
  EXPECT_EQ(ranks.runtime(1).counters().large_received, 1U);
  EXPECT_EQ(got, large);
}

TYPED_TEST(Counters, AddUpOverDevicesAlsoWhenTheyAreClosed) {
  Ranks<TypeParam> ranks(1, kNoSurprises);
  Runtime& runtime = ranks.runtime(0);
  Counter arrived;
  const RemoteCompletion remote = runtime.expose(arrived, {.id = 3, .device = 2});
  for (std::uint64_t use = 1; use <= 2; ++use) {  // the second time with what was kept of the first
    Device device(runtime, {.index = 2});
    const std::uint64_t value = 1;
    {
      TypeParam endpoint(device);
      for (int number = 0; number < 50; ++number)
        ASSERT_TRUE(until([&] { return endpoint.post_am(0, remote, bytes_of(value)).is_accepted(); },
                          [&] { endpoint.progress(); }));
      for (int number = 0; number < 10; ++number) {
        std::uint64_t got = 0;
        ASSERT_TRUE(
            until([&] { return endpoint.post_send(0, 4, bytes_of(value), {.device = 2}).is_accepted(); },
                  [&] { endpoint.progress(); }));
        static_cast<void>(endpoint.receive(0, 4, room(got)));
      }
      ASSERT_TRUE(until([&] { return arrived.value() == 50 * use; }, [&] { endpoint.progress(); }));
    }
    const RuntimeCounters own = device.counters();
    EXPECT_EQ(own.active_messages_sent, 50U);
    EXPECT_EQ(own.active_messages_received, 50U);
    EXPECT_EQ(own.matched_sent, 10U);
    EXPECT_EQ(own.matched_received, 10U);
    EXPECT_EQ(runtime.counters().active_messages_sent, 50 * use);
  }
  EXPECT_EQ(runtime.counters().active_messages_received, 100U);
  EXPECT_EQ(runtime.counters().matched_received, 20U);
}

TYPED_TEST(Counters, TellHowOftenAndHowLongThreadsSlept) {
  Ranks<TypeParam> ranks(1, {{"spin", "0"}, {"yield", "0"}, {"park_timeout", "0.001"}});
  const auto counters = [&] { return ranks.runtime(0).counters(); };
  const RuntimeCounters before = counters();
  int looks = 0;
  ranks.endpoint(0).wait_until([&] { return ++looks > 20; });
  const RuntimeCounters after = counters();
  EXPECT_GT(after.parks, before.parks);
  EXPECT_GT(after.parked_ns, before.parked_ns);
}

TEST(CountersOfThreads, AreExactWhenTheThreadsHaveEnded) {
  Ranks<Endpoint> ranks(2, kNoSurprises);
  ASSERT_TRUE(ranks.meet());
  const std::uint64_t before = ranks.runtime(0).counters().active_messages_sent;
  constexpr std::uint64_t kThreads = 3;
  constexpr std::uint64_t kMessages = 400;
  Counter arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 7});
  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      const std::vector<std::byte> bytes = test::payload(thread == 0 ? 8 : 300, thread);
      for (std::uint64_t number = 0; number < kMessages; ++number) {
        if (!until([&] { return ranks.endpoint(0).post_am(1, remote, bytes).is_accepted(); },
                   [&] { ranks.endpoint(0).progress(); }))
          failed = true;
        if (number % 50 == 0) static_cast<void>(ranks.runtime(0).counters());  // beside the others
      }
    });
  const bool all = ranks.progress_until([&] { return arrived.value() == kThreads * kMessages; });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(all);
  ASSERT_FALSE(failed);
  EXPECT_EQ(ranks.runtime(0).counters().active_messages_sent - before, kThreads * kMessages);
  EXPECT_EQ(ranks.runtime(0).counters().eager_bytes_sent, 2 * kMessages * 300);
}

TYPED_TEST(Counters, MayBeReadInsideAHandler) {
  Ranks<TypeParam> ranks(2, kNoSurprises);
  std::uint64_t seen = 0;
  Handler handler([&](Message&) { seen = 1 + ranks.runtime(1).counters().refused_handles; });
  const RemoteCompletion remote = ranks.runtime(1).expose(handler, {.id = 7});
  ASSERT_TRUE(ranks.post(0, 1, remote, {}).has_value());
  EXPECT_TRUE(ranks.progress_until([&] { return seen == 1; }));
}

TYPED_TEST(Counters, AreWrittenAtTheEndOnRequest) {
  for (const char* form : {"table", "json", "off"}) {
    testing::internal::CaptureStderr();
    {
      std::vector<AttributeSetting> attributes = kNoSurprises;
      attributes.push_back({"counters", form});
      Ranks<TypeParam> ranks(2, attributes);
      this->send_active_messages(ranks, 10, 8);
    }
    const std::string text = testing::internal::GetCapturedStderr();
    const std::string_view wanted = form;
    if (wanted == "off") {
      EXPECT_EQ(text, "");
    }
    if (wanted == "table") {
      EXPECT_NE(text.find("weft[rank 0] counters (those that are not 0):\n  active_messages_sent"),
                std::string::npos)
          << text;
      EXPECT_NE(text.find("weft[rank 1] counters"), std::string::npos) << text;
      EXPECT_EQ(text.find(" 0\n"), std::string::npos) << text;
    }
    if (wanted == "json") {
      EXPECT_NE(text.find(R"({"weft_counters":{"rank":0,"size":2,"values":{"refused_handles":0,)"),
                std::string::npos)
          << text;
    }
  }
}

}  // namespace
}  // namespace weft
