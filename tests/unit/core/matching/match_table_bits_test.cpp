// Every bit of a key counts: keys that differ in one bit only, and that share a bucket, are never taken for
// each other, by whichever function of the table.
#include "unit/core/matching/match_table_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace weft::core {
namespace {

using MatchTableBits = MatchTableTest;

INSTANTIATE_TEST_SUITE_P(table, MatchTableBits, testing::Bool(),
                         [](const auto& serial) { return serial.param ? "serial" : "shared"; });

constexpr std::uint32_t kTagBits = 64;
constexpr std::uint32_t kOriginBits = 64;  // source, then policy
constexpr MatchKey kBases[] = {
    {0, 0, 0}, {0x0123456789abcdef, 0x89abcdef, 3}, {~std::uint64_t{1}, 0xfffffffe, 0}};

/// The key with one bit changed: of its tag, then of its source, then of its policy.
MatchKey with_flipped(MatchKey key, std::uint32_t bit) {
  if (bit < kTagBits)
    key.tag ^= std::uint64_t{1} << bit;
  else if (bit < kTagBits + 32)
    key.source ^= std::uint32_t{1} << (bit - kTagBits);
  else
    key.policy ^= std::uint32_t{1} << (bit - kTagBits - 32);
  return key;
}

TEST_P(MatchTableBits, all_count_where_a_record_is_the_first_of_its_bucket) {
  Table& t = decided_table(1);
  for (const MatchKey& base : kBases)
    for (std::uint32_t bit = 0; bit < kTagBits + kOriginBits; ++bit) {
      const MatchKey other_key = with_flipped(base, bit);
      SCOPED_TRACE("bit " + std::to_string(bit));
      for (const MatchSide side : {kPosted, kUnexpected}) {
        Item* const kept = keep(t, side, base, 1);
        EXPECT_EQ(partner(t, other(side), other_key), -1) << "pair()";
        EXPECT_EQ(t.take(side, other_key), nullptr) << "take()";
        EXPECT_FALSE(t.visit_oldest(side, other_key, [](Item&) {})) << "visit_oldest()";
        EXPECT_EQ(t.compared(base), 1U);
        if (side == kPosted) {
          EXPECT_EQ((try_take<kUnexpected>(t, other_key)), nullptr) << "try_take()";
          EXPECT_TRUE((try_take_while<kUnexpected>(t, other_key, 9)).empty()) << "try_take_while()";
          EXPECT_FALSE((try_add<kPosted>(t, other_key, *item(2)))) << "try_add() behind another key";
        } else {
          EXPECT_EQ((try_take<kPosted>(t, other_key)), nullptr) << "try_take()";
          EXPECT_TRUE((try_take_while<kPosted>(t, other_key, 9)).empty()) << "try_take_while()";
          EXPECT_FALSE((try_add<kUnexpected>(t, other_key, *item(2)))) << "try_add() behind another key";
        }
        EXPECT_TRUE(t.unlink(*kept, always)) << "it is where it was";
      }
    }
}

TEST_P(MatchTableBits, all_count_wherever_a_record_is_in_its_bucket) {
  Table& t = table(1, 100);  // three places in the bucket, the others behind it
  for (const MatchKey& base : kBases) {
    keep(t, kPosted, base, 1000);
    std::vector<std::uint32_t> bits(kTagBits + kOriginBits);
    for (std::uint32_t bit = 0; bit < bits.size(); ++bit) {
      bits[bit] = bit;
      keep(t, kPosted, with_flipped(base, bit), static_cast<int>(bit));
    }
    std::shuffle(bits.begin(), bits.end(), std::mt19937(3));
    for (const std::uint32_t bit : bits) {
      ASSERT_EQ(partner(t, kUnexpected, with_flipped(base, bit)), static_cast<int>(bit)) << "bit " << bit;
      ASSERT_EQ(partner(t, kUnexpected, with_flipped(base, bit)), -1) << "bit " << bit;
    }
    EXPECT_EQ(partner(t, kUnexpected, base), 1000);
  }
}

/// Tags of 64 random bits, each also with one bit changed, of which many share a bucket.
std::vector<std::uint64_t> tags_of_a_bucket(std::uint32_t buckets, std::mt19937_64& random) {
  std::vector<std::uint64_t> tags;
  const std::uint64_t base = random();
  tags.push_back(base);
  for (std::uint32_t bit = 0; bit < kTagBits; ++bit) tags.push_back(base ^ std::uint64_t{1} << bit);
  // Others that meet the first in its bucket, wherever their bits are.
  const std::uint64_t home = bucket_of(MatchKey{base, 0, 0}, buckets - 1);
  while (tags.size() < 96)
    if (const std::uint64_t tag = random(); bucket_of(MatchKey{tag, 0, 0}, buckets - 1) == home)
      tags.push_back(tag);
  return tags;
}

/// The table against two lists, for keys that differ in few bits.
class Model {
 public:
  Model(Table& table, std::uint32_t buckets, std::uint64_t seed)
      : table_(table), random_(seed), tags_(tags_of_a_bucket(buckets, random_)) {
    const auto source = static_cast<std::uint32_t>(random_());
    sources_ = {source, source ^ 1U << random_() % 32, source ^ 1U << random_() % 32, 0};
  }
  MatchKey key() {
    return {tags_[random_() % tags_.size()], sources_[random_() % sources_.size()],
            static_cast<std::uint32_t>(random_() % 5)};
  }
  std::deque<Item*>& list(MatchSide side, const MatchKey& key) {
    for (auto& each : lists_)
      if (each.side == side && each.key == key) return each.items;
    return lists_.emplace_back(side, key, std::deque<Item*>{}).items;
  }
  Table& table() { return table_; }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

