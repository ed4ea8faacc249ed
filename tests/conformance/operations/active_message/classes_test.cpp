// Message classes: each has room of its own, and what is urgent is delivered first.
#include "support/classes.hpp"
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::kClasses;
using test::payload;
using test::Ranks;
using test::Recorder;

std::uint32_t tag_of(MessageClass message_class) { return static_cast<std::uint32_t>(message_class); }

/// Ranks that have met, also in the classes, and whose sender fills lanes soon.
template <class EndpointType>
class ClassRanks : public Ranks<EndpointType> {
 public:
  explicit ClassRanks(int count = 2, std::vector<AttributeSetting> attributes = {})
      : Ranks<EndpointType>(count, with_small_lanes(std::move(attributes))) {
    remote = this->runtime(1).expose(arrived, {.id = 1});
    const bool met = this->meet();
    EXPECT_TRUE(met);
    for (const MessageClass each : kClasses)
      EXPECT_TRUE(this->post(0, 1, remote, {}, {.tag = 99, .message_class = each}).has_value());
    EXPECT_TRUE(this->progress_until([&] { return arrived.messages.size() == kClasses.size(); }));
    arrived.messages.clear();
  }
  ~ClassRanks() { arrived.withdraw(); }

  /// Posts a class until it is refused, without progress of anybody; returns how many were accepted.
  std::uint64_t fill(MessageClass message_class, Bytes bytes) {
    std::uint64_t accepted = 0;
    while (accepted < 100'000) {
      const Status status = this->endpoint(0).post_am(
          1, remote, bytes, {.tag = tag_of(message_class), .message_class = message_class});
      // The courier looks in now and then, and stays for long when its core is taken from it.
      if (status.is_retry() && status.reason() == Reason::lock_contended) continue;
      if (status.is_retry()) {
        EXPECT_TRUE(status.reason() == Reason::no_slot || status.reason() == Reason::no_packet)
            << name_of(status.reason());
        return accepted;
      }
      ++accepted;
    }
    ADD_FAILURE() << "never refused";
    return accepted;
  }
  /// Progress of the receiver until the messages that were posted have arrived where it looks for them, and
  /// the first have been delivered; elsewhere nothing is under way once a post has returned.
  [[nodiscard]] bool receive_some() {
    return test::until([&] { return !arrived.messages.empty(); }, [&] { this->endpoint(1).progress(); });
  }
  [[nodiscard]] std::uint64_t count_of(MessageClass message_class) const {
    return static_cast<std::uint64_t>(
        std::count_if(arrived.messages.begin(), arrived.messages.end(),
                      [&](const Message& message) { return message.tag() == tag_of(message_class); }));
  }

  Recorder arrived;
  RemoteCompletion remote;

 private:
  static std::vector<AttributeSetting> with_small_lanes(std::vector<AttributeSetting> attributes) {
    attributes.insert(attributes.end(), {{"lane_slots", "64"}, {"lane_slots_max", "64"}});
    return test::with_no_surprises(std::move(attributes));
  }
};

template <class EndpointType>
class Classes : public testing::Test {};
using EndpointTypes = testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(Classes, EndpointTypes);

/// Whether the receiver has everything as soon as a post has returned.
bool arrives_at_once(const Runtime& runtime) { return !test::is_message_network(runtime); }

TYPED_TEST(Classes, have_room_of_their_own_whichever_is_filled_first) {
  for (const MessageClass first : kClasses) {
    SCOPED_TRACE(tag_of(first));
    ClassRanks<TypeParam> ranks;
    std::array<std::uint64_t, 3> accepted{};
    const auto bytes = payload(8, 1);
    accepted[tag_of(first)] = ranks.fill(first, bytes);
    for (const MessageClass each : kClasses)
      if (each != first) accepted[tag_of(each)] = ranks.fill(each, bytes);
    for (const MessageClass each : kClasses) EXPECT_GT(accepted[tag_of(each)], 0U) << tag_of(each);
    ASSERT_TRUE(ranks.progress_until(
        [&] { return ranks.arrived.messages.size() == accepted[0] + accepted[1] + accepted[2]; }));
    for (const MessageClass each : kClasses) EXPECT_EQ(ranks.count_of(each), accepted[tag_of(each)]);
  }
}

