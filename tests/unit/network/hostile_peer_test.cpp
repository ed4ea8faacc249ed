// What a peer writes into a lane is never trusted: impossible slots are refused and counted, and nothing
// breaks.
#include "core/protocol/wire.hpp"
#include "network/shm/segment/layout.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace weft::network::shm {
namespace {

using core::Channel;
using detail::SendLane;
using detail::Slot;
using detail::slot_header;
using detail::SlotKind;

class HostilePeer : public testing::Test {
 protected:
  HostilePeer() {
    remote_ = ranks_.runtime(1).expose(arrived_, {.id = 1});
    static_cast<void>(ranks_.post(0, 1, remote_, {}));
    EXPECT_TRUE(ranks_.progress_until([&] { return arrived_.value() == 1; }));
  }

  SendLane& lane() { return *detail::path_of(ranks_.endpoint(0).state()).lane(1, 0); }

  /// Writes one slot as a sender would, with whatever header and payload.
  void write(std::uint64_t header, std::uint64_t word, Bytes payload, std::uint64_t slots = 1) {
    SendLane& to = lane();
    Slot& slot = to.at(to.tail());
    if (!payload.empty()) std::memcpy(slot.payload, payload.data(), payload.size());
    slot.word = word;
    slot.header.store(header, std::memory_order_release);
    to.move_to(to.tail() + slots, to.limit);
  }
  template <class T>
  void write_message(Channel channel, std::uint64_t word, const T& content) {
    write(slot_header(lane().lap, sizeof content, static_cast<std::uint8_t>(channel), SlotKind::message),
          word, bytes_of(content));
  }
  std::uint64_t refused() { return ranks_.runtime(1).counters().refused_messages; }
  void progress_receiver() {
    for (int round = 0; round < 50; ++round) ranks_.endpoint(1).progress();
  }
  /// The lane goes on: ordinary messages still arrive.
  void expect_alive() {
    const std::uint64_t before = arrived_.value();
    EXPECT_TRUE(ranks_.endpoint(0).post_am(1, remote_, bytes_of(before)).is_done());
    progress_receiver();
    EXPECT_EQ(arrived_.value(), before + 1);
  }

  test::Ranks<SerialEndpoint> ranks_{2,
                                     {{"log", "error"}, {"drain_timeout", "0.05"}, {"rendezvous", "copy"}}};
  Counter arrived_;
  RemoteCompletion remote_;
};

TEST_F(HostilePeer, that_invents_kinds_and_channels_is_refused) {
  for (const int kind : {6, 77, 255}) {
    const std::uint64_t before = refused();
    write(slot_header(lane().lap, 8, 1, static_cast<SlotKind>(kind)), 0, {});
    progress_receiver();
    EXPECT_EQ(refused(), before + 1) << "kind " << kind;
  }
  for (const std::uint8_t channel : {std::uint8_t{0}, std::uint8_t{200}, std::uint8_t{255}}) {
    const std::uint64_t before = refused();
    write(slot_header(lane().lap, 8, channel, SlotKind::message), 0, {});
    progress_receiver();
    EXPECT_EQ(refused(), before + 1) << "channel " << int{channel};
  }
  expect_alive();
}

TEST_F(HostilePeer, that_claims_more_payload_than_the_ring_holds_is_refused) {
  const std::uint64_t before = refused();
  write(slot_header(lane().lap, 65535, 1, SlotKind::message), detail::handle_word(remote_, 0), {});
  progress_receiver();
  EXPECT_EQ(refused(), before + 1);
  EXPECT_EQ(arrived_.value(), 1U);
}

TEST_F(HostilePeer, that_forges_handles_is_refused) {
  for (const std::uint64_t word : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 48,
                                   std::uint64_t{2} << 48 | std::uint64_t{1} << 32}) {
    const std::uint64_t before = ranks_.runtime(1).counters().refused_handles;
    write(slot_header(lane().lap, 8, 1, SlotKind::message), word, bytes_of(word));
    progress_receiver();
    EXPECT_EQ(ranks_.runtime(1).counters().refused_handles, before + 1);
  }
  expect_alive();
}

TEST_F(HostilePeer, that_names_packets_outside_its_pool_is_refused) {
  for (const PacketReference reference :
       {PacketReference{1'000'000, 0, 8}, PacketReference{~std::uint32_t{0}, 0, 8},
        PacketReference{0, 0, 1'000'000}, PacketReference{0, 0, ~std::uint64_t{0}}}) {
    const std::uint64_t before = refused();
    write(slot_header(lane().lap, sizeof reference, 1, SlotKind::packet), detail::handle_word(remote_, 0),
          bytes_of(reference));
    progress_receiver();
    EXPECT_EQ(refused(), before + 1);
  }
  EXPECT_EQ(arrived_.value(), 1U);
  expect_alive();
}

