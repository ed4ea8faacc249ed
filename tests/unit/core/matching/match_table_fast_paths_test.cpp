// The parts of a match table that are inlined: nearly always enough, and otherwise without effect.
#include "unit/core/matching/match_table_fixture.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::core {
namespace {

using MatchTableShortWays = MatchTableTest;

INSTANTIATE_TEST_SUITE_P(table, MatchTableShortWays, testing::Bool(),
                         [](const auto& serial) { return serial.param ? "serial" : "shared"; });

TEST_P(MatchTableShortWays, gives_the_oldest_of_a_first_slot_by_the_inlined_part) {
  Table& t = decided_table();
  keep(t, kPosted, {5, 2, 0}, 1);
  keep(t, kPosted, {5, 2, 0}, 2);
  for (const int number : {1, 2}) {
    Item* taken = try_take<kUnexpected>(t, {5, 2, 0});
    ASSERT_NE(taken, nullptr);
    EXPECT_EQ(taken->number, number);
  }
  EXPECT_EQ((try_take<kUnexpected>(t, {5, 2, 0})), nullptr) << "the bucket is empty";
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), -1);
}

TEST_P(MatchTableShortWays, gives_several_of_a_first_slot_as_long_as_they_are_wanted) {
  using Numbers = std::vector<int>;
  Table& t = decided_table(1);
  std::vector<Item*> items;
  for (int number = 0; number < 6; ++number) items.push_back(keep(t, kPosted, {5, 2, 0}, number));
  keep(t, kPosted, {6, 2, 0}, 77);
  EXPECT_EQ(try_take_while<kUnexpected>(t, {5, 2, 0}, 0), Numbers());
  EXPECT_EQ(try_take_while<kUnexpected>(t, {5, 2, 0}, 2), (Numbers{0, 1}));
  EXPECT_EQ(try_take_while<kUnexpected>(t, {6, 2, 0}, 9), Numbers()) << "the second slot";
  EXPECT_EQ(try_take_while<kUnexpected>(t, {5, 3, 0}, 9), Numbers()) << "another source";
  EXPECT_EQ(try_take_while<kPosted>(t, {5, 2, 0}, 9), Numbers()) << "its own side";
  // What is left is whole: at its front, inside, and at its end.
  EXPECT_TRUE(t.unlink(*items[4], always));
  EXPECT_FALSE(t.unlink(*items[1], always));
  keep(t, kPosted, {5, 2, 0}, 6);
  EXPECT_EQ(try_take_while<kUnexpected>(t, {5, 2, 0}, 1), (Numbers{2}));
  EXPECT_EQ(try_take_while<kUnexpected>(t, {5, 2, 0}, 9), (Numbers{3, 5, 6}));
  EXPECT_EQ(try_take_while<kUnexpected>(t, {5, 2, 0}, 9), Numbers());
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), -1);
  keep(t, kPosted, {5, 2, 0}, 8);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), 8) << "the slot is used again";
  EXPECT_EQ(partner(t, kUnexpected, {6, 2, 0}), 77);
}

TEST_P(MatchTableShortWays, lets_go_of_what_it_gives_before_it_gives_it) {
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
  ASSERT_EQ((GetParam() ? t.try_take_while<detail::NoLock, kUnexpected>({5, 2, 0}, finder, wants, take)
                        : t.try_take_while<detail::TryLock, kUnexpected>({5, 2, 0}, finder, wants, take)),
            3U);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), 3);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), -1);
  for (int number = 0; number < 3; ++number) EXPECT_EQ(partner(other, kUnexpected, {9, 1, 0}), number);
}

TEST_P(MatchTableShortWays, leaves_to_pair_what_is_not_in_a_first_slot) {
  Table& t = decided_table(1);
  keep(t, kPosted, {5, 2, 0}, 1);
  keep(t, kPosted, {6, 2, 0}, 2);
  keep(t, kUnexpected, {7, 2, 0}, 3);
  EXPECT_EQ((try_take<kUnexpected>(t, {6, 2, 0})), nullptr) << "the second slot";
  EXPECT_EQ((try_take<kUnexpected>(t, {5, 3, 0})), nullptr) << "another source";
  EXPECT_EQ((try_take<kPosted>(t, {5, 2, 0})), nullptr) << "its own side";
  EXPECT_EQ(partner(t, kUnexpected, {6, 2, 0}), 2);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), 1);
  EXPECT_EQ(partner(t, kPosted, {7, 2, 0}), 3);
}

TEST_P(MatchTableShortWays, links_to_an_empty_bucket_or_behind_the_same_key_by_the_inlined_part) {
  Table& t = decided_table(1);
  ASSERT_TRUE((try_add<kPosted>(t, {5, 2, 0}, *item(1))));
  ASSERT_TRUE((try_add<kPosted>(t, {5, 2, 0}, *item(2))));
  EXPECT_FALSE((try_add<kPosted>(t, {6, 2, 0}, *item(3)))) << "another key";
  EXPECT_FALSE((try_add<kUnexpected>(t, {5, 2, 0}, *item(4)))) << "its partner waits";
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), 1);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), 2);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), -1);
}

TEST_P(MatchTableShortWays, asks_for_a_record_by_the_inlined_part_only_where_it_has_room) {
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
  EXPECT_FALSE((try_add_made<kPosted>(t, {5, 2, 0}, make_none))) << "nothing to link";
  EXPECT_EQ(made, 1);
  EXPECT_TRUE((try_add_made<kPosted>(t, {5, 2, 0}, make)));
  EXPECT_FALSE((try_add_made<kPosted>(t, {5, 2, 0}, make_none))) << "nothing to link behind the first";
  EXPECT_EQ(made, 3);
  EXPECT_FALSE((try_add_made<kPosted>(t, {6, 2, 0}, make))) << "another key";
  EXPECT_FALSE((try_add_made<kUnexpected>(t, {5, 2, 0}, make))) << "its partner waits";
  EXPECT_EQ(made, 3);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), 2);
  EXPECT_EQ(partner(t, kUnexpected, {5, 2, 0}), -1);
}

TEST_P(MatchTableShortWays, unlinks_what_the_inlined_part_has_linked) {
  Table& t = decided_table();
  Item* first = item(1);
  ASSERT_TRUE((try_add<kPosted>(t, {5, 2, 0}, *first)));
  EXPECT_EQ(first->key(), (MatchKey{5, 2, 0}));
  EXPECT_TRUE(t.unlink(*first, always));
  EXPECT_FALSE(t.unlink(*first, always));
  ASSERT_TRUE((try_add<kPosted>(t, {5, 2, 0}, *first)));
  EXPECT_EQ((try_take<kUnexpected>(t, {5, 2, 0})), first);
  EXPECT_FALSE(t.unlink(*first, always));
}

TEST(MatchTableShortWay, leaves_to_pair_what_threads_may_enter_is_undecided) {
  Table table(16, false);
  Item item;
  EXPECT_FALSE((table.try_add<detail::TryLock, kPosted>({5, 2, 0}, [&] { return &item; })));
  ASSERT_EQ(table.pair(kPosted, {5, 2, 0}, [&] { return &item; }).answer, Answer::kept);
  EXPECT_EQ((table.try_take<detail::TryLock, kUnexpected>({5, 2, 0})), nullptr);
  EXPECT_EQ(table.pair(kUnexpected, {5, 2, 0}, none).record, &item);
}

}  // namespace
}  // namespace weft::core
