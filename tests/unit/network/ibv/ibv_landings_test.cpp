// Puts into landings while something goes wrong: queues are full, receivers are late, connections end.
#include "network/session/device/access_ends.hpp"
#include "unit/network/ibv/double_network.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::network::ibv {
namespace {

using network::test::Stage;
using weft::test::payload;

constexpr std::size_t kBytes = 20'000;

/// Two ranks with a connection, of which rank 0 puts and rank 1 opens landings.
class IbvLandings : public OverDouble {
 protected:
  struct Put {
    explicit Put(std::uint64_t number) : memory(payload(kBytes, number)), room(kBytes) {}
    std::vector<std::byte> memory;
    std::vector<std::byte> room;
    Offer offer;
    Landing landing;
  };

  IbvLandings() {
    EXPECT_EQ(stage_.send(0, Stage::to(1, 0), payload(8, 0)), SendResult::sent);
    EXPECT_TRUE(stage_.until([&] { return stage_.notes(1).arrivals.size() == 1 && stage_.drained(); }));
  }
  ~IbvLandings() override {
    Fabric::instance().set({});
    for (const Put& put : puts_) {
      stage_.port(0).end_offer(1, put.offer);
      stage_.port(1).close_landing(0, put.landing);
    }
  }
  void open(std::uint64_t count) {
    for (std::uint64_t number = 0; number < count; ++number) {
      Put& put = puts_.emplace_back(number);
      put.offer = stage_.port(0).offer(1, put.memory, {});
      put.landing = stage_.port(1).open_landing(0, put.room);
      ASSERT_TRUE(put.offer.key != 0 && put.landing.is_open());
    }
  }
  [[nodiscard]] AccessResult attempt(std::uint64_t number) {
    const Put& put = puts_[number];
    return stage_.port(0).land(1, {put.landing.address, put.landing.key, number, 0}, put.memory, put.offer,
                               number);
  }
  void land_all() {
    for (std::uint64_t number = 0; number < puts_.size(); ++number) {
      AccessResult result = AccessResult::no_slot;
      ASSERT_TRUE(stage_.until([&] { return (result = attempt(number)) != AccessResult::no_slot; }));
      ASSERT_EQ(result, AccessResult::posted);
    }
  }
  [[nodiscard]] bool all_have_landed() {
    return stage_.until([&] {
      return stage_.notes(1).landings.size() == puts_.size() && stage_.notes(0).ended.size() == puts_.size();
    });
  }

