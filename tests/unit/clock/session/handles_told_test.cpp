// Which handles are open: told to peers, one message at a time, and learned from them.
#include "unit/clock/session/scripted_peer.hpp"

namespace weft::network::session::test {
namespace {

class HandlesTold : public ScriptedPeer {
 protected:
  /// The changes in the messages of kind handles that were sent.
  std::vector<HandleChange> take_changes() {
    std::vector<HandleChange> changes;
    for (const Transmitted& each : take_sent(Kind::handles)) {
      EXPECT_EQ(each.payload.size() % sizeof(HandleChange), 0U);
      changes.resize(changes.size() + each.payload.size() / sizeof(HandleChange));
      std::memcpy(changes.data() + changes.size() - each.payload.size() / sizeof(HandleChange),
                  each.payload.data(), each.payload.size());
    }
    return changes;
  }
  static std::uint64_t word_of(std::uint16_t id, std::uint16_t generation) {
    return std::uint64_t{id} << 48 | std::uint64_t{generation} << 32;
  }
  void arrive_change(const HandleChange& change) { arrive(Kind::handles, bytes_of_one(change)); }
};

TEST_F(HandlesTold, leave_when_they_change) {
  greet();
  poll();
  EXPECT_TRUE(transport_.sent.empty());
  board_.publish(7, 2, HandleState::stopped);
  poll();
  const auto changes = take_changes();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].id, 7);
  EXPECT_EQ(changes[0].generation, 2);
  EXPECT_EQ(changes[0].state, static_cast<std::uint16_t>(HandleState::stopped));
  poll();
  EXPECT_TRUE(transport_.sent.empty()) << "once";
}

TEST_F(HandlesTold, that_meet_a_full_socket_leave_later_by_themselves) {
  greet();
  transport_.refused = {Kind::handles};
  board_.publish(7, 2, HandleState::open);
  poll();
  transport_.refused.clear();
  poll();
  const auto changes = take_changes();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].id, 7);
}

TEST_F(HandlesTold, leave_one_message_at_a_time) {
  greet();
  board_.publish(1, 1, HandleState::open);
  poll();
  EXPECT_EQ(take_changes().size(), 1U);
  board_.publish(2, 1, HandleState::open);
  for (int count = 0; count < 3; ++count) poll();
  EXPECT_TRUE(transport_.sent.empty()) << "the peer has not taken the first";
  arrive_credit(0, 1);
  poll();
  const auto changes = take_changes();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].id, 2);
  EXPECT_TRUE(sink_.rejected.empty());
}

TEST_F(HandlesTold, beyond_one_message_follow_in_further_ones) {
  for (std::uint16_t id = 0; id < 70; ++id) board_.publish(id, 1, HandleState::open);
  EXPECT_EQ(greet().payload.size(), sizeof(Hello) + kChangesPerMessage * sizeof(HandleChange));
  EXPECT_EQ(take_changes().size(), 32U) << "the link is open: more follow at once";
  arrive_credit(0, 1);
  poll();
  EXPECT_EQ(take_changes().size(), 6U);
  arrive_credit(0, 2);
  poll();
  EXPECT_TRUE(transport_.sent.empty());
}

TEST_F(HandlesTold, are_not_told_to_who_has_left) {
  greet();
  peers_.mark_left(kPeer, "");
  board_.publish(7, 2, HandleState::open);
  poll();
  EXPECT_TRUE(transport_.sent.empty());
}

TEST_F(HandlesTold, that_were_not_sent_cannot_have_been_taken) {
  greet();
  arrive_credit(0, 1);
  poll();
  EXPECT_EQ(take_rejected(), std::vector<std::string>{"credit for handles that were not reported"});
  EXPECT_EQ(sink_.rejected_value, 1U);
}

TEST_F(HandlesTold, are_learned_and_answered_with_credit) {
  greet();
  EXPECT_EQ(send(word_of(4, 1), TrafficClass::data, 0, true), SendResult::not_ready);
  arrive_change({4, 1, static_cast<std::uint16_t>(HandleState::open), 0, 1});
  poll();
  const auto told = take_sent(Kind::credit);
  ASSERT_EQ(told.size(), 1U) << "at once: the peer waits for it with the next change";
  EXPECT_EQ(told[0].as<Credit>().handles, 1U);
  EXPECT_EQ(send(word_of(4, 1), TrafficClass::data, 0, true), SendResult::sent);
  arrive_change({4, 1, static_cast<std::uint16_t>(HandleState::stopped), 0, 2});
  poll();
  EXPECT_EQ(send(word_of(4, 1), TrafficClass::data, 0, true), SendResult::no_credit);
  EXPECT_EQ(take_sent(Kind::credit).at(0).as<Credit>().handles, 2U);
}

TEST_F(HandlesTold, in_the_greeting_are_learned) {
  const HandleChange change{4, 3, static_cast<std::uint16_t>(HandleState::stopped), 0, 1};
  const Hello good = hello();
  arrive(Kind::hello, bytes_of_all({bytes_of_one(good), bytes_of_one(change)}));
  poll();
  EXPECT_EQ(send(word_of(4, 3), TrafficClass::data, 0, true), SendResult::no_credit);
  EXPECT_EQ(send(word_of(4, 4), TrafficClass::data, 0, true), SendResult::not_ready);
  EXPECT_EQ(send(word_of(5, 1), TrafficClass::data, 0, true), SendResult::not_ready);
}

TEST_F(HandlesTold, of_a_wrong_form_are_refused) {
  greet();
  const HandleChange good{4, 1, static_cast<std::uint16_t>(HandleState::withdrawn), 0, 1};
  const auto refused = [&](Bytes payload) {
    arrive(Kind::handles, payload);
    poll();
    return take_rejected();
  };
  EXPECT_EQ(refused({}), std::vector<std::string>{"handles of a wrong length"});
  EXPECT_EQ(refused(bytes_of_one(good).first(sizeof good - 1)),
            std::vector<std::string>{"handles of a wrong length"});
  HandleChange other = good;
  other.state = static_cast<std::uint16_t>(HandleState::withdrawn) + 1;
  EXPECT_EQ(refused(bytes_of_one(other)), std::vector<std::string>{"handle in an unknown state"});
  EXPECT_EQ(sink_.rejected_value, 3U);
  other = good;
  other.version = 0;
  EXPECT_EQ(refused(bytes_of_one(other)), std::vector<std::string>{"handle in an unknown state"});
  EXPECT_TRUE(refused(bytes_of_one(good)).empty());
}

TEST_F(HandlesTold, that_changed_wake_a_post_that_asks_again) {
  greet();
  arrive_change({4, 1, static_cast<std::uint16_t>(HandleState::open), 0, 1});
  EXPECT_EQ(send(word_of(4, 1), TrafficClass::data, 0, true), SendResult::sent) << "the post has read it";
}

}  // namespace
}  // namespace weft::network::session::test
