// Staging: which messages leave together, in which form, and when.
#include "base/clock.hpp"
#include "unit/clock/session/scripted_peer.hpp"

namespace weft::network::session::test {
namespace {

class StagedFrames : public ScriptedPeer {
 protected:
  StagedFrames() : ScriptedPeer(How{.stages = true}) { greet(); }
  /// The first message since the last poll leaves at once, those behind it are staged.
  void send_first() {
    ASSERT_EQ(send(1), SendResult::sent);
    ASSERT_EQ(take_sent(Kind::data).size(), 1U);
  }
  static std::vector<std::uint64_t> words_of(const Transmitted& frame) {
    std::vector<std::uint64_t> words;
    EXPECT_EQ(frame.header.flags, kIsFrame);
    EXPECT_NE(messages_in_frame(frame.payload), 0U);
    for (Bytes left = frame.payload; !left.empty();) {
      FrameRecord record{};
      std::memcpy(&record, left.data(), sizeof record);
      EXPECT_EQ(record.channel, 7);
      for (std::size_t place = 0; place < record.bytes; ++place)
        EXPECT_EQ(left[sizeof record + place], static_cast<std::byte>(record.word));
      words.push_back(record.word);
      left = left.subspan(bytes_in_frame(record.bytes));
    }
    return words;
  }
  using Words = std::vector<std::uint64_t>;
};

TEST_F(StagedFrames, leave_with_the_next_poll) {
  send_first();
  ASSERT_EQ(send(2), SendResult::sent);
  ASSERT_EQ(send(3, TrafficClass::data, 20), SendResult::sent);
  ASSERT_EQ(send(4, TrafficClass::data, 256), SendResult::sent);
  EXPECT_TRUE(transport_.sent.empty());
  EXPECT_TRUE(device_->is_laden());
  poll();
  const auto sent = take_sent(Kind::data);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(words_of(sent[0]), (Words{2, 3, 4}));
  EXPECT_EQ(sent[0].header.word, 0U);
  EXPECT_EQ(sent[0].header.channel, 0);
  EXPECT_EQ(sent[0].header.rank, 1U);
  EXPECT_FALSE(device_->is_laden());
  send_first();
}

TEST_F(StagedFrames, of_one_message_are_none) {
  send_first();
  ASSERT_EQ(send(2, TrafficClass::data, 33), SendResult::sent);
  transport_.refused = {Kind::data};
  poll();
  transport_.refused.clear();
  poll();
  const auto sent = take_sent(Kind::data);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].header.flags, 0);
  EXPECT_EQ(sent[0].header.word, 2U);
  EXPECT_EQ(sent[0].header.channel, 7);
  EXPECT_EQ(sent[0].payload, std::vector<std::byte>(33, std::byte{2}));
}

TEST_F(StagedFrames, that_wait_for_room_take_further_messages) {
  send_first();
  ASSERT_EQ(send(2), SendResult::sent);
  transport_.refused = {Kind::data};
  poll();
  ASSERT_EQ(send(3), SendResult::sent);
  EXPECT_FALSE(device_->flush_staged());
  transport_.refused.clear();
  EXPECT_TRUE(device_->flush_staged());
  EXPECT_EQ(words_of(take_sent(Kind::data).at(0)), (Words{2, 3}));
}

TEST_F(StagedFrames, leave_when_they_are_full) {
  send_first();
  // Each takes 16 + 240 of the 1008 bytes behind the header.
  for (std::uint64_t word = 2; word < 6; ++word)
    ASSERT_EQ(send(word, TrafficClass::data, 240), SendResult::sent);
  const auto sent = take_sent(Kind::data);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(words_of(sent[0]), (Words{2, 3, 4}));
  EXPECT_LE(sizeof(Header) + sent[0].payload.size(), transport_.frame_size);
  poll();
  EXPECT_EQ(take_sent(Kind::data).at(0).header.word, 5U);
}

