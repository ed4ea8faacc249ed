// Puts and gets of regions while something goes wrong: keys are stale, queues full, connections end.
#include "unit/network/ibv/region_pair.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::network::ibv {
namespace {

using network::test::Stage;
using weft::test::payload;

using IbvRegionAccesses = RegionPair;

TEST_F(IbvRegionAccesses, ThatAreStaleAreRefusedAndThoseUnderWayAtBothEndsAreCarriedOut) {
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    Fabric::instance().set({.seed = seed, .refuse_sends = 5, .lose_datagrams = 3});
    Region stale = add(1, {2, static_cast<std::uint32_t>(seed)});
    remove(1, stale);
    const std::uint64_t first = seed * 1000;
    std::vector<std::vector<std::byte>> sources;
    std::vector<std::vector<std::byte>> gets(3, std::vector<std::byte>(kRegionBytes));
    for (const std::size_t size : kSizes) sources.push_back(payload(size, first + size));
    std::uint64_t token = first;
    for (const auto& source : sources) {
      ASSERT_EQ(put(0, regions_[1], source, token), AccessResult::posted);
      ASSERT_EQ(put(1, regions_[0], source, token), AccessResult::posted);
      ASSERT_EQ(put(0, stale, source, token + 100), AccessResult::posted);
      AccessResult result = AccessResult::no_slot;
      ASSERT_TRUE(stage_.until([&] {
        result = stage_.port(0).get(1, at(regions_[1]), gets[token - first], token + 200);
        return result == AccessResult::posted;
      }));
      ++token;
    }
    for (std::uint64_t each = first; each < token; ++each) {
      EXPECT_EQ(end_of(0, each), Outcome::ok);
      EXPECT_EQ(end_of(1, each), Outcome::ok);
      EXPECT_EQ(end_of(0, each + 100), Outcome::refused);
      EXPECT_EQ(end_of(0, each + 200), Outcome::ok);
    }
    for (const int rank : {0, 1}) EXPECT_EQ(regions_[rank].bytes, sources.back());
    EXPECT_EQ(stale.bytes, std::vector<std::byte>(kRegionBytes));
    EXPECT_FALSE(stage_.port(0).has_left(1) || stage_.port(1).has_left(0));
  }
  ASSERT_EQ(stage_.send(0, Stage::to(1, 9), payload(8, 9)), SendResult::sent);
  EXPECT_TRUE(stage_.until([&] { return stage_.notes(1).arrivals.size() == 2; }));
}

TEST_F(IbvRegionAccesses, GoByMessagesWhenManyWereStale) {
  Region stale = add(1, {2, 1});
  remove(1, stale);
  const auto bytes = payload(8, 1);
  std::uint64_t refused = 0;
  while (put(0, stale, bytes, refused) == AccessResult::posted) {
    ASSERT_EQ(end_of(0, refused), Outcome::refused);
    ASSERT_LT(++refused, 1000U);
  }
  EXPECT_GT(refused, 50U);
  EXPECT_EQ(put(0, regions_[1], bytes, 1000), AccessResult::unsupported);
}

TEST_F(IbvRegionAccesses, WithAKeyOfAnotherRegionGoByMessages) {
  Region other = regions_[1];
  const auto bytes = payload(8, 1);
  for (const RegionName name : {RegionName{1, 2}, RegionName{2, 1}, RegionName{0, 0}}) {
    other.name = name;
    EXPECT_EQ(put(0, other, bytes, 1), AccessResult::unsupported);
  }
  other = regions_[1];
  other.keys.key = 0;
  EXPECT_EQ(put(0, other, bytes, 1), AccessResult::unsupported);
}

