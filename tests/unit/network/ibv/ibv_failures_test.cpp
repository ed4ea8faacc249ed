#include "network/ibv/connection/device_events.hpp"
#include "unit/network/ibv/double_network.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::network::ibv {
namespace {

using network::test::Stage;
using weft::test::payload;

class IbvFailures : public OverDouble {
 protected:
  /// Returns once rank 0 and `peer` have a connection, and nothing is under way.
  static void meet(Stage& stage, int peer = 1) {
    ASSERT_EQ(stage.send(0, Stage::to(peer, 0), payload(8, 0)), SendResult::sent);
    ASSERT_TRUE(stage.until([&] { return stage.notes(peer).arrivals.size() == 1 && stage.drained(); }));
  }
  /// Returns once rank 0 has heard that rank 1 is gone.
  static void await_loss(Stage& stage) {
    EXPECT_TRUE(stage.until([&] { return stage.port(0).has_left(1); }));
  }
};

TEST_F(IbvFailures, AMessageThatIsNotDeliveredEndsThePeerWithTheStatusInTheLog) {
  Stage stage(2, settings());
  ASSERT_EQ(stage.send(0, Stage::to(1, 1), payload(8, 1)), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 1; }));
  testing::internal::CaptureStderr();
  Fabric::instance().set({.fail_sends = 1});
  ASSERT_EQ(stage.send(0, Stage::to(1, 2), payload(8, 2)), SendResult::sent);
  await_loss(stage);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("rank 1: a message was not delivered: transport retry counter exceeded"),
            std::string::npos)
      << log;
  EXPECT_EQ(stage.send(0, Stage::to(1, 3), payload(8, 3)), SendResult::peer_left);
}

TEST_F(IbvFailures, PacketsOfAConnectionThatFailsComeBack) {
  Stage stage(2, settings());
  ASSERT_EQ(stage.send(0, Stage::to(1, 1), payload(8, 1)), SendResult::sent);
  testing::internal::CaptureStderr();
  Fabric::instance().set({.fail_sends = 1});
  std::size_t accepted = 0;
  for (std::uint64_t word = 2; word < 6; ++word)
    if (stage.send_packet(0, Stage::to(1, word), payload(1000, word)) == SendResult::sent) ++accepted;
  EXPECT_GE(accepted, 1U);
  await_loss(stage);
  static_cast<void>(testing::internal::GetCapturedStderr());
  std::uint32_t indices[64];
  std::size_t returned = 0;
  EXPECT_TRUE(stage.until([&] {
    returned += stage[0].network->reclaim_packets(indices);
    return returned == accepted && stage.drained();
  }));
}

TEST_F(IbvFailures, AGreetingWithManyHandlesDoesNotWriteIntoTheNext) {
  Stage stage(3, settings());
  stage.expose_handles(0, 32);
  // Greetings wait in their rooms while receivers are not ready.
  Fabric::instance().set({.no_receiver = 1});
  for (int round = 0; round < 200; ++round) {
    for (const int to : {1, 2})
      EXPECT_NE(stage.port(0).send(Stage::to(to, 1), payload(8, 1)), SendResult::sent);
    stage.poll();
  }
  Fabric::instance().set({});
  for (const int from : {1, 2}) EXPECT_TRUE(stage.reaches_handles(from, 0, 32));
}

TEST_F(IbvFailures, APeerForWhichNothingCanBeMadeIsLostAndStaysSo) {
  for (const Faults& faults : {Faults{.refuse_pairs = 3}, Faults{.refuse_routes = 1}}) {
    Stage stage(3, settings());
    testing::internal::CaptureStderr();
    Fabric::instance().set(faults);
    EXPECT_EQ(stage.send(0, Stage::to(1, 1), payload(8, 1)), SendResult::peer_left);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("its address cannot be used"), std::string::npos);
    // The peer's cards come to nothing, and others are reached.
    for (int round = 0; round < 200; ++round) {
      static_cast<void>(stage.port(1).send(Stage::to(0, 2), payload(8, 2)));
      stage.poll();
    }
    EXPECT_TRUE(stage.port(0).reclaim(1));
    ASSERT_EQ(stage.send(0, Stage::to(2, 3), payload(8, 3)), SendResult::sent);
    EXPECT_TRUE(stage.until([&] { return stage.notes(2).arrivals.size() == 1; }));
  }
}

TEST_F(IbvFailures, WhatAPeerHasSentBeforeItsEndArrives) {
  constexpr std::uint64_t kMessages = 200;
  Stage stage(2, settings({{"ibv_credits", "256"}}));
  meet(stage);
  const auto send_all = [&](std::uint64_t& sent) {
    if (stage.port(1).send(Stage::to(0, sent), payload(400, sent)) == SendResult::sent) ++sent;
    stage[1].poll();
    return sent == kMessages;
  };
  std::uint64_t sent = 0;
  ASSERT_TRUE(weft::test::until([&] { return send_all(sent); }, [] {}));
  static_cast<void>(stage.port(0).reclaim(1));
  // Nothing comes from now on.
  Fabric::instance().set({.hides_completions = true});
  EXPECT_TRUE(stage.until([&] { return stage.notes(0).arrivals.size() == kMessages; }));
  Fabric::instance().set({});
}

TEST_F(IbvFailures, PacketsUnderWayComeBackWhenTheDeviceStops) {
  Stage stage(2, settings());
  meet(stage);
  Fabric::instance().set({.no_receiver = 1});
  for (std::uint64_t word = 1; word < 5; ++word)
    ASSERT_EQ(stage.send_packet(0, Stage::to(1, word), payload(1000, word)), SendResult::sent);
  stage.port(0).stop_fetches();
  std::uint32_t indices[64];
  EXPECT_EQ(stage[0].network->reclaim_packets(indices), 4U);
  stage.leave(0);
}

