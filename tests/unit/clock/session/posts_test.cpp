// Posts: what they answer, what they look at before they refuse, and how often they look.
#include "unit/clock/session/scripted_peer.hpp"

namespace weft::network::session::test {
namespace {

class Posts : public ScriptedPeer {
 protected:
  /// With the next drive the transport has room again.
  void have_room_with_the_next_drive() {
    transport_.on_drive = [this](SessionDevice&) { transport_.refused.clear(); };
  }
};

TEST_F(Posts, carry_their_class_channel_and_word) {
  greet();
  ASSERT_EQ(send(77, TrafficClass::rendezvous_data, 5), SendResult::sent);
  const auto sent = take_sent(Kind::rendezvous_data);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].header.word, 77U);
  EXPECT_EQ(sent[0].header.channel, 7);
  EXPECT_EQ(sent[0].header.rank, 1U);
  EXPECT_EQ(sent[0].header.device, 0);
  EXPECT_EQ(sent[0].header.flags, 0);
  EXPECT_EQ(sent[0].payload, std::vector(5, std::byte{77}));
}

TEST_F(Posts, look_for_the_greeting_of_the_peer) {
  EXPECT_EQ(send(1), SendResult::not_ready);
  arrive(Kind::hello, bytes_of_one(hello()));
  EXPECT_EQ(send(1), SendResult::sent) << "without any call of progress";
}

TEST_F(Posts, find_a_device_that_is_opened_later) {
  const Outgoing there{kPeer, 4, TrafficClass::data, 7, false, 1};
  EXPECT_EQ(device_->send(there, {}), SendResult::not_ready);
  publish(kPeer, 4);
  EXPECT_EQ(device_->send(there, {}), SendResult::not_ready);
  EXPECT_TRUE(transport_.sent.empty()) << "the bootstrap is asked now and then";
  clock_.advance(2 * kMillisecond);
  EXPECT_EQ(device_->send(there, {}), SendResult::not_ready);
  EXPECT_EQ(take_sent(Kind::hello).size(), 1U);
  arrive({0, kPeer, 4, 0, Kind::hello, 0}, bytes_of_one(hello()));
  EXPECT_EQ(device_->send(there, {}), SendResult::sent);
  EXPECT_EQ(device_->most_under_way(kPeer, 4), 0U);
}

TEST_F(Posts, look_now_and_then_while_the_peer_is_being_reached) {
  transport_.is_reaching_peers = true;
  EXPECT_EQ(send(1), SendResult::not_ready);
  clock_.advance(kMillisecond);
  EXPECT_EQ(send(1), SendResult::not_ready);
  const std::size_t drives = transport_.drives;
  for (int count = 0; count < 10; ++count) EXPECT_EQ(send(1), SendResult::not_ready);
  EXPECT_EQ(transport_.drives, drives);
  clock_.advance(kMillisecond);
  for (int count = 0; count < 10; ++count) EXPECT_EQ(send(1), SendResult::not_ready);
  EXPECT_EQ(transport_.drives, drives + 1);
}

TEST_F(Posts, to_who_has_left_tell_so) {
  greet();
  peers_.mark_left(kPeer, "");
  EXPECT_EQ(send(1), SendResult::peer_left);
  peers_.mark_left(0, "");
  EXPECT_EQ(device_->send({0, 0, TrafficClass::data, 7, false, 1}, {}), SendResult::peer_left);
  EXPECT_TRUE(transport_.sent.empty());
}

TEST_F(Posts, without_credit_read_what_has_come_and_notice_the_end_of_the_peer) {
  greet(1);
  ASSERT_EQ(send(1), SendResult::sent);
  EXPECT_EQ(send(2), SendResult::no_slot);
  arrive_credit(1);
  EXPECT_EQ(send(2), SendResult::sent);
  EXPECT_EQ(send(3), SendResult::no_slot);
  end_peer();
  clock_.advance(20 * kMillisecond);
  EXPECT_EQ(send(3), SendResult::peer_left);
}

