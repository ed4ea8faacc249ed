// The end of a device and of its rank: who is waited for, for how long, and what is said of the rest.
#include "base/clock.hpp"
#include "unit/clock/session/scripted_peer.hpp"

#include <unistd.h>

namespace weft::network::session::test {
namespace {

class Endings : public ScriptedPeer {
 protected:
  Endings() { greet(); }
  void greet_itself() {
    publish(kOwn);
    static_cast<void>(device_->send({kOwn, 0, TrafficClass::data, 7, false, 1}, {}));
    arrive({0, kOwn, 0, 0, Kind::hello, 0}, bytes_of_one(hello()));
    poll();
    take_sent(Kind::hello);
  }
  /// This rank sends to itself.
  SendResult send_to_itself() { return device_->send({kOwn, 0, TrafficClass::data, 7, false, 1}, {}); }
  /// The credit for one message comes with a drive that is `count` drives away.
  void have_taken_after(std::size_t count) {
    transport_.on_drive = [this, at = transport_.drives + count](SessionDevice&) {
      if (transport_.drives == at) arrive_credit(1);
    };
  }
  /// finish(), which is told that its time is over.
  std::string finish() { return device_->finish(base::now_ns() - 1); }
};

TEST_F(Endings, wait_until_peers_have_taken_everything_and_ask_once) {
  EXPECT_TRUE(device_->drained());
  ASSERT_EQ(send(1), SendResult::sent);
  ASSERT_EQ(send(2, TrafficClass::bulk), SendResult::sent);
  EXPECT_FALSE(device_->drained());
  const auto asked = take_sent(Kind::ask);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].as<Ask>().sent, (Counts{1, 0, 0, 1, 0}));
  EXPECT_FALSE(device_->drained());
  EXPECT_TRUE(take_sent(Kind::ask).empty());
  const Credit credit{{1, 0, 0, 1}, 0, {1, 0, 0, 1}};
  arrive(Kind::credit, bytes_of_one(credit));
  poll();
  EXPECT_TRUE(device_->drained());
}

TEST_F(Endings, ask_again_where_the_socket_was_full) {
  ASSERT_EQ(send(1), SendResult::sent);
  transport_.refused = {Kind::ask};
  EXPECT_FALSE(device_->drained());
  transport_.refused.clear();
  EXPECT_FALSE(device_->drained());
  EXPECT_EQ(take_sent(Kind::ask).size(), 1U);
}

TEST_F(Endings, of_a_device_leave_peers_a_time_to_answer) {
  ASSERT_EQ(send(1), SendResult::sent);
  clock_.advance(1000 * kMillisecond);
  EXPECT_FALSE(device_->drained()) << "they have not been asked before";
  clock_.advance(15 * kMillisecond);
  EXPECT_FALSE(device_->drained());
  ASSERT_EQ(send(2), SendResult::sent);
  EXPECT_FALSE(device_->drained());
  clock_.advance(15 * kMillisecond);
  EXPECT_FALSE(device_->drained()) << "they have been asked again";
  clock_.advance(15 * kMillisecond);
  transport_.carries = true;
  EXPECT_FALSE(device_->drained()) << "it has not left";
  transport_.carries = false;
  EXPECT_TRUE(device_->drained()) << "the transport carries it on";
}

TEST_F(Endings, wait_for_what_this_rank_has_sent_to_itself) {
  greet_itself();
  ASSERT_EQ(send_to_itself(), SendResult::sent);
  EXPECT_FALSE(device_->drained());
  EXPECT_EQ(finish(), "") << "but not at the end of the rank, when nobody takes it";
}

TEST_F(Endings, return_credit_to_peers_that_end_as_well) {
  arrive_message(1);
  poll();
  poll();
  EXPECT_TRUE(transport_.sent.empty());
  EXPECT_TRUE(device_->drained());
  poll();
  EXPECT_EQ(take_sent(Kind::credit).size(), 1U);
}

TEST_F(Endings, name_what_was_not_taken_by_rank) {
  publish(0);
  publish(kPeer, 1);
  arrive({0, 0, 0, 0, Kind::hello, 0}, bytes_of_one(hello()));
  arrive({0, kPeer, 1, 0, Kind::hello, 0}, bytes_of_one(hello()));
  poll();
  EXPECT_EQ(device_->undelivered(), "");
  ASSERT_EQ(send(1), SendResult::sent);
  ASSERT_EQ(send(1, TrafficClass::control), SendResult::sent);
  ASSERT_EQ(device_->send({kPeer, 1, TrafficClass::data, 7, false, 1}, {}), SendResult::sent);
  EXPECT_EQ(device_->undelivered(), "up to 3 messages to rank 2");
  ASSERT_EQ(device_->send({0, 0, TrafficClass::data, 7, false, 1}, {}), SendResult::sent);
  EXPECT_EQ(device_->undelivered(), "up to 1 messages to rank 0, up to 3 messages to rank 2");
  const auto by_link = device_->unconsumed();
  ASSERT_EQ(by_link.size(), 3U);
  std::uint64_t to_peer = 0;
  for (const auto& each : by_link) to_peer += each.peer == kPeer ? each.messages : 0;
  EXPECT_EQ(to_peer, 3U);
  EXPECT_EQ(finish(), "up to 1 messages to rank 0, up to 3 messages to rank 2");
  peers_.mark_left(0, "");
  EXPECT_EQ(device_->undelivered(), "up to 3 messages to rank 2");
  EXPECT_EQ(device_->unconsumed().size(), 2U);
  peers_.mark_left(kPeer, "");
  EXPECT_EQ(finish(), "") << "nobody is left to take them";
}

