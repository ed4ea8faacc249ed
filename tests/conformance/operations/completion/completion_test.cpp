// When and how the poster is told: exactly once, with its own data, and not when it asked for the fast
// answer.
#include <weft/testing/in_process_job.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft {
namespace {

using test::payload;
using test::Ranks;

const std::size_t kSizes[] = {0, 8, 48, 49, 400, 432, 433, 5000, 8192, 8193, 100'000};

class LocalCompletion : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(rendezvous, LocalCompletion, testing::Values("read", "copy", "auto"),
                         [](const auto& mode) { return std::string(mode.param); });

TEST_P(LocalCompletion, is_signalled_exactly_once_with_what_the_post_named) {
  Ranks<Endpoint> ranks(2, {{"rendezvous", GetParam()}});
  Counter arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  test::Recorder recorder;
  CompletionQueue queue;
  std::uint64_t expected = 0;
  for (const std::size_t size : kSizes) {
    const auto bytes = payload(size, 1);
    int mark = 0;
    for (Completion* completion : {static_cast<Completion*>(&recorder), static_cast<Completion*>(&queue)}) {
      const auto status =
          ranks.post(0, 1, remote, bytes, {.completion = completion, .user_data = &mark, .tag = 7});
      ASSERT_TRUE(status.has_value());
      EXPECT_TRUE(status->is_posted()) << size;
      ++expected;
    }
    ASSERT_TRUE(ranks.progress_until([&] {
      return arrived.value() == expected && recorder.messages.size() == 1 && queue.ready();
    })) << size;
    for (int more = 0; more < 100; ++more) ranks.progress();
    ASSERT_EQ(recorder.messages.size(), 1U) << size;
    Message popped;
    ASSERT_TRUE(queue.pop(popped));
    for (const Message* message : {&recorder.messages.front(), &popped}) {
      EXPECT_EQ(message->operation(), Operation::active_message_sent);
      EXPECT_EQ(message->outcome(), Outcome::ok);
      EXPECT_EQ(message->peer(), 1);
      EXPECT_EQ(message->tag(), 7U);
      EXPECT_EQ(message->user_data(), &mark);
      EXPECT_EQ(message->data(), bytes.data());
      EXPECT_EQ(message->size(), size);
    }
    EXPECT_FALSE(queue.pop(popped)) << size;
    recorder.messages.clear();
  }
}

TEST_P(LocalCompletion, is_not_signalled_when_a_post_may_complete_now_and_is_done) {
  Ranks<Endpoint> ranks(2, {{"rendezvous", GetParam()}});
  Counter arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  std::uint64_t expected = 0;
  std::uint64_t posted = 0;
  Counter sent;
  const std::size_t largest = std::min<std::size_t>(8192, ranks.endpoint(0).attributes().packet_bytes);
  for (const std::size_t size : kSizes) {
    const auto bytes = payload(size, 1);
    const auto status = ranks.post(0, 1, remote, bytes, {.completion = &sent, .may_complete_now = true});
    ASSERT_TRUE(status.has_value());
    EXPECT_TRUE(status->is_done() || size > largest) << size;
    if (status->is_posted()) ++posted;
    ++expected;
    ASSERT_TRUE(ranks.progress_until([&] { return arrived.value() == expected && sent.value() == posted; }))
        << size;
    for (int more = 0; more < 20; ++more) ranks.progress();
    EXPECT_EQ(sent.value(), posted) << size;
  }
}

TEST_P(LocalCompletion, is_signalled_exactly_once_after_the_backlog) {
  Ranks<Endpoint> ranks(2, {{"rendezvous", GetParam()}, {"lane_slots", "64"}, {"lane_slots_max", "64"}});
  Counter arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  for (const std::size_t size : kSizes) {
    const auto bytes = payload(size, 1);
    const std::uint64_t before = arrived.value();
    test::Recorder recorder;
    // Until the backlog is full as well: the peer does not progress.
    std::size_t accepted = 0;
    while (
        ranks.endpoint(0)
            .post_am(1, remote, bytes, {.completion = &recorder, .user_data = &accepted, .may_retry = false})
            .is_accepted()) {
      ++accepted;
      ASSERT_LT(accepted, 100'000U) << "neither lane nor backlog are bounded";
    }
    EXPECT_GT(accepted, 64U) << size;
    ASSERT_TRUE(ranks.progress_until([&] {
      return arrived.value() == before + accepted && recorder.messages.size() == accepted;
    })) << size;
    for (int more = 0; more < 20; ++more) ranks.progress();
    EXPECT_EQ(arrived.value(), before + accepted);
    EXPECT_EQ(recorder.messages.size(), accepted);
    for (const Message& message : recorder.messages) EXPECT_EQ(message.user_data(), &accepted);
  }
}

TEST(LocalCompletion, of_backlogged_small_payloads_is_not_needed_for_the_buffer_to_be_free) {
  Ranks<Endpoint> ranks(2, {{"lane_slots", "64"}, {"lane_slots_max", "64"}});
  std::uint64_t next = 0;
  Handler handler([&](Message& message) {
    EXPECT_TRUE(test::matches(message.bytes(), message.tag()));
    ++next;
  });
  const RemoteCompletion remote = ranks.runtime(1).expose(handler, {.id = 1});
  for (const std::size_t size : {std::size_t{8}, std::size_t{48}, std::size_t{200}, std::size_t{3000}}) {
    next = 0;
    std::uint32_t accepted = 0;
    std::vector<std::byte> buffer(size);
    for (;; ++accepted) {
      test::fill(buffer, accepted);
      if (!ranks.endpoint(0).post_am(1, remote, buffer, {.tag = accepted, .may_retry = false}).is_accepted())
        break;
      test::fill(buffer, 999'999);
      ASSERT_LT(accepted, 100'000U);
    }
    ASSERT_TRUE(ranks.progress_until([&] { return next == accepted; })) << size;
  }
}

TEST(LocalCompletion, ends_as_peer_failed_when_the_peer_leaves) {
  for (const char* rendezvous : {"read", "copy"}) {
    Ranks<Endpoint> ranks(3, {{"rendezvous", rendezvous}, {"drain_timeout", "0.1"}});
    Counter arrived;
    Counter elsewhere;
    const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
    ranks.runtime(2).expose(elsewhere, {.id = 1});
    const auto bytes = payload(100'000, 1);
    test::Recorder recorder;
    Counter first;
    ASSERT_TRUE(ranks.post(0, 1, remote, payload(8, 1), {.completion = &first}).has_value());
    ASSERT_TRUE(ranks.progress_until([&] { return arrived.value() == 1; }));
    ASSERT_TRUE(ranks.post(0, 1, remote, bytes, {.completion = &recorder}) == Status::posted());
    ranks.leave(1);
    // Some networks learn of it a little later; until then they take messages that nobody will read.
    ASSERT_TRUE(ranks.progress_until([&] {
      static_cast<void>(ranks.endpoint(0).post_am(1, remote, {}));
      return ranks.runtime(0).counters().dropped_sends != 0;
    }));
    ASSERT_TRUE(test::until(
        [&] { return ranks.endpoint(0).post_am(1, remote, {}, {.completion = &recorder}).is_posted(); },
        [&] { ranks.progress(); }));
    // Waiting, as programs do: the operation that nobody will ever answer ends.
    ranks.endpoint(0).wait_until([&] { return recorder.messages.size() == 2; });
    for (const Message& message : recorder.messages) EXPECT_EQ(message.outcome(), Outcome::peer_failed);
    recorder.messages.clear();
    ASSERT_TRUE(ranks.post(0, 2, remote, bytes, {.completion = &first}).has_value());
    ASSERT_TRUE(ranks.progress_until([&] { return elsewhere.value() == 1 && first.value() == 2; }))
        << "one peer's end concerns the others";
  }
}

TEST(Handlers, that_leave_what_comes_together_get_it_one_by_one) {
  class Reluctant final : public Completion {
   public:
    ~Reluctant() override { withdraw(); }
    void signal(Message& message) noexcept override { sum += message.as<std::uint64_t>(); }
    void signal_batch(Arrivals&) noexcept override {}
    [[nodiscard]] bool ready() const noexcept override { return true; }
    std::uint64_t sum = 0;
  };
  test::Ranks<SerialEndpoint> ranks{2};
  Reluctant object;
  const RemoteCompletion remote = ranks.runtime(1).expose(object, {.id = 1});
  std::uint64_t expected = 0;
  ASSERT_TRUE(ranks.post(0, 1, remote, bytes_of(expected)).has_value());
  for (std::uint64_t value = 1; value <= 20; ++value) {
    // Without progress of the receiver, as long as there is room.
    const bool has_room = ranks.endpoint(0).post_am(1, remote, bytes_of(value)).is_accepted();
    ASSERT_TRUE(has_room || ranks.post(0, 1, remote, bytes_of(value)).has_value());
    expected += value;
  }
  EXPECT_TRUE(ranks.progress_until([&] { return object.sum == expected; }));
  object.withdraw();
}

TEST(Handlers, may_call_progress_and_post) {
  Ranks<SerialEndpoint> ranks(2);
  std::size_t nested = 1;
  Handler handler([&](Message&) { nested = ranks.endpoint(1).progress(); });
  const RemoteCompletion remote = ranks.runtime(1).expose(handler, {.id = 1});
  for (int count = 0; count < 3; ++count) ASSERT_TRUE(ranks.post(0, 1, remote, payload(8, 1)).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return nested == 0; }))
      << "progress inside the same device must return 0";
}

TEST(Handlers, may_progress_other_devices) {
  InProcessJob job(1);
  Runtime runtime(job, 0);
  Device outer(runtime);
  Device inner(runtime);
  SerialEndpoint first(outer);
  SerialEndpoint second(inner);
  int depth = 0;
  int deepest = 0;
  int arrived = 0;
  Handler innermost([&](Message&) { deepest = depth, ++arrived; });
  const RemoteCompletion inner_handle = runtime.expose(innermost, {.id = 2, .device = inner.index()});
  Handler handler([&](Message&) {
    ++depth;
    // What the network refuses at first waits in the backlog of the device that can progress here.
    EXPECT_TRUE(second.post_am(0, inner_handle, {}).is_accepted());
    while (arrived == 0) second.progress();
    EXPECT_EQ(first.progress(), 0U);
    --depth;
  });
  const RemoteCompletion remote = runtime.expose(handler, {.id = 1, .device = outer.index()});
  static_cast<void>(first.send_am(0, remote, {}));
  ASSERT_TRUE(test::until([&] { return arrived == 1; }, [&] { first.progress(); }));
  EXPECT_EQ(deepest, 1);
}

TEST(Handlers, that_pass_messages_round_a_ring_lose_none) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{300}, std::size_t{3000}}) {
    Ranks<Endpoint> ranks(3, {{"lane_slots", "64"}, {"lane_slots_max", "64"}});
    constexpr std::uint64_t kTokens = 40;
    constexpr std::uint32_t kHops = 60;
    std::uint64_t ended = 0;
    std::vector<std::unique_ptr<Completion>> handlers;
    RemoteCompletion remote;
    for (int rank = 0; rank < 3; ++rank) {
      auto pass = [&, rank](Message& message) {
        EXPECT_TRUE(test::matches(message.bytes(), 3));
        if (message.tag() == kHops) {
          ++ended;
          return;
        }
        EXPECT_TRUE(ranks.endpoint(rank)
                        .post_am((rank + 1) % 3, remote, message.bytes(),
                                 {.tag = static_cast<std::uint32_t>(message.tag()) + 1})
                        .is_accepted());
      };
      handlers.push_back(std::make_unique<Handler<decltype(pass)>>(pass));
      remote = ranks.runtime(rank).expose(*handlers.back(), {.id = 1});
    }
    const auto bytes = payload(size, 3);
    for (std::uint64_t token = 0; token < kTokens; ++token)
      ASSERT_TRUE(ranks.post(static_cast<int>(token % 3), static_cast<int>((token + 1) % 3), remote, bytes)
                      .has_value());
    ASSERT_TRUE(ranks.progress_until([&] { return ended == kTokens; })) << ended << " of " << kTokens;
    handlers.clear();
  }
}

}  // namespace
}  // namespace weft
