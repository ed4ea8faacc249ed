#include "core/matching/match_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace weft::core {
namespace {

struct Item : MatchLink {
  int number = 0;
};
using Table = MatchTable<Item>;
using Answer = Table::Answer;
constexpr auto kPosted = MatchSide::posted;
constexpr auto kUnexpected = MatchSide::unexpected;

constexpr MatchSide other(MatchSide side) { return side == kPosted ? kUnexpected : kPosted; }
constexpr auto always = [] { return true; };
constexpr auto none = []() -> Item* { return nullptr; };

class MatchTableTest : public testing::TestWithParam<bool> {
 protected:
  Table& table(std::uint32_t buckets = 16, std::uint32_t overflow = 0) {
    table_ = std::make_unique<Table>(buckets, GetParam(), overflow);
    return *table_;
  }
  Item* item(int number) {
    items_.emplace_back().number = number;
    return &items_.back();
  }
  /// Links a new record that must find no partner.
  Item* keep(Table& table, MatchSide side, const MatchKey& key, int number) {
    const auto result = table.pair(side, key, [&] { return item(number); });
    EXPECT_EQ(result.answer, Answer::kept);
    return result.record;
  }
  /// The table whose locks this thread may enter without asking others, which the inlined parts need.
  Table& decided_table(std::uint32_t buckets = 16) {
    Table& decided = table(buckets);
    for (int visit = 0; visit < 100; ++visit)
      EXPECT_EQ(decided.pair(kUnexpected, {0, 0, 0}, none).answer, Answer::exhausted);
    return decided;
  }
  template <MatchSide kSide>
  static Item* take_first(Table& table, const MatchKey& key) {
    return GetParam() ? table.take_first<detail::NoLock, kSide>(key)
                      : table.take_first<detail::TryLock, kSide>(key);
  }
  template <MatchSide kSide>
  static bool add_first(Table& table, const MatchKey& key, Item& added) {
    return add_first_made<kSide>(table, key, [&] { return &added; });
  }
  template <MatchSide kSide, class Make>
  static bool add_first_made(Table& table, const MatchKey& key, const Make& make) {
    return GetParam() ? table.add_first<detail::NoLock, kSide>(key, make)
                      : table.add_first<detail::TryLock, kSide>(key, make);
  }
  /// Takes the oldest of the side that is not kSide up to `most`, and gives their numbers.
  template <MatchSide kSide>
  static std::vector<int> take_first_while(Table& table, const MatchKey& key, std::size_t most) {
    std::vector<int> numbers;
    Table::Finder finder(table, key.origin(), key.tag);
    const auto wants = [&](const Item&) { return numbers.size() < most; };
    const auto take = [&](Item& taken) {
      numbers.push_back(taken.number);
      EXPECT_FALSE(taken.is_linked()) << "it may go to others now";
    };
    const std::uint32_t count =
        GetParam() ? table.take_first_while<detail::NoLock, kSide>(key, finder, wants, take)
                   : table.take_first_while<detail::TryLock, kSide>(key, finder, wants, take);
    EXPECT_EQ(count, numbers.size());
    return numbers;
  }
  /// The number of the partner that a record of `side` finds, or -1.
  static int partner(Table& table, MatchSide side, const MatchKey& key) {
    const auto result = table.pair(side, key, none);
    return result.answer == Answer::matched ? result.record->number : -1;
  }

 private:
  std::unique_ptr<Table> table_;
  std::deque<Item> items_;
};
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

TEST_P(MatchTableTest, gives_the_oldest_of_a_first_slot_by_the_inlined_part) {
  Table& t = decided_table();
  keep(t, kPosted, {5, 2, 0}, 1);
  keep(t, kPosted, {5, 2, 0}, 2);
  for (const int number : {1, 2}) {
    Item* taken = take_first<kUnexpected>(t, {5, 2, 0});
    ASSERT_NE(taken, nullptr);
    EXPECT_EQ(taken->number, number);
  }
  EXPECT_EQ((take_first<kUnexpected>(t, {5, 2, 0})), nullptr) << "the bucket is empty";
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), -1);
}

TEST_P(MatchTableTest, gives_several_of_a_first_slot_as_long_as_they_are_wanted) {
  using Numbers = std::vector<int>;
  Table& t = decided_table(1);
  std::vector<Item*> items;
  for (int number = 0; number < 6; ++number) items.push_back(keep(t, kPosted, {5, 2, 0}, number));
  keep(t, kPosted, {6, 2, 0}, 77);
  EXPECT_EQ(take_first_while<kUnexpected>(t, {5, 2, 0}, 0), Numbers());
  EXPECT_EQ(take_first_while<kUnexpected>(t, {5, 2, 0}, 2), (Numbers{0, 1}));
  EXPECT_EQ(take_first_while<kUnexpected>(t, {6, 2, 0}, 9), Numbers()) << "the second slot";
  EXPECT_EQ(take_first_while<kUnexpected>(t, {5, 3, 0}, 9), Numbers()) << "another source";
  EXPECT_EQ(take_first_while<kPosted>(t, {5, 2, 0}, 9), Numbers()) << "its own side";
  // What is left is whole: at its front, inside, and at its end.
  EXPECT_TRUE(t.unlink(*items[4], always));
  EXPECT_FALSE(t.unlink(*items[1], always));
  keep(t, kPosted, {5, 2, 0}, 6);
  EXPECT_EQ(take_first_while<kUnexpected>(t, {5, 2, 0}, 1), (Numbers{2}));
  EXPECT_EQ(take_first_while<kUnexpected>(t, {5, 2, 0}, 9), (Numbers{3, 5, 6}));
  EXPECT_EQ(take_first_while<kUnexpected>(t, {5, 2, 0}, 9), Numbers());
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), -1);
  keep(t, kPosted, {5, 2, 0}, 8);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), 8) << "the slot is used again";
  EXPECT_EQ(partner(t, kUnexpected, {6, 2, 0}), 77);
}

