// Greetings: what is said, what is refused, and when a link is open.
#include "unit/clock/session/scripted_peer.hpp"

namespace weft::network::session::test {
namespace {

class Greetings : public ScriptedPeer {
 protected:
  void expect_refused(Bytes payload, const std::string& why, std::uint64_t value) {
    arrive(Kind::hello, payload);
    poll();
    EXPECT_EQ(take_rejected(), std::vector<std::string>{why});
    EXPECT_EQ(sink_.rejected_value, value);
    EXPECT_FALSE(device_->links().has(kPeer) && device_->links().find(kPeer, 0)->hello_heard);
  }
  /// So many messages of a class can be sent before there is no credit.
  std::uint32_t count_sent(TrafficClass traffic) {
    for (std::uint32_t count = 0;; ++count)
      if (count == 1000 || send(count, traffic) != SendResult::sent) return count;
  }
};

TEST_F(Greetings, tell_the_version_the_job_and_the_credits) {
  board_.publish(3, 9, HandleState::open);
  const Transmitted said = greet();
  EXPECT_EQ(said.rank, kPeer);
  EXPECT_EQ(said.header.rank, 1U);
  EXPECT_EQ(said.header.device, 0);
  EXPECT_EQ(said.header.word, 0U);
  EXPECT_EQ(said.header.channel, 0);
  ASSERT_EQ(said.payload.size(), sizeof(Hello) + sizeof(HandleChange));
  Hello told{};
  std::memcpy(&told, said.payload.data(), sizeof told);
  EXPECT_EQ(told.magic, kMagic);
  EXPECT_EQ(told.version, kWireVersion);
  EXPECT_EQ(told.credits, 64U);
  EXPECT_EQ(told.zero, 0U);
  EXPECT_EQ(told.job_id.data(), peers_.job_id());
  HandleChange change{};
  std::memcpy(&change, said.payload.data() + sizeof told, sizeof change);
  EXPECT_EQ(change.id, 3);
  EXPECT_EQ(change.generation, 9);
  EXPECT_EQ(change.state, 0);
  EXPECT_EQ(change.version, 1U);
}

TEST_F(Greetings, are_the_same_where_the_transport_sends_them_itself) {
  board_.publish(3, 9, HandleState::open);
  std::array<std::byte, kLongestHello> room;
  HandleCursor cursor;
  const std::size_t size = device_->contacts().make_hello(room, cursor);
  const Transmitted said = greet();
  EXPECT_EQ(bytes_of_all({bytes_of_one(said.header), said.payload}), bytes_of_all({Bytes(room).first(size)}));
  EXPECT_FALSE(board_.has_updates(cursor));
}

TEST_F(Greetings, of_another_form_are_refused) {
  const Hello good = hello();
  const auto whole = bytes_of_one(good);
  expect_refused({}, "greeting of a wrong form", 0);
  expect_refused(whole.first(whole.size() - 1), "greeting of a wrong form", whole.size() - 1);
  Hello other = good;
  other.magic ^= 1;
  expect_refused(bytes_of_one(other), "greeting of a wrong form", sizeof other);
  other = good;
  other.version = kWireVersion - 1;
  expect_refused(bytes_of_one(other), "greeting in another version of the wire format", kWireVersion - 1);
  other = good;
  other.job_id[0] ^= 1;
  expect_refused(bytes_of_one(other), "greeting of another job", kWireVersion);
  other = good;
  other.job_id.fill('a');  // without an end
  expect_refused(bytes_of_one(other), "greeting of another job", kWireVersion);
  expect_refused(bytes_of_one(hello(0)), "greeting with an impossible number of credits", 0);
  constexpr std::uint32_t kTooMany = (1U << 20) + 1;
  expect_refused(bytes_of_one(hello(kTooMany)), "greeting with an impossible number of credits", kTooMany);
  const std::array<std::byte, sizeof(HandleChange) + 1> part{};
  expect_refused(bytes_of_all({whole, part}), "greeting with handles of a wrong length", part.size());
  EXPECT_TRUE(transport_.sent.empty()) << "none of them is answered";
  greet(1U << 20);
}

TEST_F(Greetings, of_a_device_without_an_address_are_refused) {
  const Hello good = hello();
  arrive({0, kPeer, 5, 0, Kind::hello, 0}, bytes_of_one(good));
  poll();
  EXPECT_EQ(take_rejected(), std::vector<std::string>{"greeting of a device without an address"});
  EXPECT_EQ(sink_.rejected_value, 5U);
}

TEST_F(Greetings, come_once) {
  greet();
  arrive(Kind::hello, bytes_of_one(hello()));
  poll();
  EXPECT_EQ(take_rejected(), std::vector<std::string>{"second greeting of a device"});
  EXPECT_TRUE(take_sent(Kind::hello).empty());
}

TEST_F(Greetings, open_the_link_when_both_have_been_said) {
  transport_.refused = {Kind::hello};
  EXPECT_EQ(send(1), SendResult::not_ready);
  arrive(Kind::hello, bytes_of_one(hello()));
  poll();
  EXPECT_EQ(send(1), SendResult::not_ready) << "this rank has not said its own";
  transport_.refused.clear();
  poll();
  EXPECT_EQ(take_sent(Kind::hello).size(), 1U);
  EXPECT_EQ(send(1), SendResult::sent);
}

TEST_F(Greetings, begin_with_the_first_post_and_wait_for_the_peer) {
  EXPECT_EQ(send(1), SendResult::not_ready);
  EXPECT_EQ(take_sent(Kind::hello).size(), 1U);
  board_.publish(3, 1, HandleState::open);
  poll();
  EXPECT_TRUE(transport_.sent.empty()) << "the peer has not said who it is";
  EXPECT_EQ(send(1), SendResult::not_ready);
  arrive(Kind::hello, bytes_of_one(hello()));
  poll();
  EXPECT_TRUE(take_sent(Kind::hello).empty()) << "it has been said";
  EXPECT_EQ(take_sent(Kind::handles).size(), 1U) << "what has changed since";
  EXPECT_EQ(send(1), SendResult::sent);
}

TEST_F(Greetings, wait_until_the_peer_has_been_reached) {
  transport_.is_reaching_peers = true;
  EXPECT_EQ(send(1), SendResult::not_ready);
  for (int count = 0; count < 5; ++count) poll();
  EXPECT_TRUE(transport_.sent.empty());
  transport_.is_reaching_peers = false;
  device_->serve_links_soon();
  poll();
  EXPECT_EQ(take_sent(Kind::hello).size(), 1U);
}

TEST_F(Greetings, allow_as_many_messages_as_they_say) {
  greet(20);
  EXPECT_EQ(count_sent(TrafficClass::data), 20U);
  EXPECT_EQ(count_sent(TrafficClass::control), 20U);
  EXPECT_EQ(count_sent(TrafficClass::urgent), 5U);
  EXPECT_EQ(count_sent(TrafficClass::bulk), 5U);
  EXPECT_EQ(count_sent(TrafficClass::rendezvous_data), 20U);
}

TEST_F(Greetings, make_room_for_what_may_come) {
  greet();
  // 64 each of data, control and rendezvous_data, 16 each of urgent and bulk, and what takes no credit.
  const std::pair<std::uint32_t, std::uint32_t> room{3 * 64 + 2 * 16 + kForTheNetwork, 0};
  EXPECT_EQ(transport_.memory.grown, std::vector{room});
  EXPECT_EQ(transport_.memory.allowed, 0U);
}

class GreetingsThatAdapt : public ScriptedPeer {
 protected:
  GreetingsThatAdapt() : ScriptedPeer(How{.credits = 64, .first = 16, .adapts = true, .held = 3}) {}
};

TEST_F(GreetingsThatAdapt, make_room_for_the_first_window_and_allow_the_rest) {
  greet();
  const std::pair<std::uint32_t, std::uint32_t> room{3 * 16 + 2 * 4 + kForTheNetwork + 3, 3};
  EXPECT_EQ(transport_.memory.grown, std::vector{room});
  EXPECT_EQ(transport_.memory.allowed, 3U * 48 + 2 * 12);
}

TEST_F(GreetingsThatAdapt, let_a_first_window_leave_of_the_many_that_the_peer_would_take) {
  greet(1000);
  std::uint32_t count = 0;
  while (count < 1000 && send(count) == SendResult::sent) ++count;
  EXPECT_EQ(count, kFirstCredits);
}

TEST_F(Greetings, are_told_in_the_log) {
  log_ = base::Log(base::LogLevel::debug, kOwn);
  testing::internal::CaptureStderr();
  greet();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("a link between device 0 and device 0 of rank 2"), std::string::npos) << said;
}

TEST_F(Greetings, fail_without_memory_and_are_tried_again) {
  log_ = base::Log(base::LogLevel::warn, kOwn);
  transport_.memory.fails_once = true;
  testing::internal::CaptureStderr();
  arrive(Kind::hello, bytes_of_one(hello()));
  poll();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("no contact with rank 2 yet: std::bad_alloc"), std::string::npos) << said;
  EXPECT_FALSE(device_->links().has(kPeer));
  EXPECT_FALSE(peers_.is_known_to_have_left(kPeer));
  greet();
}

TEST_F(Greetings, of_a_rank_that_cannot_be_connected_to_end_its_part) {
  transport_.can_connect = false;
  arrive(Kind::hello, bytes_of_one(hello()));
  poll();
  EXPECT_TRUE(peers_.is_known_to_have_left(kPeer));
  EXPECT_FALSE(device_->links().has(kPeer));
  EXPECT_EQ(send(1), SendResult::peer_left);
}

TEST_F(Greetings, of_a_rank_that_has_left_are_not_answered) {
  peers_.mark_left(kPeer, "");
  arrive(Kind::hello, bytes_of_one(hello()));
  poll();
  EXPECT_FALSE(device_->links().has(kPeer));
  EXPECT_TRUE(transport_.sent.empty());
}

TEST_F(Greetings, that_do_not_leave_are_no_reason_to_wait_for_a_peer_that_has_ended) {
  transport_.refused = {Kind::hello};
  EXPECT_EQ(send(1), SendResult::not_ready);
  end_peer();
  clock_.advance(20 * kMillisecond);
  poll();
  EXPECT_TRUE(peers_.is_known_to_have_left(kPeer));
}

}  // namespace
}  // namespace weft::network::session::test