TEST_F(HostilePeer, that_answers_operations_that_do_not_exist_is_refused) {
  const core::RequestName names[] = {{0, 1}, {0, 77}, {1'000'000, 1}, {~0U, ~0U}};
  for (const core::RequestName name : names) {
    const std::uint64_t before = refused();
    write_message(Channel::fin, 0, name);
    write_message(Channel::cts, 0, core::Cts{name, name, 8, 8, 0, 0});
    write_message(Channel::rendezvous_data, core::word_of(name), core::DataHeader{0, 0});
    progress_receiver();
    EXPECT_EQ(refused(), before + 3);
  }
  const std::uint64_t before = refused();
  const std::uint32_t too_short = 0;
  for (const Channel channel : {Channel::fin, Channel::cts, Channel::rendezvous_data, Channel::rts})
    write_message(channel, 0, too_short);
  progress_receiver();
  EXPECT_EQ(refused(), before + 4);
  expect_alive();
}

/// Has no room, and notes what was asked for.
class NoRoom final : public PayloadOwner {
 public:
  std::byte* allocate(std::size_t size) noexcept override {
    asked = size;
    return nullptr;
  }
  void release(std::byte*, std::size_t, std::uint64_t) noexcept override {}
  std::size_t asked = 0;
};

TEST_F(HostilePeer, that_announces_more_than_a_message_can_be_gets_no_memory) {
  NoRoom allocator;
  Counter target;
  target.set_allocator(allocator);
  const RemoteCompletion remote = ranks_.runtime(1).expose(target, {.id = 2});
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  for (const std::uint64_t size : {~std::uint64_t{0}, ~std::uint64_t{0} - 1000, kMost + 1}) {
    const std::uint64_t before = refused();
    write_message(Channel::rts, detail::handle_word(remote, 0), core::Rts{0x1000, size, {0, 1}, 0});
    progress_receiver();
    EXPECT_EQ(refused(), before + 1) << size;
    EXPECT_EQ(allocator.asked, 0U);
  }
  write_message(Channel::rts, detail::handle_word(remote, 0), core::Rts{0x1000, kMost, {0, 1}, 0});
  progress_receiver();
  EXPECT_EQ(allocator.asked, kMost) << "possible, if there were room";
  EXPECT_EQ(target.value(), 0U);
  expect_alive();
}

TEST_F(HostilePeer, that_invents_message_classes_is_refused) {
  struct {
    core::Rts announcement{0x1000, 100'000, {0, 1}, 0, 3};
    core::MatchTrailer trailer{0, 0, 0, 0};
  } const large_send;
  const std::uint64_t before = refused();
  write_message(Channel::rts, detail::handle_word(remote_, 0), large_send.announcement);
  write_message(Channel::send_rts, 7, large_send);
  write_message(Channel::send, 7, core::MatchTrailer{0, 0x30, 0, 0});
  write_message(Channel::send, 7, core::MatchTrailer{256, 0xf0, 0, 0});
  write(slot_header(lane().lap, 0, static_cast<std::uint8_t>(Channel::credit), SlotKind::message),
        std::uint64_t{3} << 40 | 1, {});
  progress_receiver();
  EXPECT_EQ(refused(), before + 5);
  expect_alive();
}

TEST_F(HostilePeer, that_leaves_the_sequence_loses_its_lane_and_no_more) {
  write(slot_header(lane().lap + 5, 8, 1, SlotKind::message), detail::handle_word(remote_, 0), {});
  progress_receiver();
  EXPECT_EQ(refused(), 1U);
  EXPECT_EQ(arrived_.value(), 1U);
  // Another sender is not concerned.
  ASSERT_TRUE(ranks_.post(1, 1, remote_, {}).has_value());
  EXPECT_TRUE(ranks_.progress_until([&] { return arrived_.value() == 2; }));
}

TEST_F(HostilePeer, that_moves_its_ring_out_of_its_segment_loses_its_lane_and_no_more) {
  const RingMarker marker{~std::uint64_t{0} - 63, 1024};
  write(slot_header(lane().lap, sizeof marker, 0, SlotKind::resized), 0, bytes_of(marker));
  progress_receiver();
  EXPECT_EQ(refused(), 1U);
  ASSERT_TRUE(ranks_.post(1, 1, remote_, {}).has_value());
  EXPECT_TRUE(ranks_.progress_until([&] { return arrived_.value() == 2; }));
}

}  // namespace
}  // namespace weft::network::shm