TEST_F(Endings, take_and_drop_what_still_comes) {
  arrive_message(1);
  arrive_message(2);
  EXPECT_EQ(finish(), "");
  poll();
  EXPECT_TRUE(sink_.delivered.empty());
  EXPECT_EQ(transport_.memory.released, 3U) << "with the greeting";
}

TEST_F(Endings, in_their_time_wait_for_ranks_of_the_process) {
  ASSERT_EQ(send(1), SendResult::sent);
  have_taken_after(40);
  EXPECT_EQ(device_->finish(base::now_ns() + 1000 * kMillisecond), "");
}

TEST_F(Endings, beyond_their_time_wait_for_no_rank_of_the_process) {
  transport_.notices_ends = true;
  ASSERT_EQ(send(1), SendResult::sent);
  have_taken_after(40);
  EXPECT_EQ(finish(), "up to 1 messages to rank 2");
}

TEST_F(Endings, wait_for_no_rank_of_the_process_that_nobody_moves) {
  transport_.outlives = true;
  ASSERT_EQ(send(1), SendResult::sent);
  transport_.carries = true;
  EXPECT_EQ(finish(), "up to 1 messages to rank 2") << "it has not left";
  transport_.carries = false;
  EXPECT_EQ(finish(), "");
}

TEST_F(Endings, say_goodbye_to_those_that_have_been_greeted) {
  greet_itself();
  publish(0);
  transport_.refused = {Kind::hello};
  static_cast<void>(device_->send({0, 0, TrafficClass::data, 7, false, 1}, {}));
  transport_.refused = {Kind::goodbye};
  transport_.on_drive = [this, at = transport_.drives + 3](SessionDevice&) {
    if (transport_.drives == at) transport_.refused.clear();
  };
  transport_.refused.insert(Kind::hello);
  device_->say_goodbye();
  const auto said = take_sent(Kind::goodbye);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].rank, kPeer);
  EXPECT_TRUE(said[0].payload.empty());
}

TEST_F(Endings, say_goodbye_until_it_has_left) {
  transport_.carries = true;
  const std::size_t before = transport_.drives;
  transport_.on_drive = [&](SessionDevice&) {
    if (transport_.drives == before + 5) transport_.carries = false;
  };
  device_->say_goodbye();
  EXPECT_EQ(transport_.drives, before + 5);
  EXPECT_EQ(take_sent(Kind::goodbye).size(), 1U);
}

TEST_F(Endings, say_goodbye_for_a_moment_only) {
  transport_.carries = true;
  transport_.on_drive = [this](SessionDevice&) { clock_.advance(100 * kMillisecond); };
  device_->say_goodbye();
  EXPECT_TRUE(clock_.stood());
}

TEST_F(Endings, say_no_goodbye_to_who_has_left_or_on_a_device_that_has_ended) {
  peers_.mark_left(kPeer, "");
  device_->say_goodbye();
  EXPECT_TRUE(transport_.sent.empty());
}

TEST_F(Endings, of_a_transport_say_nothing_more) {
  device_->stop();
  device_->say_goodbye();
  EXPECT_TRUE(transport_.sent.empty());
}

class EndingsOfFrames : public ScriptedPeer {
 protected:
  EndingsOfFrames() : ScriptedPeer(How{.stages = true}) {
    greet();
    EXPECT_EQ(send(1), SendResult::sent);
    EXPECT_EQ(send(2), SendResult::sent);
    transport_.refused = {Kind::data};  // the second stays in its frame
  }
};

TEST_F(EndingsOfFrames, wait_for_a_rank_that_nobody_moves_until_all_have_left) {
  transport_.outlives = true;
  EXPECT_EQ(device_->finish(base::now_ns() - 1), "up to 2 messages to rank 2");
  transport_.refused.clear();
  EXPECT_EQ(device_->finish(base::now_ns() - 1), "");
}

TEST_F(EndingsOfFrames, of_a_device_wait_however_long_it_takes) {
  EXPECT_FALSE(device_->drained());
  clock_.advance(1000 * kMillisecond);
  EXPECT_FALSE(device_->drained()) << "the transport does not have it";
  transport_.refused.clear();
  poll();
  EXPECT_FALSE(device_->drained()) << "now the peer has its time";
  clock_.advance(1000 * kMillisecond);
  EXPECT_TRUE(device_->drained());
}

/// Rank 2 is, as far as its record says, another process: the one that has started this test.
class EndingsBetweenProcesses : public ScriptedPeer {
 protected:
  EndingsBetweenProcesses() {
    others_[kPeer].reset();
    DeviceRecord record{};
    const std::vector<std::byte> known = *bootstraps_[kOwn]->try_get(kPeer, "double.device.0");
    std::memcpy(&record, known.data(), sizeof record);
    record.process = ::getppid();
    std::vector<std::byte> own(known);
    std::memcpy(own.data(), &record, sizeof record);
    bootstraps_[kPeer]->put("double.device.1", own);
    arrive({0, kPeer, 1, 0, Kind::hello, 0}, bytes_of_one(hello()));
    poll();
    take_sent(Kind::hello);
    EXPECT_EQ(device_->send({kPeer, 1, TrafficClass::data, 7, false, 1}, {}), SendResult::sent);
    transport_.on_drive = [this, at = transport_.drives + 40](SessionDevice&) {
      const Credit credit{{1}, 0, {1}};
      if (transport_.drives == at) arrive({0, kPeer, 1, 0, Kind::credit, 0}, bytes_of_one(credit));
    };
  }
};

TEST_F(EndingsBetweenProcesses, wait_for_a_process_that_is_there_however_slow_it_is) {
  if (!peers_.is_watched_process(kPeer)) GTEST_SKIP() << "no descriptor of a process can be had here";
  EXPECT_EQ(device_->finish(base::now_ns() - 1), "");
}

}  // namespace
}  // namespace weft::network::session::test
