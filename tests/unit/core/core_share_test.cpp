// What a thread learns of its core, from made-up yields and polls.
#include "core/wait/core_share.hpp"

#include "base/clock.hpp"
#include "core/wait/spin.hpp"

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

constexpr std::int64_t kAlone = 500;      // ns that a yield takes when nobody else wants the core
constexpr std::int64_t kSwitched = 2500;  // ... and when somebody does
constexpr std::int64_t kLongTurn = 300'000;
constexpr std::int64_t kLongTime = std::int64_t{1} << 60;
constexpr int kMany = 7;  // polls; fewer than come before the second look at the clock

/// How many polls in vain a wait makes that begins now, up to kMany.
int polls_of_a_wait(CoreShare& share) {
  Spin spin(kLongTime, share);
  int polls = 1;
  while (polls < kMany && spin.goes_on()) ++polls;
  return polls;
}

void yield(CoreShare& share, std::int64_t nanoseconds) { share.yielded(0, nanoseconds); }

void poll_empty(CoreShare& share, int times) {
  for (int time = 0; time < times; ++time) share.polled(false);
}

TEST(CoreShare, a_thread_has_its_core_for_itself_until_a_yield_lets_others_run) {
  CoreShare share;
  EXPECT_FALSE(share.is_shared());
  yield(share, kAlone);
  EXPECT_FALSE(share.is_shared());
  yield(share, kSwitched);
  EXPECT_TRUE(share.is_shared());
}

TEST(CoreShare, believes_that_it_is_alone_again_after_several_yields_that_let_nobody_run) {
  CoreShare share;
  yield(share, kSwitched);
  for (int time = 0; time < 3; ++time) yield(share, kAlone);
  EXPECT_TRUE(share.is_shared());
  yield(share, kSwitched);
  for (int time = 0; time < 4; ++time) yield(share, kAlone);
  EXPECT_FALSE(share.is_shared());
}

TEST(CoreShare, alone_it_polls_long_however_often_that_was_in_vain) {
  CoreShare share;
  poll_empty(share, 100);
  EXPECT_EQ(polls_of_a_wait(share), kMany);
  EXPECT_EQ(share.spin_budget(), CoreShare::kSpinBudget);
}

TEST(CoreShare, where_others_want_the_core_and_polls_are_in_vain_it_gives_way_soon_and_now_and_then_tries) {
  CoreShare share;
  yield(share, kSwitched);
  EXPECT_EQ(polls_of_a_wait(share), kMany) << "polls have not been in vain yet";
  poll_empty(share, 10);
  EXPECT_EQ(share.spin_budget(), CoreShare::kFewPolls);
  int long_waits = 0;
  for (int wait = 0; wait < 640; ++wait) {
    yield(share, kSwitched);
    const int polls = polls_of_a_wait(share);
    if (polls == kMany)
      ++long_waits;
    else
      EXPECT_EQ(polls, CoreShare::kFewPolls);
  }
  EXPECT_GE(long_waits, 5);
  EXPECT_LE(long_waits, 20);
}

TEST(CoreShare, polls_that_are_system_calls_are_few_where_others_want_the_core) {
  CoreShare share;
  yield(share, kSwitched);
  Spin spin(kLongTime, share);
  int polls = 0;
  do {
    ++polls;
    const std::int64_t until = base::now_ns() + CoreShare::kWorth;
    while (base::now_ns() < until) {
    }
  } while (spin.goes_on());
  EXPECT_LE(polls, 8);
}

TEST(CoreShare, polls_no_longer_than_a_switch_takes_but_for_trials) {
  CoreShare share;
  EXPECT_EQ(share.worth(5000), 5000) << "alone";
  yield(share, kSwitched);
  EXPECT_EQ(share.worth(5000), CoreShare::kWorth);
  EXPECT_EQ(share.worth(1000), 1000) << "what the attribute allows";
  yield(share, kLongTurn);
  EXPECT_EQ(share.worth(5000), 5000) << "the partner may be about to have its turn";
  share.polled(false);
  EXPECT_EQ(share.worth(5000), CoreShare::kWorth) << "one trial";
}