TEST_F(StagedFrames, are_filled_to_the_last_byte) {
  transport_.frame_size = sizeof(Header) + 2 * bytes_in_frame(16);
  send_first();
  ASSERT_EQ(send(2, TrafficClass::data, 16), SendResult::sent);
  ASSERT_EQ(send(3, TrafficClass::data, 16), SendResult::sent);
  EXPECT_TRUE(transport_.sent.empty());
  poll();
  EXPECT_EQ(words_of(take_sent(Kind::data).at(0)), (Words{2, 3}));
}

TEST_F(StagedFrames, that_are_full_and_have_no_room_refuse_what_follows) {
  send_first();
  for (std::uint64_t word = 2; word < 5; ++word)
    ASSERT_EQ(send(word, TrafficClass::data, 240), SendResult::sent);
  transport_.refused = {Kind::data};
  EXPECT_EQ(send(5, TrafficClass::data, 240), SendResult::no_slot);
  transport_.refused.clear();
  ASSERT_EQ(send(5, TrafficClass::data, 240), SendResult::sent);
  poll();
  const auto sent = take_sent(Kind::data);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(words_of(sent[0]), (Words{2, 3, 4}));
  EXPECT_EQ(sent[1].header.word, 5U);
}

TEST_F(StagedFrames, leave_before_what_is_too_long_for_them) {
  send_first();
  ASSERT_EQ(send(2), SendResult::sent);
  ASSERT_EQ(send(3), SendResult::sent);
  ASSERT_EQ(send(4, TrafficClass::data, 257), SendResult::sent);
  const auto sent = take_sent(Kind::data);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(words_of(sent[0]), (Words{2, 3}));
  EXPECT_EQ(sent[1].payload.size(), 257U);
}

TEST_F(StagedFrames, leave_before_packets_and_are_no_part_of_other_classes) {
  send_first();
  ASSERT_EQ(send(2), SendResult::sent);
  ASSERT_EQ(send(3, TrafficClass::urgent), SendResult::sent);
  ASSERT_EQ(send(4, TrafficClass::bulk), SendResult::sent);
  ASSERT_EQ(send(5, TrafficClass::rendezvous_data), SendResult::sent);
  EXPECT_EQ(transport_.sent.size(), 3U);
  EXPECT_TRUE(take_sent(Kind::data).empty());
  ASSERT_EQ(device_->send_packet({kPeer, 0, TrafficClass::data, 7, false, 6}, 9, 100), SendResult::sent);
  const auto sent = take_sent(Kind::data);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].header.word, 2U);
  EXPECT_EQ(sent[1].header.word, 6U);
  EXPECT_EQ(transport_.packets, (std::vector{std::pair{std::uint32_t{9}, std::size_t{100}}}));
}

TEST_F(StagedFrames, take_packets_where_the_transport_shows_what_they_hold) {
  transport_.packet_content.assign(256, std::byte{3});
  send_first();
  ASSERT_EQ(send(2), SendResult::sent);
  const Outgoing outgoing{kPeer, 0, TrafficClass::data, 7, false, 3};
  ASSERT_EQ(device_->send_packet(outgoing, 9, 256), SendResult::sent);
  EXPECT_EQ(transport_.released, (std::vector<std::uint32_t>{9}));
  poll();
  EXPECT_EQ(words_of(take_sent(Kind::data).at(0)), (Words{2, 3}));
  ASSERT_EQ(device_->send_packet(outgoing, 10, 256), SendResult::sent);
  EXPECT_EQ(transport_.packets, (std::vector{std::pair{std::uint32_t{10}, std::size_t{256}}}))
      << "the first one since a poll leaves by itself, and the transport gives it back";
  EXPECT_EQ(transport_.released.size(), 1U);
}

TEST_F(StagedFrames, change_with_the_class) {
  send_first();
  ASSERT_EQ(send(2), SendResult::sent);
  ASSERT_EQ(send(3, TrafficClass::control), SendResult::sent);
  EXPECT_EQ(take_sent(Kind::data).at(0).header.word, 2U);
  poll();
  EXPECT_EQ(take_sent(Kind::control).at(0).header.word, 3U);
}

