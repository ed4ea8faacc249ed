// A match table of records with numbers, serial or shared.
#pragma once

#include "core/matching/table/match_table.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

namespace weft::core {

struct Item : MatchLink {
  int number = 0;
};
using Table = MatchTable<Item>;
using Answer = Table::Answer;
inline constexpr auto kPosted = MatchSide::posted;
inline constexpr auto kUnexpected = MatchSide::unexpected;

constexpr MatchSide other(MatchSide side) { return side == kPosted ? kUnexpected : kPosted; }
inline constexpr auto always = [] { return true; };
inline constexpr auto none = []() -> Item* { return nullptr; };

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
  static Item* try_take(Table& table, const MatchKey& key) {
    return GetParam() ? table.try_take<detail::NoLock, kSide>(key)
                      : table.try_take<detail::TryLock, kSide>(key);
  }
  template <MatchSide kSide>
  static bool try_add(Table& table, const MatchKey& key, Item& added) {
    return try_add_made<kSide>(table, key, [&] { return &added; });
  }
  template <MatchSide kSide, class Make>
  static bool try_add_made(Table& table, const MatchKey& key, const Make& make) {
    return GetParam() ? table.try_add<detail::NoLock, kSide>(key, make)
                      : table.try_add<detail::TryLock, kSide>(key, make);
  }
  /// Takes the oldest of the side that is not kSide up to `most`, and gives their numbers.
  template <MatchSide kSide>
  static std::vector<int> try_take_while(Table& table, const MatchKey& key, std::size_t most) {
    std::vector<int> numbers;
    Table::Finder finder(table, key.origin(), key.tag);
    const auto wants = [&](const Item&) { return numbers.size() < most; };
    const auto take = [&](Item& taken) {
      numbers.push_back(taken.number);
      EXPECT_FALSE(taken.is_linked()) << "it may go to others now";
    };
    const std::uint32_t count = GetParam()
                                    ? table.try_take_while<detail::NoLock, kSide>(key, finder, wants, take)
                                    : table.try_take_while<detail::TryLock, kSide>(key, finder, wants, take);
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

}  // namespace weft::core