TEST_P(MatchTableTest, lets_go_of_what_it_gives_before_it_gives_it) {
  Table& t = decided_table(1);
  for (int number = 0; number < 4; ++number) keep(t, kPosted, {5, 2, 0}, number);
  // Another table, as another bucket under another thread: the record is linked anew while others are taken.
  Table other(16, GetParam());
  Table::Finder finder(t, MatchKey{5, 2, 0}.origin(), 5);
  int taken = 0;
  const auto wants = [&](const Item&) { return taken < 3; };
  const auto take = [&](Item& item) {
    ++taken;
    ASSERT_EQ(other.pair(kPosted, {9, 1, 0}, [&] { return &item; }).answer, Answer::kept);
  };
  ASSERT_EQ((GetParam() ? t.take_first_while<detail::NoLock, kUnexpected>({5, 2, 0}, finder, wants, take)
                        : t.take_first_while<detail::TryLock, kUnexpected>({5, 2, 0}, finder, wants, take)),
            3U);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), 3);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), -1);
  for (int number = 0; number < 3; ++number) EXPECT_EQ(partner(other, kUnexpected, {9, 1, 0}), number);
}

TEST_P(MatchTableTest, leaves_to_pair_what_is_not_in_a_first_slot) {
  Table& t = decided_table(1);
  keep(t, kPosted, {5, 2, 0}, 1);
  keep(t, kPosted, {6, 2, 0}, 2);
  keep(t, kUnexpected, {7, 2, 0}, 3);
  EXPECT_EQ((take_first<kUnexpected>(t, {6, 2, 0})), nullptr) << "the second slot";
  EXPECT_EQ((take_first<kUnexpected>(t, {5, 3, 0})), nullptr) << "another source";
  EXPECT_EQ((take_first<kPosted>(t, {5, 2, 0})), nullptr) << "its own side";
  EXPECT_EQ(partner(t, kUnexpected, {6, 2, 0}), 2);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), 1);
  EXPECT_EQ(partner(t, kPosted, {7, 2, 0}), 3);
}

TEST_P(MatchTableTest, links_to_an_empty_bucket_or_behind_the_same_key_by_the_inlined_part) {
  Table& t = decided_table(1);
  ASSERT_TRUE((add_first<kPosted>(t, {5, 2, 0}, *item(1))));
  ASSERT_TRUE((add_first<kPosted>(t, {5, 2, 0}, *item(2))));
  EXPECT_FALSE((add_first<kPosted>(t, {6, 2, 0}, *item(3)))) << "another key";
  EXPECT_FALSE((add_first<kUnexpected>(t, {5, 2, 0}, *item(4)))) << "its partner waits";
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), 1);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), 2);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), -1);
}

TEST_P(MatchTableTest, asks_for_a_record_by_the_inlined_part_only_where_it_has_room) {
  Table& t = decided_table(1);
  int made = 0;
  const auto make = [&] {
    ++made;
    return item(made);
  };
  const auto make_none = [&]() -> Item* {
    ++made;
    return nullptr;
  };
  EXPECT_FALSE((add_first_made<kPosted>(t, {5, 2, 0}, make_none))) << "nothing to link";
  EXPECT_EQ(made, 1);
  EXPECT_TRUE((add_first_made<kPosted>(t, {5, 2, 0}, make)));
  EXPECT_FALSE((add_first_made<kPosted>(t, {5, 2, 0}, make_none))) << "nothing to link behind the first";
  EXPECT_EQ(made, 3);
  EXPECT_FALSE((add_first_made<kPosted>(t, {6, 2, 0}, make))) << "another key";
  EXPECT_FALSE((add_first_made<kUnexpected>(t, {5, 2, 0}, make))) << "its partner waits";
  EXPECT_EQ(made, 3);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), 2);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), -1);
}

TEST_P(MatchTableTest, unlinks_what_the_inlined_part_has_linked) {
  Table& t = decided_table();
  Item* first = item(1);
  ASSERT_TRUE((add_first<kPosted>(t, {5, 2, 0}, *first)));
  EXPECT_EQ(first->key(), (MatchKey{5, 2, 0}));
  EXPECT_TRUE(t.unlink(*first, always));
  EXPECT_FALSE(t.unlink(*first, always));
  ASSERT_TRUE((add_first<kPosted>(t, {5, 2, 0}, *first)));
  EXPECT_EQ((take_first<kUnexpected>(t, {5, 2, 0})), first);
  EXPECT_FALSE(t.unlink(*first, always));
}

TEST(MatchTable, leaves_to_pair_what_threads_may_enter_is_undecided) {
  Table table(16, false);
  Item item;
  EXPECT_FALSE((table.add_first<detail::TryLock, kPosted>({5, 2, 0}, [&] { return &item; })));
  ASSERT_EQ(table.pair(kPosted, {5, 2, 0}, [&] { return &item; }).answer, Answer::kept);
  EXPECT_EQ((table.take_first<detail::TryLock, kUnexpected>({5, 2, 0})), nullptr);
  EXPECT_EQ(table.pair(kUnexpected, {5, 2, 0}, none).record, &item);
}

}  // namespace
}  // namespace weft::core
