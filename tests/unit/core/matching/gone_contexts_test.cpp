// The contexts that have ended last: which numbers are known, and that nobody asks in vain meanwhile.
#include "core/matching/gone_contexts.hpp"
#include "core/matching/matching_contexts.hpp"

#include "unit/core/matching/some_runtime.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace weft::core {
namespace {

constexpr std::uint32_t kNumbers = std::uint32_t{1} << 30;  // of a rank
constexpr std::uint32_t kAtATime = 1024;

TEST(GoneContexts, are_known_by_each_of_their_numbers) {
  GoneContexts gone(kNumbers);
  for (const std::uint32_t first : {0U, 64U, 1U << 20, kNumbers - 16}) gone.add({first, 11});
  for (const std::uint32_t first : {0U, 64U, 1U << 20, kNumbers - 16})
    for (std::uint32_t part = 0; part < 16; ++part) {
      EXPECT_EQ(gone.has(first + part), part < 11) << first << " " << part;
      if (part < 11) {
        EXPECT_TRUE(gone.may_have(first + part)) << first << " " << part;
      }
    }
}

TEST(GoneContexts, of_blocks_that_lie_anyhow_are_known) {
  GoneContexts gone(kNumbers);
  gone.add({13, 7});
  for (std::uint32_t number = 0; number < 40; ++number) {
    EXPECT_EQ(gone.has(number), number >= 13 && number < 20) << number;
    EXPECT_TRUE(gone.may_have(number) || !gone.has(number)) << number;
  }
}

TEST(GoneContexts, do_not_slow_down_those_of_other_ranks_or_of_keys) {
  GoneContexts gone(kNumbers);
  for (std::uint32_t number = 0; number < 500; ++number) gone.add({number, 1});
  std::uint32_t of_others = 0;
  for (std::uint32_t number = 0; number < 500; ++number) {
    EXPECT_FALSE(gone.may_have(detail::kContextByKey | number)) << number;
    of_others += gone.may_have(kNumbers + number) ? 1 : 0;  // of another rank
    of_others += gone.may_have(16'384 + number) ? 1 : 0;    // younger ones
    of_others += gone.may_have(1'000'000 + number) ? 1 : 0;
  }
  EXPECT_LT(of_others, 1500 / 20);
}

TEST(GoneContexts, that_are_large_do_not_slow_down_all_others) {
  GoneContexts gone(kNumbers);
  gone.add({1U << 24, 1U << 24});
  gone.add({1U << 20, 100'000});
  std::uint32_t others = 0;
  for (std::uint32_t number = 0; number < 1000; ++number) others += gone.may_have(number) ? 1 : 0;
  EXPECT_LT(others, 50U);
  EXPECT_TRUE(gone.may_have((1U << 25) - 1) && gone.has((1U << 25) - 1));
  EXPECT_TRUE(gone.may_have((1U << 20) + 99'999) && gone.has((1U << 20) + 99'999));
}

TEST(GoneContexts, are_forgotten_before_their_numbers_are_given_again) {
  constexpr std::uint32_t kFew = 2048;
  GoneContexts gone(kFew);
  for (std::uint32_t number = 0; number < kFew; ++number) {
    gone.add({number, 1});
    EXPECT_TRUE(gone.has(number));
  }
  EXPECT_FALSE(gone.has(kFew / 2));
  EXPECT_TRUE(gone.has(kFew - 1) && gone.has(kFew - kFew / 4));
  gone.add({0, kFew});
  EXPECT_FALSE(gone.has(0)) << "all of them are given again next";
}

TEST(GoneContexts, are_marked_as_long_as_they_are_known) {
  GoneContexts gone(kNumbers);
  for (std::uint32_t last = 0; last < 3 * kAtATime; ++last) {
    gone.add({last, 1});
    if (last % (kAtATime / 4) != kAtATime / 4 - 1)
      continue;  // marks are made anew at the end of some of these
    for (std::uint32_t number = 0; number <= last; ++number)
      ASSERT_TRUE(gone.may_have(number) || !gone.has(number)) << number << " of " << last;
  }
}

TEST(GoneContexts, that_end_while_a_message_is_stored_are_noticed_behind_it) {
  GoneContexts gone(kNumbers);
  gone.add({1, 1});
  const std::uint32_t before = gone.ended();
  EXPECT_FALSE(gone.has_ended_more(before));
  gone.add({2, 1});
  EXPECT_TRUE(gone.has_ended_more(before));
  EXPECT_FALSE(gone.has_ended_more(gone.ended()));
}

TEST(GoneContexts, are_known_at_every_moment_while_others_end) {
  GoneContexts gone(kNumbers);
  std::atomic<std::uint32_t> newest{0};
  std::atomic<bool> is_over{false};
  std::atomic<std::uint32_t> missed{0};
  gone.add({0, 1});
  std::thread asking([&] {
    while (!is_over.load(std::memory_order_relaxed)) {
      const std::uint32_t number = newest.load(std::memory_order_acquire);
      // It may be forgotten when so many have ended since.
      if (!gone.may_have(number) && newest.load(std::memory_order_acquire) - number < kAtATime / 2)
        missed.fetch_add(1, std::memory_order_relaxed);
    }
  });
  for (std::uint32_t number = 1; number < 200 * kAtATime; ++number) {
    gone.add({number, 1});
    newest.store(number, std::memory_order_release);
  }
  is_over = true;
  asking.join();
  EXPECT_EQ(missed.load(), 0U);
}

constexpr std::uint64_t word_of(std::uint32_t number) noexcept { return std::uint64_t{number} << 32; }

TEST(GoneContexts, in_use_again_are_not_late_and_those_beside_them_are) {
  MatchingContexts contexts(2);
  const ContextNumbers numbers{64, 16};
  detail::ContextState& first = contexts.open(some_runtime(), numbers, {});
  EXPECT_FALSE(contexts.is_late(word_of(64)));
  EXPECT_TRUE(contexts.begin_to_close(first));
  EXPECT_TRUE(contexts.is_late(word_of(64))) << "before it is closed";
  contexts.close(first);
  EXPECT_TRUE(contexts.is_late(word_of(79)));
  detail::ContextState& again = contexts.open(some_runtime(), {64, 1}, {});
  EXPECT_FALSE(contexts.is_late(word_of(64)));
  EXPECT_TRUE(contexts.is_late(word_of(65)));
  EXPECT_TRUE(contexts.begin_to_close(again));
  EXPECT_TRUE(contexts.is_late(word_of(64)));
  contexts.close(again);
}

TEST(GoneContexts, of_keys_are_never_late) {
  MatchingContexts contexts(2);
  detail::ContextState& state = contexts.open(some_runtime(), {detail::kContextByKey | 7, 1}, {});
  EXPECT_FALSE(contexts.begin_to_close(state));
  contexts.close(state);
  EXPECT_FALSE(contexts.is_late(word_of(detail::kContextByKey | 7)));
}

}  // namespace
}  // namespace weft::core
