#include "core/matching/table/match_key.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace weft::core {
namespace {

/// Keys in one bucket at most, and the part of all keys that find their bucket's three slots taken.
template <class Key>
void expect_spread(std::uint32_t count, const Key& key, const std::string& what) {
  constexpr std::uint32_t kBits = 14;
  std::vector<std::uint32_t> load(std::size_t{1} << kBits);
  for (std::uint32_t index = 0; index < count; ++index) ++load[bucket_of(key(index), (1U << kBits) - 1)];
  std::uint32_t largest = 0;
  std::uint32_t spilled = 0;
  for (const std::uint32_t keys : load) {
    largest = std::max(largest, keys);
    spilled += keys > 3 ? keys - 3 : 0;
  }
  EXPECT_LE(largest, 9U) << what;
  EXPECT_LE(spilled, count / 6) << what;
}

constexpr std::uint32_t kKeys = 8192;

TEST(MatchBucket, has_one_key_in_a_bucket_when_tags_are_consecutive) {
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{12'345}, ~std::uint64_t{0} - 9000}) {
    std::vector<std::uint32_t> load(1 << 14);
    for (std::uint32_t index = 0; index < kKeys; ++index)
      ++load[bucket_of({first + index, 3, 1}, (1U << 14) - 1)];
    // Where the bits above the lowest 14 change, the window moves: two keys may meet.
    EXPECT_LE(*std::max_element(load.begin(), load.end()), 2U);
  }
}

TEST(MatchBucket, spreads_strided_tags) {
  for (std::uint64_t stride = 1; stride <= 1 << 20; stride = stride < 300 ? stride + 1 : stride + stride / 3)
    expect_spread(
        kKeys,
        [&](std::uint32_t i) {
          return MatchKey{i * stride, 0, 0};
        },
        "stride " + std::to_string(stride));
  for (std::uint32_t shift = 0; shift <= 50; ++shift)
    expect_spread(
        kKeys,
        [&](std::uint32_t i) {
          return MatchKey{std::uint64_t{i} << shift, 0, 0};
        },
        "stride 2^" + std::to_string(shift));
}

TEST(MatchBucket, spreads_many_sources_with_few_or_many_tags) {
  for (std::uint32_t sources = 0; sources <= 13; ++sources)
    for (std::uint32_t shift = 0; shift <= 30; ++shift)
      expect_spread(
          kKeys,
          [&](std::uint32_t i) {
            return MatchKey{std::uint64_t{i >> sources} << shift, i & ((1U << sources) - 1), 0};
          },
          "2^" + std::to_string(sources) + " sources, tags << " + std::to_string(shift));
}

TEST(MatchBucket, spreads_tags_with_two_fields) {
  for (std::uint32_t low = 0; low <= 13; ++low)
    for (std::uint32_t shift = 13; shift <= 50; ++shift)
      expect_spread(
          kKeys,
          [&](std::uint32_t i) {
            return MatchKey{std::uint64_t{i >> low} << shift | (i & ((1U << low) - 1)), 0, 0};
          },
          std::to_string(low) + " low bits, the rest << " + std::to_string(shift));
}

TEST(MatchBucket, spreads_random_keys) {
  std::mt19937_64 random(1);
  expect_spread(
      kKeys,
      [&](std::uint32_t) {
        return MatchKey{random(), static_cast<std::uint32_t>(random()), 2};
      },
      "random");
}

}  // namespace
}  // namespace weft::core