TEST_F(StagedFrames, take_one_credit_each) {
  send_first();
  for (std::uint64_t word = 2; word < 7; ++word) ASSERT_EQ(send(word), SendResult::sent);
  poll();
  EXPECT_EQ(device_->unconsumed().at(0).messages, 6U);
  const Credit credit{{2}, 0, {6}};
  arrive(Kind::credit, bytes_of_one(credit));
  poll();
  EXPECT_TRUE(sink_.rejected.empty());
  EXPECT_TRUE(device_->unconsumed().empty());
}

TEST_F(StagedFrames, need_credit_and_memory) {
  transport_.set_frames(0);
  send_first();
  ASSERT_EQ(send(2), SendResult::sent);
  EXPECT_EQ(take_sent(Kind::data).size(), 1U) << "without memory it leaves by itself";
  transport_.set_frames(1);
  for (std::uint64_t word = 3; word < 65; ++word) {
    ASSERT_EQ(send(word), SendResult::sent);
    poll();
  }
  EXPECT_EQ(send(65), SendResult::no_slot);
  EXPECT_FALSE(device_->is_laden());
}

TEST_F(StagedFrames, leave_with_the_courier_and_tell_that_they_have) {
  const std::uint64_t round = device_->round();
  device_->carry();
  EXPECT_NE(device_->round(), round);
  send_first();
  ASSERT_EQ(send(2), SendResult::sent);
  device_->carry();
  EXPECT_EQ(take_sent(Kind::data).size(), 1U);
}

TEST_F(StagedFrames, leave_before_a_thread_sleeps) {
  send_first();
  ASSERT_EQ(send(2), SendResult::sent);
  transport_.refused = {Kind::data};
  EXPECT_FALSE(device_->prepare_park()) << "it is not sent";
  transport_.refused.clear();
  EXPECT_TRUE(device_->prepare_park());
  EXPECT_EQ(take_sent(Kind::data).size(), 1U);
}

TEST_F(StagedFrames, to_two_ranks_leave_to_both_whichever_has_room) {
  publish(0);
  arrive({0, 0, 0, 0, Kind::hello, 0}, bytes_of_one(hello()));
  poll();
  const Outgoing other{0, 0, TrafficClass::control, 7, false, 20};
  for (std::uint64_t word = 1; word < 4; ++word) {
    ASSERT_EQ(send(word), SendResult::sent);
    ASSERT_EQ(device_->send(other, {}), SendResult::sent);
  }
  EXPECT_EQ(take_sent(Kind::data).size(), 1U);
  EXPECT_EQ(take_sent(Kind::control).size(), 1U);
  transport_.refused = {Kind::control};
  EXPECT_FALSE(device_->flush_staged());
  EXPECT_EQ(take_sent(Kind::data).size(), 1U);
  EXPECT_TRUE(device_->is_laden());
  transport_.refused.clear();
  EXPECT_TRUE(device_->flush_staged());
  const auto sent = take_sent(Kind::control);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].rank, 0);
  EXPECT_EQ(words_of(sent[0]), (Words{20, 20}));
  EXPECT_FALSE(device_->is_laden());
}

TEST_F(StagedFrames, are_described_with_what_waits_for_the_network) {
  send_first();
  std::vector<std::string> lines;
  device_->describe_unsent(lines);
  EXPECT_TRUE(lines.empty());
  ASSERT_EQ(send(2), SendResult::sent);
  ASSERT_EQ(send(3), SendResult::sent);
  transport_.unsent_bytes = {700, base::now_ns()};
  clock_.advance(1250 * kMillisecond);
  device_->describe_unsent(lines);
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "device 0: 2 messages are staged, to leave together, to rank 2, 48 bytes, for 1.250 s",
                       "device 0: messages wait until the network has room, to rank 2, 700 bytes, "
                       "for 1.250 s"}));
}

}  // namespace
}  // namespace weft::network::session::test
