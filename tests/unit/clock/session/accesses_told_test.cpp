// Ends of accesses, landings and immediates: each is told once, by a poll, and keeps threads from sleeping.
#include "network/session/remote_access.inl.hpp"
#include "unit/clock/session/scripted_peer.hpp"

namespace weft::network::session::test {
namespace {

class AccessesTold : public ScriptedPeer {
 protected:
  AccessResult access(AccessResult answer, std::uint8_t device = 0) {
    return device_->access(kPeer, device, [&](Transport&, Link&) { return answer; });
  }
};

TEST_F(AccessesTold, begin_when_the_link_is_open) {
  EXPECT_EQ(access(AccessResult::posted), AccessResult::not_ready);
  EXPECT_EQ(take_sent(Kind::hello).size(), 1U);
  arrive(Kind::hello, bytes_of_one(hello()));
  EXPECT_EQ(access(AccessResult::refused), AccessResult::refused) << "the access has read the greeting";
}

TEST_F(AccessesTold, are_as_many_at_a_time_as_have_room) {
  greet();
  EXPECT_EQ(access(AccessResult::no_slot), AccessResult::no_slot);
  for (std::uint32_t count = 0; count < AccessEnds::kMost; ++count)
    ASSERT_EQ(access(AccessResult::posted), AccessResult::posted);
  EXPECT_EQ(access(AccessResult::posted), AccessResult::no_slot);
  device_->fetch_completed(7, Outcome::refused);
  EXPECT_EQ(access(AccessResult::posted), AccessResult::no_slot) << "it has not been told";
  EXPECT_FALSE(device_->prepare_park());
  EXPECT_EQ(poll(), 1U);
  EXPECT_EQ(sink_.ended, (std::vector{std::pair{std::uint64_t{7}, Outcome::refused}}));
  EXPECT_TRUE(device_->prepare_park());
  EXPECT_EQ(access(AccessResult::posted), AccessResult::posted);
  EXPECT_EQ(access(AccessResult::posted), AccessResult::no_slot);
  for (std::uint64_t token = 0; token < AccessEnds::kMost; ++token)
    device_->fetch_completed(token, Outcome::ok);
  EXPECT_EQ(poll(), 16U) << "a poll tells of so many";
  for (int count = 0; count < 3; ++count) EXPECT_EQ(poll(), 16U);
  EXPECT_EQ(poll(), 0U);
  EXPECT_EQ(sink_.ended.size(), 65U);
  EXPECT_EQ(sink_.ended.back().first, 63U);
}

TEST_F(AccessesTold, of_peers_are_told_with_their_size) {
  greet();
  device_->landed(11);
  device_->immediate_arrived(kPeer, 12);
  EXPECT_FALSE(device_->prepare_park());
  EXPECT_FALSE(device_->reclaim(kPeer)) << "they have not been told";
  EXPECT_EQ(poll(), 2U);
  EXPECT_EQ(sink_.landings, (std::vector{std::pair{std::uint64_t{11}, std::size_t{4}}}));
  EXPECT_EQ(sink_.immediates, (std::vector<std::array<std::uint64_t, 3>>{{kPeer, 12, 4}}));
  EXPECT_TRUE(device_->prepare_park());
  EXPECT_TRUE(device_->reclaim(kPeer));
  for (std::uint64_t name = 0; name < 100; ++name) device_->landed(name);
  EXPECT_EQ(poll(), 64U);
  EXPECT_EQ(poll(), 36U);
  EXPECT_EQ(poll(), 0U);
}

TEST_F(AccessesTold, begin_at_nobody_that_has_left_and_on_no_device_that_has_ended) {
  greet();
  device_->stop();
  EXPECT_TRUE(transport_.is_ended);
  EXPECT_EQ(access(AccessResult::posted), AccessResult::peer_left);
  EXPECT_EQ(send(1), SendResult::peer_left);
  EXPECT_TRUE(device_->drained());
  const std::size_t drives = transport_.drives;
  poll();
  EXPECT_EQ(transport_.drives, drives);
  peers_.mark_left(kPeer, "");
  EXPECT_EQ(access(AccessResult::posted), AccessResult::peer_left);
}

TEST_F(AccessesTold, read_on_what_a_rank_that_has_left_had_sent) {
  greet();
  sink_.room = 0;
  arrive_message(1);
  arrive_message(2, Kind::rendezvous_data);
  EXPECT_FALSE(device_->reclaim(kPeer)) << "they wait for their delivery";
  EXPECT_EQ(transport_.ended_with, std::vector{kPeer});
  EXPECT_TRUE(device_->reclaim(0)) << "and are not of another rank";
  sink_.room = 1;
  poll();
  EXPECT_FALSE(device_->reclaim(kPeer));
  sink_.room = 1;
  poll();
  EXPECT_TRUE(device_->reclaim(kPeer));
}

}  // namespace
}  // namespace weft::network::session::test
