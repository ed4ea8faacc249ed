// Windows that follow bandwidth and delay: which messages are timed, and what their times change.
#include "unit/clock/session/scripted_peer.hpp"

namespace weft::network::session::test {
namespace {

class Pace : public ScriptedPeer {
 protected:
  Pace() : ScriptedPeer(How{.credits = 256, .first = 16, .adapts = true, .stages = true}) {
    transport_.set_frames(0);
    greet(1024);
  }
  void send_many(int count, TrafficClass traffic = TrafficClass::data) {
    for (; count != 0; --count) ASSERT_EQ(send(1, traffic), SendResult::sent);
  }
  std::uint32_t most_under_way() { return device_->most_under_way(kPeer, 0); }
};

TEST_F(Pace, asks_for_the_credit_of_every_so_manieth_message) {
  send_many(15);
  EXPECT_TRUE(take_sent(Kind::ask).empty());
  send_many(1);
  const auto asked = take_sent(Kind::ask);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].as<Ask>().sent, (Counts{16, 0, 0, 0, 0}));
  send_many(32);
  EXPECT_TRUE(take_sent(Kind::ask).empty()) << "one is under way";
  arrive_credit(48);
  poll();
  send_many(32);
  EXPECT_TRUE(take_sent(Kind::ask).empty()) << "it is not time for another one";
  clock_.advance(20 * kMillisecond);
  send_many(16, TrafficClass::control);
  EXPECT_EQ(take_sent(Kind::ask).at(0).as<Ask>().sent, (Counts{80, 16, 0, 0, 0}));
}

TEST_F(Pace, knows_a_long_way_by_the_time_of_the_message) {
  send_many(16);
  clock_.advance(kMillisecond);
  EXPECT_EQ(most_under_way(), 0U);
  arrive_credit(15);
  poll();
  EXPECT_EQ(most_under_way(), 0U) << "that was not the one";
  arrive_credit(16);
  poll();
  EXPECT_EQ(most_under_way(), 256U);
}

TEST_F(Pace, knows_a_short_way_by_the_time_of_the_message) {
  send_many(16);
  clock_.advance(kMillisecond / 10);
  arrive_credit(16);
  poll();
  EXPECT_EQ(most_under_way(), 0U);
}

TEST_F(Pace, takes_credit_of_another_class_for_no_answer) {
  send_many(4, TrafficClass::control);
  send_many(12);
  clock_.advance(kMillisecond);
  const Credit other{{0, 4}, 0, {0, 4}};
  arrive(Kind::credit, bytes_of_one(other));
  poll();
  EXPECT_EQ(most_under_way(), 0U);
  const Credit whole{{12, 4}, 0, {12, 4}};
  arrive(Kind::credit, bytes_of_one(whole));
  poll();
  EXPECT_EQ(most_under_way(), 256U);
}

TEST_F(Pace, opens_the_window_where_the_way_is_long) {
  std::uint32_t sent = 0;
  std::uint32_t most = 0;
  const auto fill = [&] {
    std::uint32_t count = 0;
    while (count < 2000 && send(1) == SendResult::sent) ++count;
    sent += count;
    return count;
  };
  EXPECT_EQ(fill(), kFirstCredits);
  // All is taken in a round trip of a millisecond, again and again.
  for (int round = 0; round < 8; ++round) {
    clock_.advance(kMillisecond);
    arrive_credit(sent);
    poll();
    most = std::max(most, fill());
  }
  EXPECT_EQ(most, 1024U) << "as many as the peer grants";
  EXPECT_TRUE(sink_.rejected.empty());
}

TEST_F(Pace, asks_again_where_the_socket_was_full) {
  transport_.refused = {Kind::ask};
  send_many(16);
  transport_.refused.clear();
  send_many(15);
  EXPECT_TRUE(take_sent(Kind::ask).empty());
  send_many(1);
  EXPECT_EQ(take_sent(Kind::ask).size(), 1U);
}

class PaceOfFrames : public ScriptedPeer {
 protected:
  PaceOfFrames() : ScriptedPeer(How{.adapts = true, .stages = true}) { greet(); }
};

// Where the way is long, what is staged waits for more, although the program calls progress: a part of a
// round trip.
TEST_F(PaceOfFrames, holds_them_for_a_part_of_a_long_round_trip) {
  for (int count = 0; count < 16; ++count) {
    ASSERT_EQ(send(1), SendResult::sent);
    poll();
  }
  EXPECT_EQ(take_sent(Kind::data).size(), 16U);
  clock_.advance(kMillisecond);
  arrive_credit(16);
  poll();
  ASSERT_EQ(send(2), SendResult::sent);
  EXPECT_EQ(take_sent(Kind::data).size(), 1U) << "nothing has left for a while";
  poll();
  ASSERT_EQ(send(3), SendResult::sent);
  ASSERT_EQ(send(4), SendResult::sent);
  for (int count = 0; count < 5; ++count) poll();
  EXPECT_TRUE(take_sent(Kind::data).empty()) << "they are held";
  EXPECT_FALSE(device_->drained());
  clock_.advance(kMillisecond / 10);
  poll();
  EXPECT_EQ(take_sent(Kind::data).size(), 1U) << "in a frame";
  clock_.advance(kMillisecond / 10);
  ASSERT_EQ(send(5), SendResult::sent);
  EXPECT_EQ(take_sent(Kind::data).size(), 1U) << "the next is late enough to leave at once";
}

TEST_F(PaceOfFrames, holds_none_of_them_where_the_way_is_short) {
  for (int count = 0; count < 16; ++count) {
    ASSERT_EQ(send(1), SendResult::sent);
    poll();
  }
  arrive_credit(16);
  poll();
  ASSERT_EQ(send(2), SendResult::sent);
  poll();
  ASSERT_EQ(send(3), SendResult::sent);
  EXPECT_EQ(take_sent(Kind::data).size(), 18U);
}

}  // namespace
}  // namespace weft::network::session::test
