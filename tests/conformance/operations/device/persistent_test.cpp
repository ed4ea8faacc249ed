// Persistent operations: every start is the post that was prepared.
#include "support/one_sided.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace weft {
namespace {

using test::access_settings;
using test::AccessSetting;
using test::border_sizes;
using test::matches;
using test::payload;
using test::post_until;
using test::Ranks;
using test::Recorder;
using test::Target;

constexpr std::uint64_t kStarts = 20;

template <class EndpointType>
class Persistent : public testing::Test {
 protected:
  template <class Operation>
  [[nodiscard]] Status start(Operation& operation) {
    return post_until([&] { return operation.start(); }, [&] { ranks_.progress(); });
  }
  /// From rank 0 to rank 1, which may have to progress for it.
  void send(std::uint64_t tag, std::uint64_t value) {
    EXPECT_TRUE(post_until([&] { return ranks_.endpoint(0).post_send(1, tag, bytes_of(value)); },
                           [&] { ranks_.progress(); })
                    .is_accepted());
  }
  Ranks<EndpointType> ranks_{2};
};
using Endpoints = testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(Persistent, Endpoints);

TYPED_TEST(Persistent, active_messages_arrive_once_for_every_start) {
  auto& ranks = this->ranks_;
  for (const std::size_t size : border_sizes(ranks.runtime(0)))
    for (const bool observed : {false, true}) {
      if (!observed && size > 40'000) continue;  // nobody could tell when the buffer is free
      Recorder arrived;
      Counter sent;
      const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
      std::uint64_t signalled = 0;
      auto bytes = payload(size, 1);
      auto operation = ranks.endpoint(0).prepare_am(
          1, remote, bytes, {.completion = observed ? &sent : nullptr, .tag = 9, .may_complete_now = true});
      for (std::uint64_t round = 1; round <= kStarts; ++round) {
        test::fill(bytes, round);
        const Status status = this->start(operation);
        ASSERT_TRUE(status.is_accepted());
        ASSERT_TRUE(ranks.progress_until([&] { return arrived.messages.size() == round; }));
        EXPECT_EQ(arrived.messages.back().tag(), 9U);
        EXPECT_TRUE(matches(arrived.messages.back().bytes(), round)) << size;
        if (observed && status.is_posted()) {
          ++signalled;
          ASSERT_TRUE(ranks.progress_until([&] { return sent.value() == signalled; }));
        }
      }
    }
}

TYPED_TEST(Persistent, sends_meet_prepared_receives) {
  auto& ranks = this->ranks_;
  for (const std::size_t size : border_sizes(ranks.runtime(0)))
    for (const bool receive_first : {true, false}) {
      Recorder received;
      Counter sent;
      int mark = 0;
      auto bytes = payload(size, 1);
      std::vector<std::byte> buffer(size);
      auto send = ranks.endpoint(0).prepare_send(1, 77, bytes, {.completion = &sent});
      auto receive =
          ranks.endpoint(1).prepare_receive(0, 77, buffer, {.completion = &received, .user_data = &mark});
      for (std::uint64_t round = 1; round <= kStarts; ++round) {
        test::fill(bytes, round);
        if (receive_first) {
          ASSERT_TRUE(this->start(receive).is_posted());
        }
        ASSERT_TRUE(this->start(send).is_posted());
        if (!receive_first) {
          for (int more = 0; more < 5; ++more) ranks.progress();
          ASSERT_TRUE(this->start(receive).is_posted());
        }
        ASSERT_TRUE(ranks.progress_until([&] {
          return received.messages.size() == round && sent.value() == round;
        })) << size;
        const Message& message = received.messages.back();
        EXPECT_EQ(message.operation(), weft::Operation::receive);
        EXPECT_EQ(message.user_data(), &mark);
        EXPECT_EQ(message.size(), size);
        EXPECT_TRUE(matches(buffer, round)) << size;
      }
    }
}

TYPED_TEST(Persistent, operations_of_ordered_engines_keep_the_order) {
  auto& ranks = this->ranks_;
  constexpr std::uint16_t kOrdered = kMatchingEngines;
  std::uint64_t sent = 0;
  std::uint64_t value = 0;
  auto send = ranks.endpoint(0).prepare_send(1, 5, bytes_of(sent), {.engine = kOrdered});
  Recorder received;
  auto receive = ranks.endpoint(1).prepare_receive(0, 5, std::as_writable_bytes(std::span(&value, 1)),
                                                   {.completion = &received, .engine = kOrdered});
  for (sent = 1; sent <= 2 * kStarts; ++sent) {
    if (sent % 2 == 0) {
      ASSERT_TRUE(this->start(send).is_accepted());
    } else {
      ASSERT_TRUE(
          post_until([&] { return ranks.endpoint(0).post_send(1, 5, bytes_of(sent), {.engine = kOrdered}); },
                     [&] { ranks.progress(); })
              .is_accepted());
    }
  }
  for (std::uint64_t next = 1; next <= 2 * kStarts; ++next) {
    ASSERT_TRUE(this->start(receive).is_posted());
    ASSERT_TRUE(ranks.progress_until([&] { return received.messages.size() == next; }));
    EXPECT_EQ(value, next);
  }
}

TYPED_TEST(Persistent, receives_are_refused_while_they_are_in_flight) {
  auto& ranks = this->ranks_;
  Recorder received;
  std::uint64_t value = 0;
  ReceiveHandle handle;
  auto receive = ranks.endpoint(1).prepare_receive(0, 5, std::as_writable_bytes(std::span(&value, 1)),
                                                   {.completion = &received, .handle = &handle});
  ASSERT_TRUE(this->start(receive).is_posted());
  EXPECT_TRUE(receive.is_in_flight());
  EXPECT_EQ(receive.start(), Status::retry(Reason::in_flight));
  this->send(5, 11);
  ASSERT_TRUE(ranks.progress_until([&] { return received.messages.size() == 1; }));
  EXPECT_FALSE(receive.is_in_flight());
  EXPECT_EQ(value, 11U);
  // The one that was refused does not exist.
  ASSERT_TRUE(this->start(receive).is_posted());
  EXPECT_TRUE(ranks.endpoint(1).cancel(handle));
  ASSERT_EQ(received.messages.size(), 2U);
  EXPECT_EQ(received.messages[1].outcome(), Outcome::cancelled);
  ASSERT_TRUE(this->start(receive).is_posted());
  this->send(5, 12);
  ASSERT_TRUE(ranks.progress_until([&] { return received.messages.size() == 3; }));
  EXPECT_EQ(value, 12U);
}

TYPED_TEST(Persistent, receives_may_be_started_again_by_their_handler) {
  auto& ranks = this->ranks_;
  constexpr std::uint64_t kMessages = 200;
  std::uint64_t value = 0;
  std::uint64_t sum = 0;
  std::uint64_t count = 0;
  std::uint64_t refused = 0;
  std::function<Status()> again;
  Handler handler([&](Message& message) {
    sum += message.as<std::uint64_t>();
    if (++count < kMessages && again().is_retry()) ++refused;
  });
  auto receive = ranks.endpoint(1).prepare_receive(0, 6, std::as_writable_bytes(std::span(&value, 1)),
                                                   {.completion = &handler});
  again = [&] { return receive.start(); };
  ASSERT_TRUE(this->start(receive).is_posted());
  for (std::uint64_t next = 1; next <= kMessages; ++next) {
    auto send = ranks.endpoint(0).prepare_send(1, 6, bytes_of(next));
    ASSERT_TRUE(this->start(send).is_accepted());
    ASSERT_TRUE(ranks.progress_until([&] { return count == next; }));
  }
  EXPECT_EQ(refused, 0U);
  EXPECT_EQ(sum, kMessages * (kMessages + 1) / 2);
}

TYPED_TEST(Persistent, receives_that_may_complete_during_their_start_do) {
  auto& ranks = this->ranks_;
  Recorder received;
  Message arrived;
  std::uint64_t value = 0;
  auto receive = ranks.endpoint(1).prepare_receive(
      0, 8, std::as_writable_bytes(std::span(&value, 1)),
      {.completion = &received, .may_complete_now = true, .arrived = &arrived});
  for (std::uint64_t round = 1; round <= kStarts; ++round) {
    this->send(8, round);
    ProbedMessage found;
    ASSERT_TRUE(ranks.progress_until([&] { return ranks.endpoint(1).probe(0, 8, found); }));
    ASSERT_TRUE(this->start(receive).is_done());
    EXPECT_EQ(value, round);
    EXPECT_FALSE(receive.is_in_flight());
  }
  EXPECT_TRUE(received.messages.empty());
}

TYPED_TEST(Persistent, receives_that_are_destroyed_in_flight_end_as_others_do) {
  auto& ranks = this->ranks_;
  Recorder received;
  std::uint64_t value = 0;
  {
    auto first = ranks.endpoint(1).prepare_receive(0, 9, std::as_writable_bytes(std::span(&value, 1)),
                                                   {.completion = &received});
    auto second = std::move(first);
    ASSERT_TRUE(this->start(second).is_posted());
  }
  this->send(9, 3);
  ASSERT_TRUE(ranks.progress_until([&] { return received.messages.size() == 1; }));
  EXPECT_EQ(value, 3U);
}

TYPED_TEST(Persistent, operations_may_be_moved_between_starts) {
  auto& ranks = this->ranks_;
  Counter arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 2});
  const auto bytes = payload(8, 1);
  std::vector<decltype(ranks.endpoint(0).prepare_am(1, remote, bytes))> operations;
  for (std::uint64_t round = 1; round <= kStarts; ++round) {
    operations.push_back(ranks.endpoint(0).prepare_am(1, remote, bytes));
    for (auto& operation : operations) ASSERT_TRUE(this->start(operation).is_accepted());
  }
  ASSERT_TRUE(ranks.progress_until([&] { return arrived.value() == kStarts * (kStarts + 1) / 2; }));
}