TEST_F(IbvRegionAccesses, GoByMessagesWhereNoQueuePairCanBeMadeOrNoMemoryRegistered) {
  const auto bytes = payload(kRegionBytes, 1);
  EXPECT_EQ(put(0, regions_[1], bytes, 0), AccessResult::posted);
  EXPECT_EQ(end_of(0, 0), Outcome::ok);
  Fabric::instance().set({.refuse_registrations = 1});
  EXPECT_EQ(put(0, regions_[1], bytes, 1), AccessResult::unsupported);
  EXPECT_EQ(put(0, regions_[1], bytes, 2), AccessResult::posted);
  EXPECT_EQ(end_of(0, 2), Outcome::ok);
  Fabric::instance().set({.refuse_pairs = 3});
  EXPECT_EQ(put(0, regions_[1], bytes, 3), AccessResult::posted) << "the one that there is";
  EXPECT_EQ(end_of(0, 3), Outcome::ok);
  Fabric::instance().set({});
  Stage other(2, settings());
  ASSERT_EQ(other.send(0, Stage::to(1, 0), payload(8, 0)), SendResult::sent);
  Fabric::instance().set({.refuse_pairs = 3});
  EXPECT_EQ(other.port(0).put(1, at(regions_[1]), bytes, nullptr, 1), AccessResult::unsupported);
  Fabric::instance().set({});
  EXPECT_EQ(other.port(0).put(1, at(regions_[1]), bytes, nullptr, 1), AccessResult::unsupported);
  EXPECT_FALSE(other.port(0).has_left(1));
}

TEST_F(IbvRegionAccesses, OfAPeerThatIsLostEndOnce) {
  const auto bytes = payload(kRegionBytes, 1);
  ASSERT_EQ(put(0, regions_[1], bytes, 1), AccessResult::posted);
  EXPECT_EQ(end_of(0, 1), Outcome::ok);
  testing::internal::CaptureStderr();
  Fabric::instance().set({.fail_sends = 1, .hides_completions = true});
  for (std::uint64_t token = 2; token < 10; ++token)
    ASSERT_EQ(put(0, regions_[1], bytes, token), AccessResult::posted);
  Fabric::instance().set({});
  for (std::uint64_t token = 2; token < 10; ++token) EXPECT_EQ(end_of(0, token), Outcome::peer_failed);
  EXPECT_EQ(put(0, regions_[1], bytes, 10), AccessResult::peer_left);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("a put or get failed"), std::string::npos);
}

TEST_F(IbvRegionAccesses, FromMemoryOfARegionShareOneRegistration) {
  ASSERT_EQ(put(0, regions_[1], payload(8, 1), 0), AccessResult::posted);
  ASSERT_EQ(end_of(0, 0), Outcome::ok);
  const std::size_t before = Fabric::instance().registrations();
  Fabric::instance().set({.hides_completions = true});
  std::span<std::byte> source(regions_[0].bytes);
  for (std::uint64_t token = 1; token < 10; ++token)
    ASSERT_EQ(put(0, regions_[1], source.subspan(token), token), AccessResult::posted);
  const Offer offer = stage_.port(0).offer(1, source.first(5000), {});
  EXPECT_EQ(Fabric::instance().registrations(), before + 1);
  Fabric::instance().set({});
  for (std::uint64_t token = 1; token < 10; ++token) EXPECT_EQ(end_of(0, token), Outcome::ok);
  stage_.port(0).end_offer(1, offer);
  EXPECT_EQ(Fabric::instance().registrations(), before + 1) << "that of the region stays";
}