TEST(CoreShare, one_trial_that_finds_what_was_waited_for_gives_hope_and_one_spin_in_vain_takes_it) {
  CoreShare share;
  yield(share, kSwitched);
  poll_empty(share, 10);
  yield(share, kLongTurn);
  share.polled(true);
  EXPECT_EQ(share.spin_budget(), CoreShare::kSpinBudget);
  share.polled(false);
  EXPECT_EQ(share.spin_budget(), CoreShare::kFewPolls);
}

/// Whether it is told that its turn is over when it last came back so long ago.
bool is_told(CoreShare& share, std::int64_t ago, std::int64_t yield_took) {
  const std::int64_t back = base::now_ns() - ago;
  share.yielded(back - yield_took, back);
  for (std::uint32_t wait = 0; wait < CoreShare::kWaitsPerLook; ++wait)
    if (share.is_turn_over()) return true;
  return false;
}

TEST(CoreShare, whoever_has_not_yielded_for_long_is_told_that_it_is_others_turn) {
  CoreShare share;
  EXPECT_FALSE(is_told(share, 0, kAlone));
  EXPECT_TRUE(is_told(share, 2 * CoreShare::kTurnAlone, kAlone));
}

TEST(CoreShare, turns_are_shorter_where_others_want_the_core) {
  CoreShare share;
  EXPECT_FALSE(is_told(share, CoreShare::kTurnAlone / 2, kAlone));
  EXPECT_TRUE(is_told(share, CoreShare::kTurnAlone / 2, kSwitched));
}

TEST(CoreShare, four_short_spins_count_as_one_towards_sleeping) {
  CoreShare share;
  Spin patient(1, share);
  for (int spins = 0; spins < 8; ++spins) {
    while (patient.goes_on()) {
    }
    EXPECT_TRUE(patient.counts());
  }
  yield(share, kSwitched);
  poll_empty(share, 10);
  Spin hasty(kLongTime, share);
  int counted = 0;
  for (int spins = 0; spins < 8; ++spins) {
    while (hasty.goes_on()) {
    }
    counted += hasty.counts() ? 1 : 0;
  }
  EXPECT_EQ(counted, 2);
}

TEST(CoreShare, waits_that_polls_bring_to_their_ends_make_it_patient_again) {
  CoreShare share;
  yield(share, kSwitched);
  poll_empty(share, 10);
  for (int time = 0; time < 10; ++time) {
    Spin spin(kLongTime, share);
    ASSERT_TRUE(spin.goes_on());
    spin.end();
  }
  EXPECT_EQ(polls_of_a_wait(share), kMany);
}

TEST(CoreShare, what_is_there_at_once_after_others_have_run_says_nothing_of_polls) {
  CoreShare share;
  yield(share, kSwitched);
  poll_empty(share, 10);
  for (int time = 0; time < 100; ++time) {
    Spin spin(kLongTime, share);
    spin.end();
  }
  EXPECT_EQ(share.spin_budget(), CoreShare::kFewPolls);
}

TEST(CoreShare, what_polls_find_but_does_not_end_the_wait_says_nothing_of_them) {
  CoreShare share;
  yield(share, kSwitched);
  poll_empty(share, 10);
  for (int time = 0; time < 100; ++time) {
    Spin spin(kLongTime, share);
    ASSERT_TRUE(spin.goes_on());
    spin.restart();
    spin.give_way();
    yield(share, kSwitched);
    spin.end();
  }
  EXPECT_EQ(share.spin_budget(), CoreShare::kFewPolls);
}

TEST(CoreShare, a_partner_that_loses_its_core_now_and_then_is_still_worth_polls) {
  CoreShare share;
  yield(share, kSwitched);
  for (int round = 0; round < 100; ++round) {
    for (int time = 0; time < 8; ++time) share.polled(true);
    share.polled(false);
    ASSERT_EQ(share.spin_budget(), CoreShare::kSpinBudget);
  }
}

TEST(Spin, without_time_it_never_goes_on) {
  CoreShare share;
  Spin spin(0, share);
  EXPECT_FALSE(spin.goes_on());
  EXPECT_FALSE(spin.goes_on());
}

TEST(Spin, ends_with_its_time_and_begins_anew) {
  CoreShare share;
  Spin spin(20'000, share);
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(spin.goes_on());
    int polls = 0;
    while (spin.goes_on()) ASSERT_LT(++polls, 100'000'000);
    spin.restart();
  }
}

}  // namespace
}  // namespace weft::detail