TYPED_TEST(Classes, control_is_accepted_while_the_others_are_full_and_is_delivered_first) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{300}, std::size_t{3000}}) {
    SCOPED_TRACE(size);
    ClassRanks<TypeParam> ranks;
    const auto bytes = payload(size, 1);
    // With packets for both: those of bulk are bounded.
    const std::uint64_t bulk = ranks.fill(MessageClass::bulk, bytes);
    const std::uint64_t normal = ranks.fill(MessageClass::normal, bytes);
    const std::uint64_t urgent = 42;
    const Status status = ranks.endpoint(0).post_am(
        1, ranks.remote, bytes_of(urgent),
        {.tag = tag_of(MessageClass::control), .message_class = MessageClass::control});
    ASSERT_TRUE(status.is_done()) << name_of(status.reason());
    EXPECT_GT(bulk, 0U);
    EXPECT_GT(normal, 0U);
    if (arrives_at_once(ranks.runtime(0))) {
      ASSERT_TRUE(ranks.receive_some());
      EXPECT_EQ(ranks.arrived.messages.front().tag(), tag_of(MessageClass::control));
      EXPECT_LE(ranks.count_of(MessageClass::bulk), 8U) << "the share of one progress call";
      if (normal > 8) {
        EXPECT_GE(ranks.count_of(MessageClass::normal), 8U) << "normal before bulk";
      }
    }
    ASSERT_TRUE(ranks.progress_until([&] { return ranks.arrived.messages.size() == bulk + normal + 1; }));
  }
}

TYPED_TEST(Classes, of_every_size_arrive_whole) {
  ClassRanks<TypeParam> ranks;
  for (const MessageClass each : kClasses)
    for (const std::size_t size : test::border_sizes(ranks.runtime(0))) {
      const auto bytes = payload(size, size + 1);
      Recorder sent;
      ASSERT_TRUE(
          ranks.post(0, 1, ranks.remote, bytes, {.completion = &sent, .tag = 7, .message_class = each})
              .has_value());
      ASSERT_TRUE(ranks.progress_until([&] { return sent.ready() && ranks.arrived.messages.size() == 1; }))
          << size << " bytes of class " << tag_of(each);
      EXPECT_TRUE(ranks.arrived.messages[0].size() == size &&
                  test::matches(ranks.arrived.messages[0].bytes(), size + 1));
      ranks.arrived.messages.clear();
    }
}

TYPED_TEST(Classes, bulk_is_delivered_while_normal_never_ends) {
  ClassRanks<TypeParam> ranks;
  const std::uint64_t bulk = ranks.fill(MessageClass::bulk, payload(3000, 1));
  ASSERT_TRUE(ranks.progress_until([&] {
    for (int count = 0; count < 200; ++count)
      static_cast<void>(ranks.endpoint(0).post_am(1, ranks.remote, {}, {.tag = 50}));
    return ranks.count_of(MessageClass::bulk) == bulk;
  }));
}

TYPED_TEST(Classes, control_passes_megabytes_that_are_under_way) {
  ClassRanks<TypeParam> ranks;
  constexpr std::size_t kSize = std::size_t{8} << 20;
  const auto bytes = payload(kSize, 5);
  Recorder sent;
  for (int count = 0; count < 2; ++count)
    ASSERT_TRUE(ranks
                    .post(0, 1, ranks.remote, bytes,
                          {.completion = &sent, .tag = 1000, .message_class = MessageClass::bulk})
                    .has_value());
  // One piece of news for every round of both ranks: none waits for the end of the megabytes.
  std::uint64_t posted = 0;
  std::uint64_t late = 0;
  ASSERT_TRUE(ranks.progress_until([&] {
    if (posted == ranks.count_of(MessageClass::control)) {
      if (ranks.endpoint(0)
              .post_am(1, ranks.remote, bytes_of(posted),
                       {.tag = tag_of(MessageClass::control), .message_class = MessageClass::control})
              .is_accepted())
        ++posted;
    } else {
      ++late;
    }
    return sent.messages.size() == 2 &&
           std::count_if(ranks.arrived.messages.begin(), ranks.arrived.messages.end(),
                         [](const Message& message) { return message.tag() == 1000; }) == 2;
  }));
  // Over sockets how often depends on when the kernel hands over what it has.
  EXPECT_GT(posted, arrives_at_once(ranks.runtime(0)) ? 8U : 1U);
  if (arrives_at_once(ranks.runtime(0))) {
    EXPECT_EQ(late, 0U) << "each is delivered by the next progress";
  }
  for (const Message& message : ranks.arrived.messages)
    if (message.tag() == 1000) {
      EXPECT_TRUE(message.size() == kSize && test::matches(message.bytes(), 5));
    }
}

