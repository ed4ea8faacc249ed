// Credits: when they are told, when they are asked for, and which ones cannot be.
#include "unit/clock/session/scripted_peer.hpp"

namespace weft::network::session::test {
namespace {

class Credits : public ScriptedPeer {
 protected:
  Credits() { greet(); }
  /// So many messages come and are taken, one by one, before credit for them is told.
  std::uint32_t count_until_told(Kind kind) {
    for (std::uint32_t count = 0; count < 1000; ++count) {
      poll();
      if (!take_sent(Kind::credit).empty()) return count;
      arrive_message(count, kind);
      poll();
    }
    return 1000;
  }
  void ask(TrafficClass traffic, std::uint32_t sent) {
    Ask ask{};
    ask.sent[static_cast<std::size_t>(traffic)] = sent;
    arrive(Kind::ask, bytes_of_one(ask));
  }
};

TEST_F(Credits, are_told_in_batches) {
  EXPECT_EQ(count_until_told(Kind::data), 16U);
  EXPECT_EQ(count_until_told(Kind::control), 16U);
  EXPECT_EQ(count_until_told(Kind::urgent), 4U);
  EXPECT_EQ(count_until_told(Kind::bulk), 4U);
  EXPECT_EQ(count_until_told(Kind::rendezvous_data), 16U);
  EXPECT_EQ(count_until_told(Kind::data), 16U) << "and again";
  EXPECT_TRUE(sink_.rejected.empty());
}

TEST_F(Credits, count_each_class_by_itself_and_messages_of_frames_one_by_one) {
  std::vector<std::byte> frame(2 * bytes_in_frame(0));
  const FrameRecord record{5, 0, 1, {}};
  std::memcpy(frame.data(), &record, sizeof record);
  std::memcpy(frame.data() + bytes_in_frame(0), &record, sizeof record);
  arrive({0, kPeer, 0, 0, Kind::data, kIsFrame}, frame);
  arrive_message(1, Kind::data);
  for (int count = 0; count < 3; ++count) arrive_message(1, Kind::urgent);
  poll();
  ask(TrafficClass::data, 1);
  poll();
  const auto told = take_sent(Kind::credit);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].as<Credit>().taken, (Counts{2, 0, 3, 0, 0}));
  EXPECT_EQ(told[0].as<Credit>().messages, (Counts{3, 0, 3, 0, 0}));
  EXPECT_EQ(told[0].as<Credit>().handles, 0U);
}

TEST_F(Credits, that_are_asked_for_are_told_at_once) {
  arrive_message(1, Kind::bulk);
  poll();
  poll();
  EXPECT_TRUE(transport_.sent.empty());
  ask(TrafficClass::bulk, 1);
  poll();
  EXPECT_EQ(take_sent(Kind::credit).size(), 1U);
  ask(TrafficClass::bulk, 2);
  poll();
  EXPECT_TRUE(transport_.sent.empty()) << "the second has not come";
  arrive_message(2, Kind::bulk);
  poll();
  poll();
  EXPECT_EQ(take_sent(Kind::credit).size(), 1U);
  arrive_message(3, Kind::bulk);
  poll();
  poll();
  EXPECT_TRUE(transport_.sent.empty()) << "the third was not asked for";
}

TEST_F(Credits, that_meet_a_full_socket_are_told_later) {
  arrive_message(1);
  poll();
  ask(TrafficClass::data, 1);
  transport_.refused = {Kind::credit};
  poll();
  transport_.refused.clear();
  poll();
  EXPECT_EQ(take_sent(Kind::credit).at(0).as<Credit>().taken[0], 1U);
  poll();
  EXPECT_TRUE(transport_.sent.empty());
}

TEST_F(Credits, wait_with_handles_behind_them_where_the_socket_is_full) {
  arrive_message(1);
  poll();
  ask(TrafficClass::data, 1);
  transport_.refused = {Kind::credit};
  board_.publish(1, 1, HandleState::open);
  poll();
  EXPECT_TRUE(transport_.sent.empty());
}

