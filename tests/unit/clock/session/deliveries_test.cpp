// What comes: checked, and delivered in the order of Urgency.
#include "unit/clock/session/scripted_peer.hpp"

namespace weft::network::session::test {
namespace {

class Deliveries : public ScriptedPeer {
 protected:
  using Words = std::vector<std::uint64_t>;
  std::vector<std::string> refused(const Header& header, Bytes payload = {}) {
    arrive(header, payload);
    poll();
    return take_rejected();
  }
  /// A frame of messages with these words; each has two bytes.
  static std::vector<std::byte> frame_of(const Words& words) {
    std::vector<std::byte> frame;
    for (const std::uint64_t word : words) {
      const FrameRecord record{word, 2, 3, {}};
      const std::size_t place = frame.size();
      frame.resize(place + bytes_in_frame(2), static_cast<std::byte>(word));
      std::memcpy(frame.data() + place, &record, sizeof record);
    }
    return frame;
  }
  void arrive_frame(const Words& words) {
    const auto frame = frame_of(words);
    arrive({0, kPeer, 0, 0, Kind::data, kIsFrame}, frame);
  }
};

TEST_F(Deliveries, of_what_no_rank_can_have_sent_are_refused) {
  const std::string of_no_rank = "message of no rank";
  EXPECT_EQ(refused({1, 3, 0, 7, Kind::data, 0}), std::vector{of_no_rank});
  EXPECT_EQ(sink_.rejected_value, 3U);
  const Header whole{1, kPeer, 0, 7, Kind::data, 0};
  transport_.arrive(bytes_of_all({bytes_of_one(whole).first(sizeof whole - 1)}));
  poll();
  EXPECT_EQ(take_rejected(), std::vector{of_no_rank});
  const std::string stranger = "message of a device that has not said hello";
  EXPECT_EQ(refused(whole), std::vector{stranger});
  EXPECT_EQ(send(1), SendResult::not_ready);
  EXPECT_EQ(refused(whole), std::vector{stranger}) << "there is a link, but it has not";
  greet();
  EXPECT_EQ(refused(whole), std::vector<std::string>{});
  EXPECT_EQ(refused({1, kPeer, 9, 7, Kind::data, 0}), std::vector{stranger});
  EXPECT_EQ(sink_.rejected_value, 9U);
  EXPECT_EQ(refused({1, kPeer, 0, 7, static_cast<Kind>(11), 0}),
            std::vector<std::string>{"message of an unknown kind"});
  EXPECT_EQ(sink_.rejected_value, 11U);
  EXPECT_EQ(refused({1, kPeer, 0, 7, static_cast<Kind>(0), 0}),
            std::vector<std::string>{"message of an unknown kind"});
  EXPECT_EQ(sink_.words(), Words{1});
}

TEST_F(Deliveries, release_every_message_once) {
  greet();
  EXPECT_EQ(transport_.memory.released, 1U);
  arrive_message(1);
  arrive_frame({2, 3});
  arrive(Kind::ask);
  poll();
  EXPECT_EQ(transport_.memory.released, 4U);
}

TEST_F(Deliveries, beyond_the_credit_are_refused) {
  greet();
  sink_.room = 0;
  for (std::uint64_t word = 0; word < 64; ++word) arrive_message(word);
  for (std::uint64_t word = 0; word < 16; ++word) arrive_message(word, Kind::urgent);
  poll();
  EXPECT_TRUE(take_rejected().empty());
  EXPECT_EQ(refused({64, kPeer, 0, 7, Kind::data, 0}), std::vector<std::string>{"message beyond its credit"});
  EXPECT_EQ(sink_.rejected_value, 64U);
  EXPECT_EQ(refused({16, kPeer, 0, 7, Kind::urgent, 0}),
            std::vector<std::string>{"message beyond its credit"});
  sink_.room = ~std::size_t{0};
  poll(1000);
  poll(1000);
  EXPECT_EQ(sink_.delivered.size(), 80U);
  EXPECT_EQ(refused({65, kPeer, 0, 7, Kind::data, 0}), std::vector<std::string>{}) << "it has been told";
}

TEST_F(Deliveries, show_what_was_sent) {
  greet();
  const std::array payload{std::byte{1}, std::byte{2}, std::byte{3}};
  arrive({0x1234, kPeer, 0, 9, Kind::control, 0}, payload);
  arrive_frame({5});
  poll();
  ASSERT_EQ(sink_.delivered.size(), 2U);
  EXPECT_EQ(sink_.delivered[1].word, 0x1234U);
  EXPECT_EQ(sink_.delivered[1].channel, 9);
  EXPECT_EQ(sink_.delivered[1].rank, kPeer);
  EXPECT_EQ(sink_.delivered[1].payload, std::vector(payload.begin(), payload.end()));
  EXPECT_EQ(sink_.delivered[0].word, 5U);
  EXPECT_EQ(sink_.delivered[0].channel, 3);
  EXPECT_EQ(sink_.delivered[0].rank, kPeer);
  EXPECT_EQ(sink_.delivered[0].payload, std::vector(2, std::byte{5}));
}

TEST_F(Deliveries, keep_what_the_sink_does_not_take_in_its_order) {
  greet();
  arrive_message(1);
  arrive_frame({2, 3, 4});
  arrive_message(5);
  for (Words so_far{}; so_far.size() < 5;) {
    so_far.push_back(so_far.size() + 1);
    sink_.room = 1;
    poll();
    EXPECT_EQ(sink_.words(), so_far);
    EXPECT_EQ(transport_.memory.released, so_far.size() < 4 ? 2U : so_far.size() - 1) << so_far.size();
  }
  EXPECT_TRUE(device_->prepare_park());
}

TEST_F(Deliveries, are_as_many_of_a_lane_as_the_poll_asks_for) {
  greet();
  arrive_message(1);
  arrive_frame({2, 3, 4});
  arrive_message(9, Kind::control);
  arrive_message(5);
  EXPECT_EQ(poll(2), 3U);
  EXPECT_EQ(sink_.words(), (Words{1, 2, 9}));
  EXPECT_EQ(poll(3), 3U);
  EXPECT_EQ(sink_.words(), (Words{1, 2, 9, 3, 4, 5}));
  EXPECT_EQ(poll(3), 0U);
}

TEST_F(Deliveries, of_urgent_messages_come_first_and_of_bulk_last) {
  greet();
  arrive_message(1, Kind::bulk);
  arrive_message(2, Kind::rendezvous_data);
  arrive_message(3, Kind::control);
  arrive_message(4, Kind::data);
  arrive_message(5, Kind::urgent);
  EXPECT_EQ(poll(), 5U);
  EXPECT_EQ(sink_.words(), (Words{5, 4, 3, 2, 1}));
}

TEST_F(Deliveries, of_bulk_are_few_at_a_time_and_have_turns) {
  publish(0);
  greet();
  arrive({0, 0, 0, 0, Kind::hello, 0}, bytes_of_one(hello()));
  poll();
  const auto count_of = [&](int rank) {
    return std::count_if(sink_.delivered.begin(), sink_.delivered.end(),
                         [&](const auto& each) { return each.rank == rank; });
  };
  for (std::uint32_t word = 0; word < 12; ++word) {
    arrive_message(word, Kind::bulk);
    arrive({word, 0, 0, 7, Kind::bulk, 0});
  }
  EXPECT_EQ(poll(), 8U);
  const auto first = std::pair{count_of(0), count_of(2)};
  EXPECT_EQ(poll(), 8U);
  const auto second = std::pair{count_of(0) - first.first, count_of(2) - first.second};
  EXPECT_EQ(std::pair(second.second, second.first), first) << "the other one's turn";
  EXPECT_EQ(poll() + poll(), 8U);
  EXPECT_EQ(count_of(0), 12);
  EXPECT_EQ(count_of(2), 12);
}

TEST_F(Deliveries, of_bulk_leave_half_to_other_bulk_of_the_link) {
  greet();
  for (std::uint32_t word = 0; word < 16; ++word) {
    arrive_message(100 + word, Kind::rendezvous_data);
    arrive_message(word, Kind::bulk);
  }
  EXPECT_EQ(poll(), 8U);
  EXPECT_EQ(sink_.words(), (Words{100, 101, 102, 103, 0, 1, 2, 3}));
  for (int count = 0; count < 3; ++count) EXPECT_EQ(poll(), 8U);
}

TEST_F(Deliveries, are_counted) {
  greet();
  const std::array<std::byte, 200> payload{};
  arrive({1, kPeer, 0, 9, Kind::data, 0}, Bytes(payload).first(kShortMessage));
  arrive({1, kPeer, 0, 9, Kind::data, 0}, Bytes(payload).first(kShortMessage + 1));
  arrive_frame({1, 2, 3});
  poll();
  EXPECT_EQ(device_->traffic().delivered, 5U);
  EXPECT_EQ(device_->traffic().delivered_bytes, kShortMessage + 1);
}

TEST_F(Deliveries, of_frames_of_a_wrong_form_are_refused) {
  greet();
  EXPECT_EQ(refused({0, kPeer, 0, 0, Kind::data, kIsFrame}),
            std::vector<std::string>{"frame of a wrong form"});
  auto frame = frame_of({1, 2});
  frame.pop_back();
  EXPECT_EQ(refused({0, kPeer, 0, 0, Kind::data, kIsFrame}, frame),
            std::vector<std::string>{"frame of a wrong form"});
  EXPECT_EQ(sink_.rejected_value, frame.size());
  EXPECT_TRUE(sink_.delivered.empty());
}

TEST_F(Deliveries, end_with_the_goodbye) {
  greet();
  arrive_message(1);
  arrive(Kind::goodbye);
  poll();
  EXPECT_EQ(sink_.words(), Words{1}) << "what came before is there";
  EXPECT_TRUE(peers_.is_known_to_have_left(kPeer));
  EXPECT_EQ(send(1), SendResult::peer_left);
  EXPECT_TRUE(device_->drained());
}

TEST_F(Deliveries, tell_of_the_first_refusals_only) {
  greet();
  for (int count = 0; count < 100; ++count) arrive(Kind::handles);
  poll();
  EXPECT_EQ(take_rejected().size(), 64U);
  arrive(Kind::handles);
  poll();
  EXPECT_EQ(take_rejected().size(), 1U);
}

}  // namespace
}  // namespace weft::network::session::test
