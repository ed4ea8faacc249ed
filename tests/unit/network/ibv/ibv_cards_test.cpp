// Cards, by which devices are introduced to each other: those of strangers and late ones, and many at a time.
#include "network/ibv/connection/cards.hpp"
#include "network/session/link/message_format.hpp"
#include "unit/network/ibv/double_network.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace weft::network::ibv {
namespace {

using network::test::Stage;
using weft::test::payload;

constexpr std::uint32_t kNobodysQueuePair = 0xfffff;

class IbvCards : public OverDouble {
 protected:
  /// A card of rank 0 as it is when it knows that the receiver is ready, but of a queue pair that is not its.
  static Card card_of(std::string_view job) {
    Card card{kCardMagic, session::kWireVersion, 0,  0, 1, 1, 0, kNobodysQueuePair,
              0,          Purpose::messages,     {}, {}};
    job.copy(card.job_id.data(), card.job_id.size() - 1);
    return card;
  }
  static void bring(const Card& card) { Fabric::instance().bring(std::as_bytes(std::span(&card, 1))); }
};

TEST_F(IbvCards, OfAnotherJobAreIgnored) {
  Stage stage(2, settings());
  bring(card_of("another job"));
  for (int round = 0; round < 100; ++round) stage.poll();
  ASSERT_EQ(stage.send(0, Stage::to(1, 1), payload(8, 1)), SendResult::sent);
  ASSERT_EQ(stage.send(1, Stage::to(0, 2), payload(8, 2)), SendResult::sent);
  EXPECT_TRUE(stage.until(
      [&] { return stage.notes(0).arrivals.size() == 1 && stage.notes(1).arrivals.size() == 1; }));
}

TEST_F(IbvCards, OfAnotherQueuePairThanTheOneThatIsKnownAreIgnored) {
  Stage stage(2, settings());
  const auto attempt = [&] { return stage.port(1).send(Stage::to(0, 1), payload(8, 1)); };
  // Rank 1 hears of rank 0, which hears nothing: its queue pair does not receive yet.
  ASSERT_EQ(stage.port(0).send(Stage::to(1, 2), payload(8, 2)), SendResult::not_ready);
  stage[0].poll();
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(attempt(), SendResult::not_ready);
    stage[1].poll();
  }
  bring(card_of(stage[0].bootstrap->job_id()));
  for (int round = 0; round < 100; ++round) {
    EXPECT_EQ(attempt(), SendResult::not_ready);
    stage[1].poll();
  }
  EXPECT_EQ(stage.send(1, Stage::to(0, 1), payload(8, 1)), SendResult::sent);
  EXPECT_TRUE(stage.until([&] { return stage.notes(0).arrivals.size() == 1; }));
}

TEST_F(IbvCards, OfMorePeersThanTheyHaveRoomsForAllArrive) {
  constexpr int kRanks = 70;
  Stage stage(kRanks, settings({{"ibv_credits", "8"}}));
  for (int to = 1; to < kRanks; ++to) static_cast<void>(stage.port(0).send(Stage::to(to, 1), payload(8, 1)));
  for (int to = 1; to < kRanks; ++to)
    ASSERT_EQ(stage.send(0, Stage::to(to, 1), payload(8, 1)), SendResult::sent);
  EXPECT_TRUE(stage.until([&] {
    for (int rank = 1; rank < kRanks; ++rank)
      if (stage.notes(rank).arrivals.empty()) return false;
    return true;
  }));
}

}  // namespace
}  // namespace weft::network::ibv