TEST_F(Credits, are_told_when_nothing_has_come_for_long) {
  arrive_message(1);
  poll_idly();
  clock_.advance(5 * kMillisecond);
  poll_idly();
  EXPECT_TRUE(transport_.sent.empty()) << "one for each message would double what is sent";
  clock_.advance(20 * kMillisecond);
  poll_idly();
  EXPECT_EQ(take_sent(Kind::credit).at(0).as<Credit>().taken[0], 1U);
  arrive_message(2);
  poll_idly();
  EXPECT_TRUE(transport_.sent.empty()) << "a message that has come begins the time anew";
  clock_.advance(20 * kMillisecond);
  poll_idly();
  EXPECT_EQ(take_sent(Kind::credit).at(0).as<Credit>().taken[0], 2U);
}

TEST_F(Credits, are_told_by_the_courier_when_the_program_makes_no_call) {
  arrive_message(1);
  poll();
  EXPECT_TRUE(device_->is_laden());
  device_->carry();
  EXPECT_TRUE(transport_.sent.empty());
  clock_.advance(5 * kMillisecond);
  device_->carry();
  EXPECT_TRUE(transport_.sent.empty());
  EXPECT_TRUE(device_->is_laden());
  clock_.advance(20 * kMillisecond);
  transport_.refused = {Kind::credit};
  device_->carry();
  EXPECT_TRUE(device_->is_laden()) << "there was no room";
  transport_.refused.clear();
  device_->carry();
  EXPECT_EQ(take_sent(Kind::credit).size(), 1U);
  EXPECT_FALSE(device_->is_laden());
}

TEST_F(Credits, are_told_before_a_thread_sleeps_for_long) {
  arrive_message(1);
  poll();
  poll();
  clock_.advance(20 * kMillisecond);
  static_cast<void>(device_->prepare_park());
  EXPECT_EQ(take_sent(Kind::credit).size(), 1U);
}

TEST_F(Credits, of_a_device_that_closes_are_told) {
  arrive_message(1);
  poll();
  device_->close();
  EXPECT_EQ(take_sent(Kind::credit).at(0).as<Credit>().taken[0], 1U);
  arrive_message(2);
  poll();
  poll();
  EXPECT_TRUE(transport_.sent.empty()) << "that was once";
}

TEST_F(Credits, are_told_to_nobody_who_has_sent_nothing) {
  device_->close();
  EXPECT_TRUE(device_->drained());
  poll();
  EXPECT_TRUE(transport_.sent.empty());
}

TEST_F(Credits, free_room_for_as_many_messages) {
  for (std::uint64_t word = 0; word < 64; ++word) ASSERT_EQ(send(word), SendResult::sent);
  EXPECT_EQ(send(64), SendResult::no_slot);
  arrive_credit(3);
  for (std::uint64_t word = 64; word < 67; ++word) EXPECT_EQ(send(word), SendResult::sent);
  EXPECT_EQ(send(67), SendResult::no_slot);
  EXPECT_TRUE(sink_.rejected.empty());
}

TEST_F(Credits, for_messages_that_were_not_sent_are_refused) {
  ASSERT_EQ(send(1), SendResult::sent);
  const auto refused = [&](const Credit& credit) {
    arrive(Kind::credit, bytes_of_one(credit));
    poll();
    return take_rejected();
  };
  const std::vector<std::string> why{"credit for messages that were not sent"};
  EXPECT_EQ(refused({{2}, 0, {1}}), why);
  EXPECT_EQ(sink_.rejected_value, 2U);
  EXPECT_EQ(refused({{0}, 0, {3}}), why);
  EXPECT_EQ(sink_.rejected_value, 3U);
  EXPECT_EQ(refused({{0, 1}, 0, {}}), why);
  EXPECT_EQ(refused({{0, 0, 0, 0, 1}, 0, {}}), why);
  EXPECT_EQ(refused({{1}, 0, {1}}), std::vector<std::string>{});
  EXPECT_EQ(refused({{0}, 0, {1}}), why) << "it does not go back";
  const Credit good{{1}, 0, {1}};
  arrive(Kind::credit, bytes_of_one(good).first(sizeof good - 1));
  arrive(Kind::ask, bytes_of_one(good));
  poll();
  EXPECT_EQ(take_rejected(),
            (std::vector<std::string>{"credit of a wrong length", "question of a wrong length"}));
}

}  // namespace
}  // namespace weft::network::session::test
