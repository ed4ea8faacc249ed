// Puts into landings that a peer has opened: what networks that can do it promise, and what the others
// answer.
#include "conformance/network/stage.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace weft::network::test {
namespace {

/// Two ranks that have spoken with each other, of which rank 0 puts and rank 1 opens landings.
class Landings : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const int from : {0, 1}) {
      ASSERT_EQ(stage_.send(from, stage_.to(1 - from, 0), {}), SendResult::sent);
      ASSERT_TRUE(stage_.until([&] { return stage_.notes(1 - from).arrivals.size() == 1; }));
    }
    name_bytes_ = stage_.port(0).peer_capabilities(1).landing_bytes;
  }
  AccessResult land(const RemoteLanding& to, Bytes from, const Offer& offer, std::uint64_t token) {
    AccessResult result = AccessResult::no_slot;
    EXPECT_TRUE(stage_.until([&] {
      result = stage_.port(0).land(1, to, from, offer, token);
      return result != AccessResult::no_slot && result != AccessResult::lock_contended &&
             result != AccessResult::not_ready;
    }));
    return result;
  }

  Stage stage_{2, weft::test::kNoSurprises};
  std::size_t name_bytes_ = 0;
};

TEST_F(Landings, that_a_network_does_not_have_are_not_opened) {
  if (name_bytes_ != 0) GTEST_SKIP() << "this network has them";
  std::vector<std::byte> room(10'000);
  EXPECT_FALSE(stage_.port(1).open_landing(0, room).is_open());
  EXPECT_EQ(land({1, 1, 1, 0}, room, {}, 7), AccessResult::unsupported);
}

TEST_F(Landings, get_the_bytes_and_then_their_name) {
  if (name_bytes_ == 0) GTEST_SKIP() << "this network has none";
  ASSERT_TRUE(name_bytes_ == 4 || name_bytes_ == 8);
  std::uint64_t token = 0;
  for (const std::size_t size : {std::size_t{1}, std::size_t{5000}, std::size_t{3} << 20}) {
    const std::vector<std::byte> memory = payload(size, size);
    std::vector<std::byte> room(size);
    const Offer offer = stage_.port(0).offer(1, memory, {});
    ASSERT_NE(offer.key, 0U);
    const Landing landing = stage_.port(1).open_landing(0, room);
    ASSERT_TRUE(landing.is_open());
    const std::uint64_t name = 0x0003'0002'0001ULL + token;
    ASSERT_EQ(land({landing.address, landing.key, name, 0}, memory, offer, ++token), AccessResult::posted);
    auto& landings = stage_.notes(1).landings;
    ASSERT_TRUE(stage_.until([&] { return !landings.empty() && stage_.notes(0).ended.contains(token); }));
    EXPECT_EQ(landings, (std::vector{std::pair(name_bytes_ == 8 ? name : name & 0xffffffff, name_bytes_)}));
    EXPECT_EQ(stage_.notes(0).ended[token], Outcome::ok);
    EXPECT_EQ(room, memory);
    landings.clear();
    stage_.port(1).close_landing(0, landing);
    stage_.port(0).end_offer(1, offer);
  }
}

TEST_F(Landings, of_which_many_are_open_are_told_apart) {
  if (name_bytes_ == 0) GTEST_SKIP() << "this network has none";
  constexpr std::uint64_t kMany = 40;
  std::vector<std::vector<std::byte>> rooms(kMany, std::vector<std::byte>(20'000));
  std::vector<std::vector<std::byte>> memories;
  std::vector<Landing> landings;
  std::vector<Offer> offers;
  for (std::uint64_t number = 0; number < kMany; ++number) {
    memories.push_back(payload(20'000, number));
    offers.push_back(stage_.port(0).offer(1, memories.back(), {}));
    landings.push_back(stage_.port(1).open_landing(0, rooms[number]));
    ASSERT_TRUE(landings.back().is_open());
  }
  for (std::uint64_t number = kMany; number-- > 0;)
    ASSERT_EQ(land({landings[number].address, landings[number].key, number, 0}, memories[number],
                   offers[number], number),
              AccessResult::posted);
  ASSERT_TRUE(stage_.until(
      [&] { return stage_.notes(1).landings.size() == kMany && stage_.notes(0).ended.size() == kMany; }));
  for (std::uint64_t number = 0; number < kMany; ++number) {
    EXPECT_EQ(rooms[number], memories[number]);
    stage_.port(1).close_landing(0, landings[number]);
    stage_.port(0).end_offer(1, offers[number]);
  }
}

}  // namespace
}  // namespace weft::network::test
