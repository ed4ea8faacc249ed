#include "unit/core/matching/match_table_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace weft::core {
namespace {

INSTANTIATE_TEST_SUITE_P(table, MatchTableTest, testing::Bool(),
                         [](const auto& serial) { return serial.param ? "serial" : "shared"; });

TEST_P(MatchTableTest, pairs_the_two_sides_of_a_key_whoever_comes_first) {
  for (const MatchSide side : {kPosted, kUnexpected}) {
    Table& t = table();
    Item* first = keep(t, side, {5, 2, 1}, 7);
    EXPECT_EQ(first->key(), (MatchKey{5, 2, 1}));
    bool made = false;
    const auto result = t.pair(other(side), {5, 2, 1}, [&] {
      made = true;
      return nullptr;
    });
    EXPECT_EQ(result.answer, Answer::matched);
    EXPECT_EQ(result.record, first);
    EXPECT_FALSE(made) << "a partner that is there needs no record";
    EXPECT_EQ(partner(t, other(side), {5, 2, 1}), -1);
  }
}

TEST_P(MatchTableTest, compares_tag_source_and_policy) {
  Table& t = table();
  keep(t, kPosted, {5, 2, 1}, 1);
  for (const MatchKey& key : {MatchKey{6, 2, 1}, MatchKey{5, 3, 1}, MatchKey{5, 2, 2}, MatchKey{5, 1, 2},
                              MatchKey{5 + (std::uint64_t{1} << 63), 2, 1}, MatchKey{}})
    EXPECT_EQ(partner(t, kUnexpected, key), -1);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 1}), 1);
}