TYPED_TEST(Persistent, operations_that_name_nothing_throw_when_they_are_prepared) {
  auto& endpoint = this->ranks_.endpoint(0);
  Counter counter;
  const RemoteCompletion remote = this->ranks_.runtime(1).expose(counter, {.id = 3});
  MemoryRegion region = MemoryRegion::allocate(this->ranks_.runtime(1), 64);
  std::vector<std::byte> bytes(8);
  EXPECT_THROW(static_cast<void>(endpoint.prepare_am(2, remote, bytes)), Error);
  EXPECT_THROW(static_cast<void>(endpoint.prepare_am(1, {}, bytes)), Error);
  EXPECT_THROW(static_cast<void>(endpoint.prepare_send(-1, 0, bytes)), Error);
  EXPECT_THROW(static_cast<void>(endpoint.prepare_send(1, 0, bytes, {.engine = 512})), Error);
  EXPECT_THROW(static_cast<void>(endpoint.prepare_receive(7, 0, bytes, {.completion = &counter})), Error);
  EXPECT_THROW(static_cast<void>(endpoint.prepare_receive(1, 0, bytes, {})), Error);
  EXPECT_THROW(static_cast<void>(endpoint.prepare_put(0, region.remote().at(0), bytes)), Error);
  EXPECT_THROW(static_cast<void>(endpoint.prepare_get(2, region.remote().at(0), bytes)), Error);
  EXPECT_THROW(static_cast<void>(endpoint.prepare_put(1, RemoteRegion{}.at(0), bytes)), Error);
}

