// What a message, a frame or a completion takes for its way comes back however that ends.
#include "unit/network/ibv/double_network.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::network::ibv {
namespace {

using network::test::Stage;
using weft::test::payload;

constexpr int kMoreThanRooms = 600;
constexpr int kRanks = 7;
/// 64 places for sends: fewer than what six peers may be sent, and than what of that needs no completion.
constexpr Faults kFewPlaces{.most_receives = 64, .most_completions = 192};

class IbvResources : public OverDouble {
 protected:
  /// Returns once rank 0 and each of the others have a connection, and nothing is under way.
  static void meet(Stage& stage, int ranks = 2) {
    for (int to = 1; to < ranks; ++to)
      ASSERT_EQ(stage.send(0, Stage::to(to, 0), payload(8, 0)), SendResult::sent);
    ASSERT_TRUE(stage.until([&] { return stage.notes(ranks - 1).arrivals.size() == 1 && stage.drained(); }));
  }
  /// The answer of the network, whoever else has the port now and then.
  template <class Attempt>
  static SendResult answer_to(const Attempt& attempt) {
    SendResult result = SendResult::lock_contended;
    while (result == SendResult::lock_contended) result = attempt();
    return result;
  }
  /// Alone in its work request: urgent messages are not staged.
  static SendResult send_urgent(Stage& stage, int to, std::size_t size) {
    return answer_to(
        [&] { return stage.port(0).send(Stage::to(to, 1, TrafficClass::urgent), payload(size, 1)); });
  }
};

TEST_F(IbvResources, RoomsOfCopiesThatAreRefusedComeBack) {
  Stage stage(2, settings());
  meet(stage);
  Fabric::instance().set({.refuse_sends = 1});
  for (int count = 0; count < kMoreThanRooms; ++count)
    ASSERT_EQ(send_urgent(stage, 1, 300), SendResult::no_slot);
  Fabric::instance().set({});
  EXPECT_EQ(send_urgent(stage, 1, 300), SendResult::sent);
}

TEST_F(IbvResources, RoomsOfPacketsOfAnotherNetworkThatAreRefusedComeBack) {
  Stage stage(2, {{"network", "mixed"}, {"remote_network", "ibv"}, {"host_id", "%r%2"}});
  meet(stage);
  Packet packet = stage[0].pool.get();
  ASSERT_TRUE(packet);
  const auto attempt = [&] {
    return answer_to([&] {
      return stage.port(0).send_packet(Stage::to(1, 1, TrafficClass::urgent), packet.index(), 1000);
    });
  };
  Fabric::instance().set({.refuse_sends = 1});
  for (int count = 0; count < kMoreThanRooms; ++count) ASSERT_EQ(attempt(), SendResult::no_slot);
  Fabric::instance().set({});
  ASSERT_EQ(attempt(), SendResult::sent);
  packet.release();
}

TEST_F(IbvResources, RoomsOfFramesThatAreInlinedComeBack) {
  constexpr std::uint64_t kBursts = 50;
  constexpr std::uint64_t kInBurst =
      5;  // of which all but the first are staged, and fit into an inlined frame
  Stage stage(2, settings());
  meet(stage);
  std::uint64_t word = 0;
  const auto send_bursts = [&] {
    const std::uint64_t before = Fabric::instance().carried();
    for (std::uint64_t burst = 0; burst < kBursts; ++burst) {
      for (std::uint64_t count = 0; count < kInBurst; ++count, ++word)
        ASSERT_EQ(stage.send(0, Stage::to(1, word), payload(8, word)), SendResult::sent);
      ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 1 + word; }));
    }
    EXPECT_LT(Fabric::instance().carried() - before, kBursts * kInBurst) << "some leave together";
  };
  send_bursts();
  send_bursts();  // when more frames have been used than there are
}

