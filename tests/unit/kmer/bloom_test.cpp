#include "count/bloom.hpp"

#include "kmer.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace kmer {
namespace {

std::uint64_t key(std::uint64_t i) { return hash_of(Kmer<1>{{i}}); }

TEST(Bloom, NeverForgetsAKeyThatWasAddedTwice) {
  BloomFilter filter(plan_bloom(0.05));
  filter.reset(1000);
  for (int round = 0; round < 2; ++round)
    for (std::uint64_t i = 0; i < 5000; ++i) filter.add(key(i));  // five times more than planned
  for (std::uint64_t i = 0; i < 5000; ++i) EXPECT_TRUE(filter.seen_twice(key(i)));
}

TEST(Bloom, KeepsItsRateOfFalsePositives) {
  for (const double rate : {0.2, 0.05, 0.01}) {
    constexpr std::uint64_t kKeys = 200'000;
    BloomFilter filter(plan_bloom(rate));
    filter.reset(kKeys);
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      filter.add_exclusive(key(i));
      filter.add_exclusive(key(i));
    }
    std::uint64_t wrong = 0;
    for (std::uint64_t i = kKeys; i < 2 * kKeys; ++i) wrong += filter.seen_twice(key(i)) ? 1 : 0;
    const double found = static_cast<double>(wrong) / kKeys;
    EXPECT_GT(found, 0.6 * rate);
    EXPECT_LT(found, 1.2 * rate);
  }
}

TEST(Bloom, TakesFewKeysSeenOnceForSeenAgain) {
  constexpr std::uint64_t kKeys = 200'000;
  BloomFilter filter(plan_bloom(0.05));
  filter.reset(kKeys);
  for (std::uint64_t i = 0; i < kKeys; ++i) filter.add_exclusive(key(i));
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < kKeys; ++i) wrong += filter.seen_twice(key(i)) ? 1 : 0;
  EXPECT_LT(static_cast<double>(wrong), 0.05 * kKeys);
}

TEST(Bloom, SeesWhatSeveralThreadsAddTogether) {
  constexpr std::uint64_t kKeys = 50'000;
  BloomFilter filter(plan_bloom(0.05));
  filter.reset(kKeys);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < kKeys; ++i) filter.add(key(i));
    });
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t i = 0; i < kKeys; ++i) EXPECT_TRUE(filter.seen_twice(key(i)));
}

TEST(Bloom, PlansMoreBitsForLowerRates) {
  double before = 0;
  for (const double rate : {0.5, 0.1, 0.05, 0.01, 0.001}) {
    const BloomPlan plan = plan_bloom(rate);
    EXPECT_LE(false_positive_rate(plan), rate);
    EXPECT_GT(plan.bits_per_key, before);
    EXPECT_LE(plan.hashes, kMostBloomHashes);
    before = plan.bits_per_key;
  }
}

}  // namespace
}  // namespace kmer