TYPED_TEST(Classes, bulk_leaves_packets_to_the_others) {
  ClassRanks<TypeParam> ranks(2, {{"packets", "32"}, {"bulk_packets", "8"}, {"packet_magazine", "1"}});
  // Which keeps no packets, as the recorder does.
  Counter arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 2});
  ASSERT_TRUE(ranks.post(0, 1, remote, {}).has_value());
  const auto bytes = payload(3000, 1);
  std::uint64_t bulk = 0;
  while (ranks.endpoint(0).post_am(1, remote, bytes, {.message_class = MessageClass::bulk}).is_accepted())
    ASSERT_LT(++bulk, 100U);
  if (!test::copies_packets_at_once(ranks.runtime(0))) {
    EXPECT_LE(bulk, 6U) << "three quarters of the share";
  }
  EXPECT_GT(bulk, 0U);
  for (const MessageClass each : {MessageClass::normal, MessageClass::control})
    ASSERT_TRUE(ranks.endpoint(0).post_am(1, remote, bytes, {.message_class = each}).is_done());
  // What comes back can be used again, and a large message finds packets all the same.
  const auto large = payload(1 << 20, 2);
  Recorder sent;
  ASSERT_TRUE(ranks.post(0, 1, remote, large, {.completion = &sent}).has_value());
  std::uint64_t more = 0;
  ASSERT_TRUE(ranks.progress_until([&] {
    if (more < 100 &&
        ranks.endpoint(0).post_am(1, remote, bytes, {.message_class = MessageClass::bulk}).is_accepted())
      ++more;
    return more == 100 && sent.ready() && arrived.value() == 1 + bulk + 2 + 1 + 100;
  })) << more;
}

TYPED_TEST(Classes, refused_posts_of_one_do_not_hold_back_another) {
  for (const MessageClass full : kClasses) {
    SCOPED_TRACE(tag_of(full));
    ClassRanks<TypeParam> ranks;
    const auto bytes = payload(8, 1);
    std::uint64_t accepted = ranks.fill(full, bytes);
    const ActiveMessageOptions kept{.tag = tag_of(full), .may_retry = false, .message_class = full};
    for (int count = 0; count < 5; ++count) {
      const Status status = ranks.endpoint(0).post_am(1, ranks.remote, bytes, kept);
      ASSERT_TRUE(status.is_posted());
      ++accepted;
    }
    ranks.endpoint(0).progress();  // it tries again and finds out what for
    ranks.endpoint(0).progress();
    // A post that may wait stays behind those that wait; of other classes it does not.
    for (const MessageClass each : kClasses) {
      const Status status =
          ranks.endpoint(0).post_am(1, ranks.remote, bytes, {.tag = tag_of(each), .message_class = each});
      EXPECT_EQ(status.is_accepted(), each != full) << tag_of(each);
      if (status.is_accepted()) ++accepted;
    }
    ASSERT_TRUE(ranks.progress_until([&] { return ranks.arrived.messages.size() == accepted; }));
  }
}

TYPED_TEST(Classes, that_do_not_exist_are_refused) {
  ClassRanks<TypeParam> ranks;
  constexpr auto kNone = static_cast<MessageClass>(3);
  const auto expect_refused = [&](const auto& call) {
    try {
      call();
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("message class 3"), std::string::npos) << error.what();
    }
  };
  auto& endpoint = ranks.endpoint(0);
  const std::array<Bytes, 1> parts{};
  expect_refused([&] { static_cast<void>(endpoint.post_am(1, ranks.remote, {}, {.message_class = kNone})); });
  expect_refused([&] { static_cast<void>(endpoint.send_am(1, ranks.remote, {}, {.message_class = kNone})); });
  expect_refused([&] {
    static_cast<void>(endpoint.post_am(1, ranks.remote, Bytes{}, parts, {.message_class = kNone}));
  });
  expect_refused([&] { static_cast<void>(endpoint.post_send(1, 1, {}, {.message_class = kNone})); });
  expect_refused([&] { static_cast<void>(endpoint.send(1, 1, {}, {.message_class = kNone})); });
  expect_refused([&] { static_cast<void>(endpoint.prepare_send(1, 1, {}, {.message_class = kNone})); });
  expect_refused(
      [&] { static_cast<void>(endpoint.prepare_am(1, ranks.remote, {}, {.message_class = kNone})); });
  expect_refused(
      [&] { static_cast<void>(endpoint.post_send(1, 1, {}, {.engine = 256, .message_class = kNone})); });
}

}  // namespace
}  // namespace weft