TEST_F(IbvResources, PlacesInTheCompletionQueueComeBackWithoutACompletionOfTheirOwn) {
  constexpr std::uint64_t kMessages = 1000;
  Fabric::instance().set(kFewPlaces);
  Stage stage(kRanks, settings({{"ibv_credits", "64"}}));
  meet(stage, kRanks);
  std::uint64_t sent = 0;
  Fabric::instance().set({.hides_completions = true});
  for (int round = 0; round < 14; ++round)
    for (int to = 1; to < kRanks; ++to)
      if (send_urgent(stage, to, 8) == SendResult::sent) ++sent;
  EXPECT_LE(sent, 64U);
  Fabric::instance().set({});
  for (; sent < kMessages; ++sent)
    ASSERT_EQ(stage.send(0, Stage::to(1 + static_cast<int>(sent % (kRanks - 1)), sent), payload(300, sent)),
              SendResult::sent);
  EXPECT_TRUE(stage.until([&] {
    std::uint64_t arrived = 0;
    for (int rank = 1; rank < kRanks; ++rank) arrived += stage.notes(rank).arrivals.size();
    return arrived == kMessages + kRanks - 1;
  }));
}

TEST_F(IbvResources, TheCompletionQueueDoesNotOverflow) {
  Fabric::instance().set(kFewPlaces);
  Stage stage(kRanks, settings({{"ibv_credits", "64"}}));
  meet(stage, kRanks);
  Fabric::instance().set({.hides_completions = true});
  // Each of them is signalled.
  for (int count = 0; count < 60; ++count)
    for (int to = 1; to < kRanks; ++to) {
      static_cast<void>(send_urgent(stage, to, 300));
      static_cast<void>(stage.port(0).send(Stage::to(to, 2), payload(300, 2)));
      stage[0].poll();
    }
  Fabric::instance().set({});
  for (int round = 0; round < 5000; ++round) stage.poll();
  for (int to = 1; to < kRanks; ++to) EXPECT_FALSE(stage.port(0).has_left(to)) << to;
}

TEST_F(IbvResources, BuffersOfMessagesThatAreTooLongComeBack) {
  Stage stage(2, settings());
  meet(stage);
  for (int round = 0; round < 100; ++round) stage.poll();
  const std::size_t posted = Fabric::instance().posted_receives();
  testing::internal::CaptureStderr();
  Fabric::instance().set({.too_long = 1});
  ASSERT_EQ(send_urgent(stage, 1, 300), SendResult::sent);
  EXPECT_TRUE(stage.until([&] { return stage.port(0).has_left(1); }));
  for (int round = 0; round < 100; ++round) stage.poll();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("refused a message that is longer than a packet"),
            std::string::npos);
  EXPECT_EQ(Fabric::instance().posted_receives(), posted);
}

TEST_F(IbvResources, BuffersForWhichTheReceiveQueueHasNoRoomArePostedLater) {
  constexpr std::uint64_t kMessages = 2000;
  constexpr std::uint64_t kNews = ~std::uint64_t{0};
  Fabric::instance().set({.most_receives = 64});
  Stage stage(2, settings({{"ibv_credits", "256"}}));
  meet(stage);
  for (std::uint64_t word = 1; word <= kMessages; ++word)
    ASSERT_EQ(stage.send(0, Stage::to(1, word), payload(300, word)), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 1 + kMessages; }));
  // Those that are not taken keep more buffers than the queue has room for; others come nevertheless.
  stage.notes(1).takes = [](std::uint64_t word) { return word == kNews; };
  for (std::uint64_t word = 1; word <= 200; ++word)
    ASSERT_EQ(stage.send_packet(0, Stage::to(1, word), payload(1000, word)), SendResult::sent);
  ASSERT_EQ(stage.send(0, Stage::to(1, kNews, TrafficClass::control), payload(8, 1)), SendResult::sent);
  EXPECT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 2 + kMessages; }));
}

TEST_F(IbvResources, BuffersForAllThatAPeerMaySendArePostedWhenItIsMet) {
  Stage stage(2, settings({{"ibv_credits", "64"}}));
  ASSERT_EQ(stage.send(0, Stage::to(1, 1), payload(8, 1)), SendResult::sent);
  constexpr std::size_t kInAllClasses = 3 * 64 + 2 * 16;
  EXPECT_GE(Fabric::instance().posted_receives(), 2 * kInAllClasses);
}

}  // namespace
}  // namespace weft::network::ibv
