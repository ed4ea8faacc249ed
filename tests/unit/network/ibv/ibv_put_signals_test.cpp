// Puts with signal over verbs: one write with immediate each, which is told once, whatever fails beside it.
#include "network/ibv/ibv_endpoint.hpp"
#include "support/ranks.hpp"
#include "unit/network/ibv/region_pair.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace weft::network::ibv {
namespace {

using network::test::Stage;
using weft::test::payload;
using weft::test::Ranks;

class IbvPutSignals : public RegionPair {
 protected:
  /// The immediates that a rank was told of, sorted.
  [[nodiscard]] std::vector<std::uint64_t> told(int rank) {
    std::vector<std::uint64_t> values;
    for (const auto& immediate : stage_.notes(rank).immediates) {
      EXPECT_EQ(immediate.peer, 1 - rank);
      EXPECT_EQ(immediate.bytes, kImmediateBytes);
      values.push_back(immediate.value);
    }
    std::ranges::sort(values);
    return values;
  }
};

TEST_F(IbvPutSignals, AreToldOnceBesideAccessesThatAreRefusedAtBothEnds) {
  constexpr std::uint64_t kPuts = 60;
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    Fabric::instance().set({.seed = seed, .refuse_sends = 5, .lose_datagrams = 3, .no_receiver = 7});
    Region stale[2] = {add(0, {2, static_cast<std::uint32_t>(seed)}),
                       add(1, {2, static_cast<std::uint32_t>(seed)})};
    for (const int rank : {0, 1}) remove(rank, stale[rank]);
    std::vector<std::vector<std::byte>> sources;
    for (const std::size_t size : kSizes) sources.push_back(payload(size, seed));
    const std::uint64_t first = seed * 1000;
    for (std::uint64_t token = first; token < first + kPuts; ++token)
      for (const int rank : {0, 1}) {
        const bool is_stale = token % 10 == static_cast<std::uint64_t>(rank);
        ASSERT_EQ(
            put(rank, is_stale ? stale[1 - rank] : regions_[1 - rank], sources[token % 3], token, &token),
            AccessResult::posted);
      }
    for (const int rank : {0, 1}) {
      std::vector<std::uint64_t> expected;
      for (std::uint64_t token = first; token < first + kPuts; ++token) {
        const bool is_stale = token % 10 == static_cast<std::uint64_t>(rank);
        EXPECT_EQ(end_of(rank, token), is_stale ? Outcome::refused : Outcome::ok) << token;
        if (!is_stale) expected.push_back(token);
      }
      EXPECT_TRUE(stage_.until([&] { return stage_.notes(1 - rank).immediates.size() >= expected.size(); }));
      EXPECT_EQ(told(1 - rank), expected);
      stage_.notes(1 - rank).immediates.clear();
    }
  }
  EXPECT_FALSE(stage_.port(0).has_left(1) || stage_.port(1).has_left(0));
}

TEST_F(IbvPutSignals, OfMorePutsThanThereAreBuffersArriveWhenTheOwnerPolls) {
  constexpr std::uint64_t kPuts = 400;
  const auto bytes = payload(8, 1);
  std::uint64_t token = 0;
  std::uint64_t refused = 0;
  // The owner does not poll until its receive buffers are used up.
  while (token < kPuts && refused < 1000) {
    stage_[0].poll();
    if (stage_.port(0).put(1, at(regions_[1]), bytes, &token, token) == AccessResult::posted)
      ++token;
    else if (token != 0)
      ++refused;
    else
      stage_[1].poll();
  }
  EXPECT_GT(token, Introductions::kForImmediates);
  EXPECT_LT(token, kPuts);
  for (; token < kPuts; ++token) ASSERT_EQ(put(0, regions_[1], bytes, token, &token), AccessResult::posted);
  EXPECT_TRUE(stage_.until([&] { return stage_.notes(1).immediates.size() == kPuts; }));
  std::vector<std::uint64_t> expected(kPuts);
  std::iota(expected.begin(), expected.end(), std::uint64_t{0});
  EXPECT_EQ(told(1), expected);
  // And messages find buffers as before.
  ASSERT_EQ(stage_.send(0, Stage::to(1, 9), payload(8, 9)), SendResult::sent);
  EXPECT_TRUE(stage_.until([&] { return stage_.notes(1).arrivals.size() == 2; }));
}

/// Puts with signal of a program, with an object under this id and this tag.
class IbvProgramSignals : public OverDouble {
 protected:
  /// Returns the work requests that a put of so many bytes takes, when all is connected.
  [[nodiscard]] std::uint64_t requests_of(std::size_t size, std::uint32_t id, std::uint32_t tag) {
    Ranks<> ranks(2, settings());
    weft::test::Recorder signals;
    const RemoteCompletion signal = ranks.runtime(1).expose(signals, {.id = id});
    std::vector<std::byte> memory(size);
    const MemoryRegion region(ranks.runtime(1), memory);
    EXPECT_TRUE(ranks.meet());
    const auto put = [&](std::size_t number) {
      const auto bytes = payload(size, number);
      Counter done;
      while (
          ranks.endpoint(0)
              .post_put(1, region.remote().at(0), bytes, {.completion = &done, .signal = signal, .tag = tag})
              .is_retry())
        ranks.progress();
      EXPECT_TRUE(
          ranks.progress_until([&] { return done.value() == 1 && signals.messages.size() == number; }));
      EXPECT_EQ(memory, bytes);
      EXPECT_EQ(signals.messages.back().tag(), tag);
      EXPECT_EQ(signals.messages.back().peer(), 0);
    };
    put(1);
    // Beside one or the other, credits may go back.
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t number = 2; number < 7; ++number) {
      const std::uint64_t before = Fabric::instance().requests();
      put(number);
      least = std::min(least, Fabric::instance().requests() - before);
    }
    return least;
  }
};

TEST_F(IbvProgramSignals, AreOneWorkRequestWithThePutWhereTheyFit) {
  for (const std::size_t size : {8U, 300U, 20'000U}) {
    SCOPED_TRACE(size);
    EXPECT_EQ(requests_of(size, 1, 0), 1U);
    EXPECT_EQ(requests_of(size, 0xff, 0xffff), 1U);
    EXPECT_EQ(requests_of(size, 0x100, 0), 2U);
    EXPECT_EQ(requests_of(size, 1, 0x10000), 2U);
  }
}

}  // namespace
}  // namespace weft::network::ibv