  Stage stage_{2, settings({{"ibv_credits", "256"}})};
  std::vector<Put> puts_;
};

TEST_F(IbvLandings, OfWhichManyAreOpenAreFilledAlthoughQueuesAreFullAndReceiversLate) {
  open(200);
  // More puts in all than there are receive buffers.
  for (std::uint64_t seed = 1; seed < 9; ++seed) {
    Fabric::instance().set({.seed = seed, .refuse_sends = 3, .no_receiver = 2});
    land_all();
    ASSERT_TRUE(all_have_landed());
    for (Put& put : puts_) {
      EXPECT_EQ(put.room, put.memory);
      put.room.assign(kBytes, {});
    }
    stage_.notes(0).ended.clear();
    stage_.notes(1).landings.clear();
  }
}

TEST_F(IbvLandings, AreFilledWhileTheReceiverTakesNoMessages) {
  open(40);
  bool takes = false;
  stage_.notes(1).takes = [&](std::uint64_t) { return takes; };
  std::uint64_t sent = 0;
  for (int round = 0; round < 2000; ++round) {
    if (stage_.port(0).send(Stage::to(1, sent + 1), payload(400, sent)) == SendResult::sent) ++sent;
    stage_.poll();
  }
  land_all();
  ASSERT_TRUE(all_have_landed());
  EXPECT_EQ(stage_.notes(1).arrivals.size(), 1U);
  takes = true;
  EXPECT_TRUE(stage_.until([&] { return stage_.notes(1).arrivals.size() == 1 + sent; }));
}

TEST_F(IbvLandings, OfAConnectionThatFailsEndOnceForTheirSender) {
  open(8);
  testing::internal::CaptureStderr();
  Fabric::instance().set({.fail_sends = 1, .hides_completions = true});
  std::size_t posted = 0;
  for (std::uint64_t number = 0; number < puts_.size(); ++number)
    if (attempt(number) == AccessResult::posted) ++posted;
  EXPECT_EQ(posted, puts_.size());
  Fabric::instance().set({});
  ASSERT_TRUE(stage_.until([&] { return stage_.notes(0).ended.size() == posted; }));
  for (const auto& [token, outcome] : stage_.notes(0).ended)
    EXPECT_EQ(outcome, Outcome::peer_failed) << token;
  EXPECT_TRUE(stage_.notes(1).landings.empty());
  EXPECT_EQ(attempt(0), AccessResult::peer_left);
  static_cast<void>(testing::internal::GetCapturedStderr());
}

TEST_F(IbvLandings, AreNotWrittenAnyMoreOnceTheSenderHasBeenGivenUp) {
  open(1);
  Fabric::instance().set({.no_receiver = 1});
  ASSERT_EQ(attempt(0), AccessResult::posted);
  testing::internal::CaptureStderr();
  stage_[1].network->peer_departed(0);
  ASSERT_TRUE(stage_.until([&] { return stage_.port(1).reclaim(0); }));
  stage_.port(1).close_landing(0, puts_[0].landing);
  puts_[0].landing = {};
  Fabric::instance().set({});
  ASSERT_TRUE(stage_.until([&] { return !stage_.notes(0).ended.empty(); }));
  EXPECT_EQ(puts_[0].room, std::vector<std::byte>(kBytes));
  EXPECT_TRUE(stage_.notes(1).landings.empty());
  EXPECT_EQ(stage_.notes(0).ended.begin()->second, Outcome::peer_failed);
  static_cast<void>(testing::internal::GetCapturedStderr());
}

TEST_F(IbvLandings, ThatAreClosedAreNotWrittenAnyMore) {
  open(1);
  stage_.port(1).close_landing(0, puts_[0].landing);
  puts_[0].landing.registration = nullptr;
  testing::internal::CaptureStderr();
  ASSERT_EQ(attempt(0), AccessResult::posted);
  EXPECT_TRUE(stage_.until([&] { return !stage_.notes(0).ended.empty(); }));
  static_cast<void>(testing::internal::GetCapturedStderr());
  EXPECT_EQ(stage_.notes(0).ended[0], Outcome::peer_failed);
  EXPECT_EQ(puts_[0].room, std::vector<std::byte>(kBytes));
}

TEST_F(IbvLandings, ThatCannotBeRegisteredAreNotOpen) {
  std::vector<std::byte> room(kBytes);
  Fabric::instance().set({.refuse_registrations = 1});
  EXPECT_FALSE(stage_.port(1).open_landing(0, room).is_open());
  // One write carries at most what the port can.
  EXPECT_FALSE(stage_.port(1).open_landing(0, {room.data(), std::size_t{9} << 20}).is_open());
}

TEST(Announcements, BeyondOneBatchStayForTheNextAndAreReportedOneByOne) {
  session::Announcements announcements;
  for (std::uint64_t value = 0; value < 5; ++value) announcements.add({-1, value});
  std::array<session::Announcements::Announcement, 3> taken{};
  EXPECT_EQ(announcements.take(taken), 3U);
  for (std::uint64_t value = 0; value < 3; ++value) EXPECT_EQ(taken[value].value, value);
  announcements.reported(3);
  EXPECT_FALSE(announcements.are_reported());
  EXPECT_EQ(announcements.take(taken), 2U);
  EXPECT_EQ(taken[0].value, 3U);
  EXPECT_TRUE(announcements.is_empty());
  EXPECT_FALSE(announcements.are_reported());
  announcements.reported(2);
  EXPECT_TRUE(announcements.are_reported());
}

class IbvOffers : public OverDouble {};

TEST_F(IbvOffers, AreReadFromAnyPlaceOn) {
  Stage stage(2, settings({{"rendezvous", "read"}}));
  ASSERT_EQ(stage.send(0, Stage::to(1, 0), payload(8, 0)), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 1 && stage.drained(); }));
  const auto memory = payload(kBytes, 1);
  const Offer offer = stage.port(1).offer(0, memory, {});
  std::vector<std::byte> room(100);
  const OfferedMemory from{reinterpret_cast<std::uint64_t>(memory.data()), offer.key, kBytes - 100, 0};
  ASSERT_EQ(stage.port(0).fetch(1, from, room, 7), AccessResult::posted);
  EXPECT_TRUE(stage.until([&] { return !stage.notes(0).ended.empty(); }));
  EXPECT_TRUE(std::ranges::equal(room, std::span(memory).last(100)));
  stage.port(1).end_offer(0, offer);
}

TEST_F(IbvOffers, ThatHaveEndedAreNotReadAnyMore) {
  Stage stage(2, settings({{"rendezvous", "read"}}));
  ASSERT_EQ(stage.send(0, Stage::to(1, 0), payload(8, 0)), SendResult::sent);
  ASSERT_TRUE(stage.until([&] { return stage.notes(1).arrivals.size() == 1 && stage.drained(); }));
  const auto memory = payload(kBytes, 1);
  const Offer offer = stage.port(1).offer(0, memory, {});
  ASSERT_NE(offer.key, 0U);
  stage.port(1).end_offer(0, offer);
  std::vector<std::byte> room(kBytes);
  testing::internal::CaptureStderr();
  const OfferedMemory from{reinterpret_cast<std::uint64_t>(memory.data()), offer.key, 0, 0};
  ASSERT_EQ(stage.port(0).fetch(1, from, room, 7), AccessResult::posted);
  EXPECT_TRUE(stage.until([&] { return !stage.notes(0).ended.empty(); }));
  static_cast<void>(testing::internal::GetCapturedStderr());
  EXPECT_EQ(stage.notes(0).ended[7], Outcome::peer_failed);
  EXPECT_EQ(room, std::vector<std::byte>(kBytes));
}

}  // namespace
}  // namespace weft::network::ibv