 private:
  struct List {
    MatchSide side;
    MatchKey key;
    std::deque<Item*> items;
  };
  Table& table_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> tags_;
  std::vector<std::uint32_t> sources_;
  std::deque<List> lists_;
};

TEST_P(MatchTableBits, agree_with_a_simple_model_by_every_function) {
  for (const std::uint32_t buckets : {1U, 16U, 1024U}) {
    SCOPED_TRACE(std::to_string(buckets) + " buckets");
    Model model(decided_table(buckets), buckets, buckets);
    Table& t = model.table();
    int number = 0;
    for (int step = 0; step < 15'000; ++step) {
      const MatchKey key = model.key();
      const MatchSide side = model.below(2) == 0 ? kPosted : kUnexpected;
      auto& own = model.list(side, key);
      auto& theirs = model.list(other(side), key);
      switch (model.below(8)) {
        case 0:
          if (own.empty()) break;
          ASSERT_TRUE(t.unlink(*own.back(), always));
          own.pop_back();
          break;
        case 1: {
          Item* const taken = side == kPosted ? try_take<kPosted>(t, key) : try_take<kUnexpected>(t, key);
          if (taken == nullptr) break;  // not the first of its bucket
          ASSERT_FALSE(theirs.empty());
          ASSERT_EQ(taken, theirs.front());
          theirs.pop_front();
          break;
        }
        case 2: {
          Item* const added = item(number++);
          if (side == kPosted ? !try_add<kPosted>(t, key, *added) : !try_add<kUnexpected>(t, key, *added))
            break;
          ASSERT_TRUE(theirs.empty());
          own.push_back(added);
          break;
        }
        case 3: {
          const Item* seen = nullptr;
          t.visit_oldest(side, key, [&](Item& oldest) { seen = &oldest; });
          ASSERT_EQ(seen, own.empty() ? nullptr : own.front());
          break;
        }
        case 4:
          ASSERT_EQ(t.take(side, key), own.empty() ? nullptr : own.front());
          if (!own.empty()) own.pop_front();
          break;
        default: {
          std::uint32_t depth = 0;
          const auto make = [&] { return item(number++); };
          const auto result = model.below(2) == 0 ? t.pair(side, key, make) : t.pair(side, key, make, depth);
          ASSERT_EQ(result.answer, theirs.empty() ? Answer::kept : Answer::matched);
          if (theirs.empty()) {
            own.push_back(result.record);
          } else {
            ASSERT_EQ(result.record, theirs.front());
            theirs.pop_front();
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::core
