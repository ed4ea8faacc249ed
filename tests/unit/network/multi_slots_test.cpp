// Messages in several slots, and in packets, by the short way of inlined posts: what lies where, what comes
// of them, and what they leave to the long way.
#include "network/multi_slot_lane.hpp"
#include "network/shm/port/port.hpp"
#include "network/slot_payload.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace weft {
namespace {

using detail::SendLane;
using detail::Slot;
using network::slots_for;
using test::Ranks;

TEST(MultiSlots, are_as_many_as_the_payload_needs) {
  EXPECT_EQ(slots_for(0), 1U);
  EXPECT_EQ(slots_for(48), 1U);
  EXPECT_EQ(slots_for(49), 2U);
  EXPECT_EQ(slots_for(112), 2U);
  EXPECT_EQ(slots_for(113), 3U);
  EXPECT_EQ(slots_for(2096), 33U);
}

TEST(MultiSlots, hold_payload_and_trailer_in_one_piece_and_nothing_else) {
  constexpr std::uint64_t kTrailer = 0x8877665544332211;
  for (std::size_t size = 0; size <= 500; ++size) {
    // Slots of a ring that has been read: empty headers, and whatever was in the rest.
    std::vector<Slot> slots(slots_for(size + sizeof kTrailer) + 1);
    for (Slot& slot : slots) {
      slot.header.store(0);
      std::memset(static_cast<void*>(reinterpret_cast<std::byte*>(&slot) + 8), 0xee, 56);
    }
    const std::vector<std::byte> sent = test::payload(size, size);
    network::write_payload(slots.data(), sent);
    network::write_trailer(slots.data(), size, kTrailer);
    const std::byte* const there = slots.front().payload;
    ASSERT_TRUE(test::matches({there, size}, size)) << size;
    ASSERT_EQ(std::memcmp(there + size, &kTrailer, sizeof kTrailer), 0) << size;
    EXPECT_EQ(slots.front().header.load(), 0U) << "published by its header, not by its payload";
    const Slot& behind = slots.back();
    EXPECT_EQ(behind.header.load(), 0U) << size;
    EXPECT_EQ(behind.word, 0xeeeeeeeeeeeeeeeeU) << size;
  }
}

TEST(MultiSlotLane, knows_where_its_last_message_began) {
  std::vector<Slot> slots(8);
  network::MultiSlotLane lane;
  lane.slots = slots.data();
  lane.mask = 7;
  lane.place_at(5);
  lane.next = slots.data() + 8;  // three slots, to the ring's end
  lane.ends_with_multi_slot(&slots[5], lane.next);
  EXPECT_EQ(&lane.last(), &slots[5]);
  lane.place_at(8);
  EXPECT_EQ(&lane.last(), &slots[5]) << "in the next lap as well";
  lane.next = &slots[1];
  EXPECT_EQ(&lane.last(), slots.data()) << "one of one slot came behind";
  lane.next = slots.data() + 8;
  EXPECT_EQ(&lane.last(), &slots[7]) << "where it ended, but a lap later";
}

template <class EndpointType>
class MultiSlotPosts : public testing::Test {
 protected:
  static constexpr bool kSerial = std::is_same_v<EndpointType, SerialEndpoint>;
  MultiSlotPosts() {
    remote_ = ranks_.runtime(1).expose(arrived_, {.id = 1});
    // First contact is the long way's.
    EXPECT_TRUE(ranks_.post(0, 1, remote_, {}).has_value());
    EXPECT_TRUE(ranks_.progress_until([&] { return arrived_.messages.size() == 1; }));
    arrived_.messages.clear();
  }
  EndpointType& from() { return ranks_.endpoint(0); }
  std::uint64_t called() {
    return static_cast<network::shm::SendState*>(from().path().lane(1, 0))->multi_slot_messages +
           static_cast<network::shm::SendState*>(from().path().lane(1, 0))->multi_slot_sends;
  }