TEST_F(IbvFailures, NobodySleepsWhileCompletionsWait) {
  Stage stage(4, settings());
  for (const int to : {1, 2, 3}) meet(stage, to);
  Fabric::instance().set({.hides_completions = true});
  std::size_t sent = 0;
  for (std::uint64_t word = 1; word < 15; ++word)
    for (const int to : {1, 2, 3})
      for (const TrafficClass traffic : {TrafficClass::data, TrafficClass::control}) {
        if (stage.port(0).send(Stage::to(to, word, traffic), payload(400, word)) == SendResult::sent) ++sent;
        stage[0].poll();
      }
  ASSERT_GT(sent, 64U);
  Fabric::instance().set({});
  const std::uint32_t token = stage.port(0).park_token();
  static_cast<void>(stage.port(0).prepare_park());
  EXPECT_TRUE(stage.port(0).park(token, 1, std::chrono::milliseconds(1)));
}

TEST_F(IbvFailures, AFetchThatFindsTheQueueFullRegistersNothing) {
  Stage stage(2, settings({{"ibv_credits", "256"}, {"rendezvous", "read"}}));
  meet(stage);
  const std::vector<std::byte> memory = payload(100'000, 1);
  std::vector<std::byte> room(memory.size());
  const Offer offer = stage.port(1).offer(0, memory, {});
  Fabric::instance().set({.no_receiver = 1, .refuse_registrations = 1});
  for (std::uint64_t word = 1; word < 100; ++word) {
    static_cast<void>(stage.port(0).send(Stage::to(1, word), payload(400, word)));
    stage[0].poll();
  }
  const OfferedMemory from{reinterpret_cast<std::uint64_t>(memory.data()), offer.key, 0, 0};
  EXPECT_EQ(stage.port(0).fetch(1, from, room, 7), AccessResult::no_slot);
  Fabric::instance().set({});
  EXPECT_TRUE(stage.until([&] { return stage.drained(); }));
  stage.port(1).end_offer(0, offer);
}

TEST_F(IbvFailures, AGreetingThatCannotBeSentIsSentAgain) {
  Stage stage(2, settings());
  testing::internal::CaptureStderr();
  Fabric::instance().set({.fail_datagrams = 2});
  meet(stage);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("a greeting was not sent and is tried again"),
            std::string::npos);
}

TEST_F(IbvFailures, APeerForWhichMemoryCannotBeRegisteredIsMetLater) {
  Stage stage(2, settings());
  testing::internal::CaptureStderr();
  Fabric::instance().set({.refuse_registrations = 2});
  meet(stage);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no contact with rank"), std::string::npos);
}

TEST_F(IbvFailures, AnEventOfAQueuePairEndsItsPeer) {
  Stage stage(3, settings());
  for (const int to : {1, 2}) ASSERT_EQ(stage.send(0, Stage::to(to, 1), payload(8, 1)), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(2).arrivals.size() == 1; }));
  testing::internal::CaptureStderr();
  Fabric::instance().raise(IBV_EVENT_QP_FATAL, DeviceEvents::mark_of(1));
  await_loss(stage);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("the network lost rank 1: its queue pair has failed: event of the double"),
            std::string::npos)
      << log;
  EXPECT_FALSE(stage.port(0).has_left(2));
}

TEST_F(IbvFailures, AnEventOfTheDeviceEndsAllPeers) {
  Stage stage(3, settings());
  testing::internal::CaptureStderr();
  Fabric::instance().raise(IBV_EVENT_DEVICE_FATAL, nullptr);
  await_loss(stage);
  EXPECT_TRUE(stage.port(0).has_left(2));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("double0 port 1, 10.0.0.1 (RoCE v2) has failed"),
            std::string::npos);
}

TEST_F(IbvFailures, OtherEventsAreOnlyTold) {
  Stage stage(2, settings({{"log", "info"}}));
  testing::internal::CaptureStderr();
  Fabric::instance().raise(IBV_EVENT_PORT_ACTIVE, nullptr);
  ASSERT_EQ(stage.send(0, Stage::to(1, 1), payload(8, 1)), SendResult::sent);
  for (int round = 0; round < 5000; ++round) stage.poll();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("(RoCE v2): event of the double"), std::string::npos);
  EXPECT_FALSE(stage.port(0).has_left(1));
}

TEST_F(IbvFailures, APeerIsReachedAlthoughGreetingsAreLostAndDoubled) {
  Fabric::instance().set({.lose_datagrams = 2, .double_datagrams = 3});
  Stage stage(3, settings());
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to)
      ASSERT_EQ(stage.send(from, Stage::to(to, 1), payload(100, 1)), SendResult::sent);
  EXPECT_TRUE(stage.until([&] { return stage.notes(2).arrivals.size() == 3; }));
}

TEST_F(IbvFailures, FullQueuesAndLateReceiversOnlyDelay) {
  Fabric::instance().set({.seed = 3, .refuse_sends = 2, .no_receiver = 2});
  Stage stage(2, settings());
  constexpr std::uint64_t kMessages = 500;
  for (std::uint64_t word = 0; word < kMessages; ++word)
    ASSERT_EQ(stage.send(0, Stage::to(1, word), payload(word % 400, word)), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == kMessages; }));
  for (const auto& arrival : stage.notes(1).arrivals)
    EXPECT_EQ(arrival.bytes, payload(arrival.word % 400, arrival.word));
}

}  // namespace
}  // namespace weft::network::ibv