/// Of regions that overlap, a search by address finds the one that begins last.
TEST_F(IbvRegionAccesses, FromARegionThatIsNamedRegisterNothingMore) {
  ASSERT_EQ(put(0, regions_[1], payload(8, 1), 0), AccessResult::posted);
  ASSERT_EQ(end_of(0, 0), Outcome::ok);
  const std::span<std::byte> memory(regions_[0].bytes);
  constexpr RegionName kInner{2, 1};
  ASSERT_NE(stage_[0].network->register_memory(kInner, memory.subspan(10, 10), false).key, 0U);
  const std::span<std::byte> moved = memory.subspan(15, 15'000);
  RemoteMemory where = at(regions_[1]);
  where.local = regions_[0].name;
  ASSERT_EQ(stage_.port(0).put(1, where, moved, nullptr, 1), AccessResult::posted);
  EXPECT_EQ(end_of(0, 1), Outcome::ok);
  const std::size_t before = Fabric::instance().made_registrations();
  ASSERT_EQ(stage_.port(0).put(1, where, moved, nullptr, 2), AccessResult::posted);
  ASSERT_EQ(stage_.port(0).get(1, where, moved, 3), AccessResult::posted);
  const Offer offer = stage_.port(0).offer(1, moved, regions_[0].name);
  EXPECT_EQ(Fabric::instance().made_registrations(), before);
  static_cast<void>(stage_.port(0).put(1, at(regions_[1]), moved, nullptr, 4));
  EXPECT_EQ(Fabric::instance().made_registrations(), before + 1) << "a region that is not named is not found";
  for (const std::uint64_t token : {2U, 3U, 4U}) EXPECT_EQ(end_of(0, token), Outcome::ok);
  stage_.port(0).end_offer(1, offer);
  stage_[0].network->release_memory(kInner, memory.subspan(10, 10), false);
}

TEST_F(IbvRegionAccesses, FromARegionThatIsNamedAndDoesNotHoldTheMemoryAreCarriedOut) {
  const auto elsewhere = payload(kRegionBytes, 1);
  Region ended = add(0, {2, 1});
  remove(0, ended);
  std::uint64_t token = 0;
  for (const RegionName name : {regions_[0].name, ended.name, RegionName{1, 7}, RegionName{900, 1}}) {
    RemoteMemory where = at(regions_[1]);
    where.local = name;
    ASSERT_TRUE(stage_.until(
        [&] { return stage_.port(0).put(1, where, elsewhere, nullptr, token) == AccessResult::posted; }));
    EXPECT_EQ(end_of(0, token++), Outcome::ok);
    EXPECT_EQ(regions_[1].bytes, elsewhere);
    std::ranges::fill(regions_[1].bytes, std::byte{});
  }
}

TEST_F(IbvRegionAccesses, FromMemoryThatReachesBeyondARegionHaveARegistrationOfTheirOwn) {
  constexpr RegionName kName{2, 1};
  std::vector<std::byte> memory = payload(2 * kRegionBytes, 1);
  const std::span<std::byte> region = std::span(memory).first(kRegionBytes);
  ASSERT_NE(stage_[0].network->register_memory(kName, region, false).key, 0U);
  const Bytes source = Bytes(memory).subspan(kRegionBytes / 2, kRegionBytes);
  ASSERT_EQ(put(0, regions_[1], source, 1), AccessResult::posted);
  EXPECT_EQ(end_of(0, 1), Outcome::ok);
  EXPECT_TRUE(std::ranges::equal(regions_[1].bytes, source));
  stage_[0].network->release_memory(kName, region, false);
}

TEST_F(IbvRegionAccesses, KeepTheRegistrationOfARegionThatEndsMeanwhile) {
  ASSERT_EQ(put(0, regions_[1], payload(8, 1), 0), AccessResult::posted);
  ASSERT_EQ(end_of(0, 0), Outcome::ok);
  const std::size_t before = Fabric::instance().registrations();
  Region source = add(0, {2, 1});
  const Bytes bytes = source.bytes;
  ASSERT_EQ(put(0, regions_[1], bytes, 1), AccessResult::posted);
  ASSERT_EQ(end_of(0, 1), Outcome::ok);
  const Offer offer = stage_.port(0).offer(1, bytes, {});
  EXPECT_EQ(Fabric::instance().registrations(), before + 2);
  remove(0, source);
  EXPECT_EQ(Fabric::instance().registrations(), before + 1) << "the key of peers has ended";
  // It is not found any more.
  Fabric::instance().set({.hides_completions = true});
  ASSERT_EQ(put(0, regions_[1], bytes, 2), AccessResult::posted);
  EXPECT_EQ(Fabric::instance().registrations(), before + 2);
  Fabric::instance().set({});
  EXPECT_EQ(end_of(0, 2), Outcome::ok);
  stage_.port(0).end_offer(1, offer);
  EXPECT_EQ(Fabric::instance().registrations(), before);
}

TEST_F(IbvRegionAccesses, MoreThanAreUnderWayAtATimeAllEnd) {
  constexpr std::uint64_t kMany = 500;
  const auto bytes = payload(kRegionBytes, 7);
  Fabric::instance().set({.seed = 1, .refuse_sends = 3});
  for (std::uint64_t token = 0; token < kMany; ++token)
    ASSERT_EQ(put(0, regions_[1], Bytes(bytes).first(kSizes[token % 3]), token), AccessResult::posted);
  for (std::uint64_t token = 0; token < kMany; ++token) ASSERT_EQ(end_of(0, token), Outcome::ok);
}

}  // namespace
}  // namespace weft::network::ibv