  test::Recorder arrived_;
  Ranks<EndpointType> ranks_{2, {{"network", "shm"}, {"thread_lanes", "1"}}};
  RemoteCompletion remote_;
};
using EndpointTypes = testing::Types<SerialEndpoint, Endpoint>;
TYPED_TEST_SUITE(MultiSlotPosts, EndpointTypes);

TYPED_TEST(MultiSlotPosts, of_every_size_arrive_whole_and_in_runs) {
  const std::size_t most = test::size_attribute(this->ranks_.runtime(0), "inline_max");
  for (std::size_t size = 49; size <= most + 200; size += size < 300 ? 1 : 37) {
    const std::uint64_t before = this->called();
    for (std::uint64_t number = 0; number < 5; ++number)
      ASSERT_TRUE(test::until(
          [&] {
            return this->from().post_am(1, this->remote_, test::payload(size, number), {.tag = 7}).is_done();
          },
          [&] { this->ranks_.progress(); }));
    EXPECT_GE(this->called(), before + 3) << size << " bytes: the lane may end or grow once";
    auto& messages = this->arrived_.messages;
    ASSERT_TRUE(this->ranks_.progress_until([&] { return messages.size() == 5; }));
    for (std::uint64_t number = 0; number < 5; ++number) {
      EXPECT_EQ(messages[number].size(), size);
      EXPECT_EQ(messages[number].tag(), 7U);
      EXPECT_TRUE(test::matches(messages[number].bytes(), number)) << size;
    }
    messages.clear();
  }
}

TYPED_TEST(MultiSlotPosts, of_sends_meet_receives_that_were_posted_before_and_after_them) {
  Counter received;
  for (const std::size_t size : {41U, 48U, 97U, 104U, 105U, 400U, 2088U, 2089U, 9000U}) {
    for (const bool early : {false, true}) {
      constexpr std::uint64_t kMessages = 6;
      std::vector<std::vector<std::byte>> buffers(kMessages, std::vector<std::byte>(size));
      const std::uint64_t target = received.value() + kMessages;
      const auto post = [&] {
        for (auto& buffer : buffers)
          ASSERT_TRUE(
              this->ranks_.endpoint(1).post_receive(0, 3, buffer, {.completion = &received}).is_posted());
      };
      if (!early) post();
      for (std::uint64_t number = 0; number < kMessages; ++number)
        ASSERT_TRUE(
            test::until([&] { return this->from().post_send(1, 3, test::payload(size, number)).is_done(); },
                        [&] { this->ranks_.progress(); }));
      this->ranks_.endpoint(1).progress();
      if (early) post();
      ASSERT_TRUE(this->ranks_.progress_until([&] { return received.value() == target; }));
      for (std::uint64_t number = 0; number < kMessages; ++number)
        EXPECT_TRUE(test::matches(buffers[number], number)) << size << (early ? ", early" : "");
    }
  }
  EXPECT_GT(this->called(), 50U);
}

TEST(MultiSlotSends, that_fit_neither_into_slots_with_their_trailer_nor_into_a_packet_arrive_whole) {
  Ranks<Endpoint> ranks(2, {{"network", "shm"}, {"packet_size", "1K"}, {"inline_max", "2096"}});
  ASSERT_TRUE(ranks.meet());
  Counter received;
  std::uint64_t target = 0;
  for (const std::size_t size : {1016U, 1024U, 1025U, 2087U, 2088U, 2089U, 2096U, 2097U}) {
    for (std::uint64_t number = 0; number < 40; ++number) {
      std::vector<std::byte> buffer(size);
      ASSERT_TRUE(ranks.endpoint(1).post_receive(0, 1, buffer, {.completion = &received}).is_posted());
      const std::vector<std::byte> sent = test::payload(size, number);
      Counter done;
      const SendOptions options{.completion = &done, .may_complete_now = true};
      Status status = Status::done();
      ASSERT_TRUE(
          test::until([&] { return !(status = ranks.endpoint(0).post_send(1, 1, sent, options)).is_retry(); },
                      [&] { ranks.progress(); }));
      ++target;
      ASSERT_TRUE(ranks.progress_until([&] {
        return received.value() == target && (status.is_done() || done.value() == 1);
      })) << size;
      ASSERT_TRUE(test::matches(buffer, number)) << size;
    }
  }
}

TYPED_TEST(MultiSlotPosts, do_not_fit_where_the_ring_ends_or_is_full) {
  SendLane& lane = *this->from().path().lane(1, 0);
  auto& state = static_cast<network::shm::SendState&>(lane);
  const std::vector<std::byte> bytes = test::payload(300, 1);  // 5 slots
  const auto write = [&] { return network::write_multi_slot<false>(lane, 0, bytes, 0); };
  const Slot* const next = lane.next;
  const std::uint64_t tail = lane.tail();
  state.is_given_up = true;
  lane.set_limit(tail);  // as who gives a lane up does
  EXPECT_FALSE(write()) << "whatever the credit says";
  state.is_given_up = false;
  EXPECT_EQ(lane.next, next) << "without effect";
  std::uint64_t written = 0;
  while (write()) ++written;
  EXPECT_EQ(written, (lane.mask - tail) / 5) << "one slot stays free";
  EXPECT_LT(lane.end - lane.next, 5);
  // By the long way they go on at the ring's first slot, and a lane that is full refuses.
  std::uint64_t accepted = 0;
  while (this->from().post_am(1, this->remote_, bytes).is_done() && accepted < 100'000) ++accepted;
  EXPECT_GT(accepted, 1000U) << "grown";
  auto& messages = this->arrived_.messages;
  for (int count = 0; count < 10; ++count) this->ranks_.progress();
  ASSERT_TRUE(this->ranks_.progress_until([&] { return messages.size() >= accepted; }));
  EXPECT_EQ(messages.size(), accepted) << "those with word 0 name no handle";
  EXPECT_TRUE(std::ranges::all_of(
      messages, [](const Message& each) { return each.size() == 300 && test::matches(each.bytes(), 1); }));
  messages.clear();
}

TYPED_TEST(MultiSlotPosts, make_a_lane_grow_less_far_than_messages_of_one_slot) {
  const SendLane& lane = *this->from().path().lane(1, 0);
  const auto fill_with = [&](const std::vector<std::byte>& bytes) {
    std::size_t accepted = 0;
    while (this->from().post_am(1, this->remote_, bytes).is_done() && accepted < 100'000) ++accepted;
    EXPECT_LT(accepted, 100'000U) << "full at last";
    return lane.mask + 1;
  };
  EXPECT_EQ(fill_with(test::payload(500, 2)), 4096U);
  EXPECT_EQ(fill_with(test::payload(8, 2)), 16384U);
  // Read to the end, a lane that has grown takes them as before.
  ASSERT_TRUE(
      test::until([&] { return this->from().post_am(1, this->remote_, test::payload(500, 3)).is_done(); },
                  [&] { this->ranks_.progress(); }));
  EXPECT_TRUE(this->ranks_.progress_until([&] {
    return !this->arrived_.messages.empty() && this->arrived_.messages.back().size() == 500 &&
           test::matches(this->arrived_.messages.back().bytes(), 3);
  }));
  this->arrived_.messages.clear();
}

TYPED_TEST(MultiSlotPosts, that_were_prepared_go_the_same_way) {
  const std::vector<std::byte> bytes = test::payload(200, 4);
  auto message = this->from().prepare_am(1, this->remote_, bytes, {});
  auto send = this->from().prepare_send(1, 9, bytes, {});
  const std::uint64_t before = this->called();
  Counter received;
  std::vector<std::byte> buffer(200);
  ASSERT_TRUE(this->ranks_.endpoint(1).post_receive(0, 9, buffer, {.completion = &received}).is_posted());
  EXPECT_TRUE(message.start().is_done());
  EXPECT_TRUE(send.start().is_done());
  ASSERT_TRUE(this->ranks_.progress_until(
      [&] { return this->arrived_.messages.size() == 1 && received.value() == 1; }));
  EXPECT_TRUE(test::matches(buffer, 4));
  EXPECT_TRUE(test::matches(this->arrived_.messages.front().bytes(), 4));
  EXPECT_GE(this->called(), before + 1) << "the first send has no credit in its lane yet";
  this->arrived_.messages.clear();
}

TYPED_TEST(MultiSlotPosts, to_a_handle_that_is_closed_are_refused_as_ever) {
  this->arrived_.withdraw();
  const std::uint64_t before = this->called();
  EXPECT_TRUE(this->from().post_am(1, this->remote_, test::payload(100, 0)).is_accepted());
  EXPECT_EQ(this->called(), before);
  for (int count = 0; count < 10; ++count) this->ranks_.progress();
  EXPECT_TRUE(this->arrived_.messages.empty());
  EXPECT_EQ(this->ranks_.runtime(1).counters().refused_handles, 1U);
}

}  // namespace
}  // namespace weft