TEST_F(Posts, that_meet_a_full_socket_try_once_more) {
  greet();
  transport_.refused = {Kind::data};
  EXPECT_EQ(send(1), SendResult::no_slot);
  EXPECT_EQ(device_->unconsumed().size(), 0U) << "it was not sent";
  have_room_with_the_next_drive();
  EXPECT_EQ(send(1), SendResult::sent);
  EXPECT_EQ(take_sent(Kind::data).size(), 1U);
  EXPECT_EQ(device_->unconsumed().size(), 1U);
}

TEST_F(Posts, that_meet_a_full_socket_notice_the_end_of_the_peer) {
  greet();
  transport_.refused = {Kind::data};
  end_peer();
  clock_.advance(20 * kMillisecond);
  EXPECT_EQ(send(1), SendResult::peer_left);
}

TEST_F(Posts, over_a_connection_that_is_lost_tell_so) {
  greet();
  transport_.is_broken = {Kind::data};
  EXPECT_EQ(send(1), SendResult::peer_left);
  EXPECT_TRUE(device_->unconsumed().empty());
}

TEST_F(Posts, of_bulk_leave_room_to_what_is_more_urgent) {
  greet();
  transport_.has_bulk_room = false;
  EXPECT_EQ(send(1, TrafficClass::bulk), SendResult::no_slot);
  EXPECT_EQ(send(1, TrafficClass::rendezvous_data), SendResult::no_slot);
  EXPECT_EQ(send(1, TrafficClass::data), SendResult::sent);
  EXPECT_EQ(send(1, TrafficClass::urgent), SendResult::sent);
  transport_.on_drive = [this](SessionDevice&) { transport_.has_bulk_room = true; };
  EXPECT_EQ(send(1, TrafficClass::bulk), SendResult::sent);
}

TEST_F(Posts, to_a_handle_that_is_not_open_notice_the_end_of_the_peer) {
  greet();
  end_peer();
  clock_.advance(20 * kMillisecond);
  EXPECT_EQ(send(std::uint64_t{1} << 32, TrafficClass::data, 0, true), SendResult::peer_left);
}

TEST_F(Posts, to_no_handle_need_none) {
  greet();
  EXPECT_EQ(send(std::uint64_t{1} << 32), SendResult::sent);
}

class PostsWithStaging : public ScriptedPeer {
 protected:
  PostsWithStaging() : ScriptedPeer(How{.stages = true}) { greet(); }
};

TEST_F(PostsWithStaging, behind_a_frame_that_is_stuck_try_once_more) {
  ASSERT_EQ(send(1), SendResult::sent);
  ASSERT_EQ(send(2), SendResult::sent);
  transport_.refused = {Kind::data};
  EXPECT_EQ(send(3, TrafficClass::data, 600), SendResult::no_slot);
  EXPECT_EQ(take_sent(Kind::data).size(), 1U);
  transport_.on_drive = [this](SessionDevice&) { transport_.refused.clear(); };
  EXPECT_EQ(send(3, TrafficClass::data, 600), SendResult::no_slot) << "it leaves before the look";
  EXPECT_EQ(send(3, TrafficClass::data, 600), SendResult::sent);
  const auto sent = take_sent(Kind::data);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].header.word, 2U);
  EXPECT_EQ(sent[1].header.word, 3U);
}

class PostsWithoutStaging : public ScriptedPeer {
 protected:
  PostsWithoutStaging() { greet(); }
};

TEST_F(PostsWithoutStaging, leave_by_themselves) {
  for (std::uint64_t word = 1; word < 4; ++word) {
    ASSERT_EQ(send(word), SendResult::sent);
    EXPECT_EQ(take_sent(Kind::data).size(), 1U);
  }
}

}  // namespace
}  // namespace weft::network::session::test