TEST_P(MatchTableTest, keeps_keys_with_one_tag_apart) {
  Table& t = table(2);
  constexpr std::uint32_t kSources = 3'000;
  for (std::uint32_t source = 0; source < kSources; ++source)
    keep(t, kPosted, {1, source, 0}, static_cast<int>(source));
  for (const std::uint32_t source : {0U, 1U, 1'024U, kSources - 1})
    EXPECT_EQ(partner(t, kUnexpected, {1, source, 0}), static_cast<int>(source));
}

TEST_P(MatchTableTest, hands_out_records_of_one_key_oldest_first) {
  Table& t = table();
  for (const MatchSide side : {kPosted, kUnexpected}) {
    for (int number = 0; number < 64; ++number) keep(t, side, {9, 0, 0}, number);
    for (int number = 0; number < 64; ++number) EXPECT_EQ(partner(t, other(side), {9, 0, 0}), number);
    EXPECT_EQ(partner(t, other(side), {9, 0, 0}), -1);
  }
}

TEST_P(MatchTableTest, is_exhausted_without_effect_when_there_is_no_record) {
  Table& t = table(2, 1);
  EXPECT_EQ(t.pair(kPosted, {1, 0, 0}, none).answer, Answer::exhausted);
  keep(t, kPosted, {1, 0, 0}, 1);
  EXPECT_EQ(t.pair(kPosted, {1, 0, 0}, none).answer, Answer::exhausted);
  EXPECT_EQ(t.pair(kPosted, {3, 0, 0}, none).answer, Answer::exhausted);
  EXPECT_EQ(partner(t, kUnexpected, {1, 0, 0}), 1);
  EXPECT_EQ(partner(t, kUnexpected, {1, 0, 0}), -1);
}

TEST_P(MatchTableTest, is_exhausted_without_effect_when_there_is_no_room_for_a_key) {
  Table& t = table(2, 2);
  std::vector<std::uint64_t> kept;
  bool made = false;
  for (std::uint64_t tag = 0; tag < 100; ++tag) {
    const auto result = t.pair(kPosted, {tag, 0, 0}, [&] {
      made = true;
      return item(static_cast<int>(tag));
    });
    if (result.answer == Answer::kept) {
      kept.push_back(tag);
    } else {
      EXPECT_EQ(result.answer, Answer::exhausted);
      EXPECT_FALSE(made) << "room is looked for before a record is made";
    }
    made = false;
  }
  EXPECT_EQ(kept.size(), 12U);  // three in each of two buckets and two further ones
  for (const std::uint64_t tag : kept) EXPECT_EQ(partner(t, kUnexpected, {tag, 0, 0}), static_cast<int>(tag));
  for (const std::uint64_t tag : kept) EXPECT_EQ(partner(t, kUnexpected, {tag, 0, 0}), -1);
}

TEST_P(MatchTableTest, uses_overflow_again) {
  Table& t = table(2, 4);
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> tags;
    for (std::uint64_t tag = random() % 1000; tags.size() < 10; tag += 2) tags.push_back(tag);
    for (const std::uint64_t tag : tags) keep(t, kPosted, {tag, 0, 0}, static_cast<int>(tag));
    std::shuffle(tags.begin(), tags.end(), random);
    for (const std::uint64_t tag : tags)
      ASSERT_EQ(partner(t, kUnexpected, {tag, 0, 0}), static_cast<int>(tag));
  }
}

TEST_P(MatchTableTest, unlinks_from_every_place_of_a_queue) {
  for (std::size_t removed = 0; removed < 4; ++removed) {
    Table& t = table();
    std::vector<Item*> items;
    for (int number = 0; number < 4; ++number) items.push_back(keep(t, kPosted, {3, 1, 0}, number));
    EXPECT_TRUE(t.unlink(*items[removed], always));
    EXPECT_FALSE(t.unlink(*items[removed], always));
    for (int number = 0; number < 4; ++number) {
      if (static_cast<std::size_t>(number) != removed) {
        EXPECT_EQ(partner(t, kUnexpected, {3, 1, 0}), number);
      }
    }
    EXPECT_EQ(partner(t, kUnexpected, {3, 1, 0}), -1);
  }
}

TEST_P(MatchTableTest, unlinks_nothing_that_is_not_linked_or_in_another_use) {
  Table& t = table();
  Item* fresh = item(0);
  EXPECT_FALSE(t.unlink(*fresh, always));
  Item* kept = keep(t, kPosted, {3, 1, 0}, 1);
  EXPECT_FALSE(t.unlink(*kept, [] { return false; }));
  EXPECT_EQ(partner(t, kUnexpected, {3, 1, 0}), 1);
  EXPECT_FALSE(t.unlink(*kept, always));
}

TEST_P(MatchTableTest, probes_and_takes_the_oldest_of_one_side) {
  Table& t = table();
  EXPECT_FALSE(t.visit_oldest(kUnexpected, {4, 0, 0}, [](Item&) {}));
  EXPECT_EQ(t.take(kUnexpected, {4, 0, 0}), nullptr);
  keep(t, kUnexpected, {4, 0, 0}, 1);
  keep(t, kUnexpected, {4, 0, 0}, 2);
  EXPECT_FALSE(t.visit_oldest(kPosted, {4, 0, 0}, [](Item&) {}));
  EXPECT_EQ(t.take(kPosted, {4, 0, 0}), nullptr);
  int seen = 0;
  EXPECT_TRUE(t.visit_oldest(kUnexpected, {4, 0, 0}, [&](Item& oldest) { seen = oldest.number; }));
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(t.take(kUnexpected, {4, 0, 0})->number, 1);
  EXPECT_EQ(partner(t, kPosted, {4, 0, 0}), 2);
}

TEST_P(MatchTableTest, clears_everything_with_its_side) {
  Table& t = table(2, 40);
  std::map<int, MatchSide> kept;
  for (int number = 0; number < 60; ++number) {
    const MatchSide side = number % 3 == 0 ? kUnexpected : kPosted;
    keep(t, side, {static_cast<std::uint64_t>(number / 2 * 2), static_cast<std::uint32_t>(side), 0}, number);
    kept[number] = side;
  }
  t.clear([&](Item& cleared, MatchSide side) {
    ASSERT_EQ(kept.count(cleared.number), 1U);
    EXPECT_EQ(kept[cleared.number], side);
    kept.erase(cleared.number);
    EXPECT_FALSE(t.unlink(cleared, [] { return false; }));
  });
  EXPECT_TRUE(kept.empty());
  for (int number = 0; number < 60; ++number)
    EXPECT_EQ(partner(t, kUnexpected, {static_cast<std::uint64_t>(number), 0, 0}), -1);
}

TEST_P(MatchTableTest, agrees_with_a_simple_model_under_random_use) {
  Table& t = table(4, 200);
  std::mt19937 random(7);
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::deque<Item*>> model[2];
  int number = 0;
  for (int step = 0; step < 100'000; ++step) {
    const MatchKey key{random() % 40, static_cast<std::uint32_t>(random() % 3), 0};
    const std::pair place{key.tag, key.source};
    const bool unexpected = random() % 2 == 0;
    const MatchSide side = unexpected ? kUnexpected : kPosted;
    auto& own = model[unexpected ? 1 : 0][place];
    auto& theirs = model[unexpected ? 0 : 1][place];
    if (random() % 8 == 0 && !own.empty()) {
      const std::size_t which = random() % own.size();
      ASSERT_TRUE(t.unlink(*own[which], always));
      own.erase(own.begin() + static_cast<std::ptrdiff_t>(which));
      continue;
    }
    const auto result = t.pair(side, key, [&] { return item(number++); });
    if (theirs.empty()) {
      ASSERT_EQ(result.answer, Answer::kept);
      own.push_back(result.record);
    } else {
      ASSERT_EQ(result.answer, Answer::matched);
      ASSERT_EQ(result.record, theirs.front());
      theirs.pop_front();
    }
  }
}

TEST(MatchTable, answers_that_another_thread_is_in_the_bucket) {
  Table table(16, false);
  Item item;
  ASSERT_EQ(table.pair(kPosted, {1, 0, 0}, [&] { return &item; }).answer, Answer::kept);
  // visit() runs under the lock, as another thread would.
  table.visit_oldest(kPosted, {1, 0, 0}, [&](Item&) {
    EXPECT_EQ(table.pair(kUnexpected, {1, 0, 0}, none).answer, Answer::contended);
    EXPECT_EQ(table.pair(kPosted, {1, 0, 0}, none).answer, Answer::contended);
    EXPECT_EQ(table.pair(kPosted, {2, 0, 0}, none).answer, Answer::exhausted) << "another bucket is free";
  });
  EXPECT_EQ(table.pair(kUnexpected, {1, 0, 0}, none).record, &item);
}

}  // namespace
}  // namespace weft::core