class PersistentAccesses : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const AccessSetting& setting() const { return access_settings()[GetParam()]; }
};

INSTANTIATE_TEST_SUITE_P(over, PersistentAccesses, testing::Range<std::size_t>(0, access_settings().size()),
                         [](const auto& setting) {
                           return std::string(access_settings()[setting.param].name);
                         });

TEST_P(PersistentAccesses, put_and_get_what_is_there_when_they_are_started) {
  Ranks<Endpoint> ranks(2, setting().attributes);
  Target target(ranks.runtime(1), setting(), 40'000);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  std::uint64_t signals = 0;
  Handler signalled([&](Message&) { ++signals; });
  const RemoteCompletion signal = ranks.runtime(1).expose(signalled, {.id = 4});
  std::uint64_t expected_signals = 0;
  for (const std::size_t size : {8U, 1U, 48U, 1000U, 30'000U})
    for (const bool with_signal : {false, true})
      for (const bool may_complete_now : {false, true}) {
        Counter put_completed;
        Counter get_completed;
        AccessOptions options{.completion = &put_completed, .may_complete_now = may_complete_now};
        if (with_signal) options.signal = signal;
        auto source = payload(size, 1);
        std::vector<std::byte> back(size);
        auto put = ranks.endpoint(0).prepare_put(1, region.at(16), source, options);
        options.completion = &get_completed;
        auto get = ranks.endpoint(0).prepare_get(1, region.at(16), back, options);
        const auto run = [&](auto& operation, Counter& ended, std::uint64_t before) {
          const Status status = post_until([&] { return operation.start(); }, [&] { ranks.progress(); });
          ASSERT_TRUE(status.is_accepted());
          EXPECT_TRUE(may_complete_now || status.is_posted());
          if (with_signal) ++expected_signals;
          ASSERT_TRUE(ranks.progress_until([&] {
            return signals == expected_signals && ended.value() == before + (status.is_posted() ? 1 : 0);
          }));
        };
        for (std::uint64_t round = 1; round <= kStarts; ++round) {
          test::fill(source, round);
          run(put, put_completed, put_completed.value());
          EXPECT_TRUE(matches(target.bytes().subspan(16, size), round)) << size;
          run(get, get_completed, get_completed.value());
          EXPECT_TRUE(matches(back, round)) << size;
        }
      }
}

TEST_P(PersistentAccesses, end_as_refused_when_the_region_does_not_have_them_any_more) {
  auto attributes = setting().attributes;
  attributes.push_back({"log", "error"});
  Ranks<Endpoint> ranks(2, attributes);
  Target target(ranks.runtime(1), setting(), 1000);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  Recorder ended;
  const auto source = payload(100, 1);
  const AccessOptions options{.completion = &ended, .may_complete_now = true};
  auto inside = ranks.endpoint(0).prepare_put(1, region.at(900), source, options);
  auto outside = ranks.endpoint(0).prepare_put(1, region.at(901), source, options);
  const auto outcome = [&](auto& operation) {
    ended.messages.clear();
    const Status status = post_until([&] { return operation.start(); }, [&] { ranks.progress(); });
    if (status.is_done()) return Outcome::ok;
    EXPECT_TRUE(ranks.progress_until([&] { return ended.ready(); }));
    return ended.messages.empty() ? Outcome::cancelled : ended.messages[0].outcome();
  };
  EXPECT_EQ(outcome(inside), Outcome::ok);
  EXPECT_EQ(outcome(outside), Outcome::refused);
  EXPECT_EQ(outcome(inside), Outcome::ok);
  target.release();
  EXPECT_EQ(outcome(inside), Outcome::refused);
}

}  // namespace
}  // namespace weft
