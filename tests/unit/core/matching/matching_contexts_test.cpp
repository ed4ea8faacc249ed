// The numbers of matching contexts: which rank gives them, when they are given again, what is refused.
#include "core/matching/matching_contexts.hpp"

#include "support/errors.hpp"
#include "unit/core/matching/some_runtime.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace weft::core {
namespace {

using detail::ContextState;
using test::error_of;
using test::expect_names;

constexpr int kManyRanks = 1 << 20;  // each gives 2^11 numbers
constexpr std::uint32_t kNumbersOfOne = 1 << 11;

TEST(MatchingContexts, of_different_ranks_have_different_numbers) {
  for (const int ranks : {1, 2, 3, 64, 1000, kManyRanks}) {
    std::set<std::uint32_t> seen;
    for (const int own : {0, 1, ranks / 2, ranks - 1}) {
      if (own >= ranks) continue;
      MatchingContexts contexts(ranks);
      for (int count = 0; count < 100; ++count) {
        const ContextNumbers numbers = contexts.reserve(own, 1);
        EXPECT_EQ(numbers.first & detail::kContextByKey, 0U) << "those are of keys";
        seen.insert(numbers.first);
      }
    }
    EXPECT_EQ(seen.size() % 100, 0U) << "of " << ranks << " ranks some have given the same number";
    EXPECT_EQ(seen.size(), ranks == 1 ? 100U : ranks <= 3 ? 200U + (ranks == 3 ? 100U : 0U) : 400U);
  }
}

TEST(MatchingContexts, a_number_is_given_again_when_all_others_have_been) {
  MatchingContexts contexts(kManyRanks);
  const ContextNumbers first = contexts.reserve(5, 1);
  contexts.give_back(first);
  for (std::uint32_t count = 1; count < kNumbersOfOne; ++count) {
    const ContextNumbers next = contexts.reserve(5, 1);
    ASSERT_NE(next.first, first.first) << "after " << count;
    contexts.give_back(next);
  }
  EXPECT_EQ(contexts.reserve(5, 1).first, first.first);
}

TEST(MatchingContexts, that_do_not_fit_behind_the_last_one_are_given_from_the_beginning) {
  MatchingContexts contexts(kManyRanks);
  for (std::uint32_t count = 0; count < kNumbersOfOne - 1; ++count)
    contexts.give_back(contexts.reserve(5, 1));
  EXPECT_EQ(contexts.reserve(5, 2).first, 5 * kNumbersOfOne) << "the numbers behind are those of rank 6";
}

TEST(MatchingContexts, numbers_that_are_in_use_are_passed_over) {
  MatchingContexts contexts(kManyRanks);
  std::vector<ContextNumbers> kept;
  for (int count = 0; count < 10; ++count) kept.push_back(contexts.reserve(0, count % 2 == 0 ? 1 : 4));
  std::set<std::uint32_t> in_use;
  for (const ContextNumbers& numbers : kept)
    for (std::uint32_t part = 0; part < numbers.count; ++part)
      EXPECT_TRUE(in_use.insert(numbers.first + part).second);
  for (std::uint32_t count = 0; count < 3 * kNumbersOfOne; ++count) {
    const ContextNumbers numbers = contexts.reserve(0, 1 + count % 8);
    for (std::uint32_t part = 0; part < numbers.count; ++part)
      ASSERT_EQ(in_use.count(numbers.first + part), 0U) << "after " << count;
    contexts.give_back(numbers);
  }
}

TEST(MatchingContexts, of_one_object_have_numbers_whose_lower_bits_are_their_parts) {
  MatchingContexts contexts(4);
  static_cast<void>(contexts.reserve(2, 1));
  for (const std::uint32_t count : {2U, 3U, 1000U, 1U << 20, MatchingContexts::kMost}) {
    const ContextNumbers numbers = contexts.reserve(2, count);
    EXPECT_EQ(numbers.count, count);
    EXPECT_EQ(numbers.first % std::bit_ceil(count), 0U) << count;
  }
}

TEST(MatchingContexts, are_refused_when_no_number_is_left) {
  MatchingContexts contexts(kManyRanks);
  std::vector<ContextNumbers> all;
  for (std::uint32_t count = 0; count < kNumbersOfOne; ++count) all.push_back(contexts.reserve(1, 1));
  expect_names(error_of([&] { static_cast<void>(contexts.reserve(1, 1)); }),
               {"rank 1", "2048", "destroy some first"});
  contexts.give_back(all[77]);
  EXPECT_EQ(contexts.reserve(1, 1).first, all[77].first);
  // Two that are free, but do not lie together.
  contexts.give_back(all[100]);
  contexts.give_back(all[103]);
  expect_names(error_of([&] { static_cast<void>(contexts.reserve(1, 2)); }), {"no 2 numbers"});
  contexts.give_back(all[102]);
  EXPECT_EQ(contexts.reserve(1, 2).first, all[102].first);
  for (const std::uint32_t count : {0U, MatchingContexts::kMost + 1})
    expect_names(error_of([&] { static_cast<void>(contexts.reserve(1, count)); }),
                 {"count", "out of range: 1 to 16777216"});
  expect_names(error_of([&] { static_cast<void>(contexts.reserve(1, 4096)); }), {"no 4096 numbers"});
}

TEST(MatchingContexts, that_overlap_are_refused) {
  MatchingContexts contexts(2);
  const std::uint32_t key = detail::kContextByKey | 100;
  ContextState& ten = contexts.open(some_runtime(), {key, 10}, {});
  for (const ContextNumbers& numbers :
       {ContextNumbers{key, 10}, {key, 1}, {key + 9, 1}, {key - 1, 2}, {key - 5, 100}, {key + 9, 5}})
    expect_names(error_of([&] { static_cast<void>(contexts.open(some_runtime(), numbers, {})); }),
                 {"is in use by", "choose another key"});
  ContextState& before = contexts.open(some_runtime(), {key - 1, 1}, {});
  ContextState& behind = contexts.open(some_runtime(), {key + 10, 1}, {});
  contexts.close(ten);
  EXPECT_NE(contexts.first_open(), "");
  ContextState& again = contexts.open(some_runtime(), {key, 10}, {});
  EXPECT_EQ(&again, &ten) << "the memory serves another context";
  for (ContextState* state : {&before, &behind, &again}) contexts.close(*state);
  EXPECT_EQ(contexts.first_open(), "");
}

TEST(MatchingContexts, of_agreed_numbers_that_are_still_here_are_refused) {
  MatchingContexts contexts(2);
  ContextState& state = contexts.open(some_runtime(), {(1U << 30) + 7, 1}, {});  // given by rank 1
  expect_names(error_of([&] {
                 static_cast<void>(contexts.open(some_runtime(), {(1U << 30) + 7, 1}, {}));
               }),
               {"the number still", "rank 1"});
  contexts.close(state);
  MatchingContexts of_three(3);
  expect_names(error_of([&] {
                 static_cast<void>(of_three.open(some_runtime(), {3U << 29, 1}, {}));
               }),
               {"no rank has reserved"});
  expect_names(error_of([&] {
                 static_cast<void>(of_three.open(some_runtime(), {~0U, 1}, {}));
               }),
               {"no 1 numbers from here"});
  expect_names(error_of([&] {
                 static_cast<void>(of_three.open(some_runtime(), {~0U - 1, 3}, {}));
               }),
               {"no 3 numbers from here"});
}

TEST(MatchingContexts, take_reserved_numbers_as_they_were_reserved_or_not_at_all) {
  MatchingContexts contexts(2);
  const ContextNumbers numbers = contexts.reserve(1, 4);
  for (const ContextNumbers& others :
       {ContextNumbers{numbers.first, 1}, {numbers.first, 3}, {numbers.first + 1, 1}})
    expect_names(error_of([&] { static_cast<void>(contexts.open(some_runtime(), others, {})); }),
                 {"has the number still", "rank 1"});
  ContextState& state = contexts.open(some_runtime(), numbers, {});
  contexts.give_back(numbers);
  EXPECT_NE(contexts.first_open(), "") << "what is open is not given back";
  expect_names(error_of([&] { static_cast<void>(contexts.open(some_runtime(), numbers, {})); }),
               {"has the number still"});
  contexts.close(state);
}

TEST(MatchingContexts, learn_that_a_member_they_need_has_failed) {
  MatchingContexts contexts(4);
  const auto open = [&](std::uint32_t key, bool needs, std::vector<int> members) -> ContextState& {
    return contexts.open(some_runtime(), {detail::kContextByKey | key, 2},
                         {.needs_all_members = needs, .members = members});
  };
  ContextState& all = open(10, true, {});
  ContextState& with = open(20, true, {0, 3});
  ContextState& without = open(30, true, {0, 1});
  ContextState& careless = open(40, false, {0, 3});
  const auto lost = [&](std::uint32_t key) {
    return contexts.has_lost_a_member(detail::kContextByKey | key);
  };
  contexts.note_failures([](int) { return false; });
  EXPECT_FALSE(lost(10) || lost(20));
  contexts.note_failures([](int rank) { return rank == 3; });
  EXPECT_TRUE(lost(10) && lost(11) && lost(20) && lost(21));
  EXPECT_FALSE(lost(12) || lost(30) || lost(40) || lost(9));
  contexts.close(with);
  EXPECT_FALSE(lost(20));
  contexts.close(all);
  EXPECT_FALSE(lost(10));
  EXPECT_TRUE(contexts.any_needs_members());
  contexts.close(without);
  contexts.close(careless);
  EXPECT_FALSE(contexts.any_needs_members());
}

TEST(MatchingContexts, a_hundred_thousand_at_a_time_come_and_go) {
  MatchingContexts contexts(64);
  std::vector<ContextState*> states;
  for (int round = 0; round < 3; ++round) {
    for (int count = 0; count < 100'000; ++count)
      states.push_back(&contexts.open(some_runtime(), contexts.reserve(9, 1), {}));
    std::set<std::uint32_t> numbers;
    for (const ContextState* state : states) numbers.insert(state->first.load());
    EXPECT_EQ(numbers.size(), states.size());
    for (ContextState* state : states) contexts.close(*state);
    states.clear();
  }
}

}  // namespace
}  // namespace weft::core
