// What a thread learns of its core, from made-up yields and polls.
#include "core/runtime/core_share.hpp"

#include "core/runtime/spin.hpp"

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

constexpr std::int64_t kAlone = 500;      // ns that a yield takes when nobody else wants the core
constexpr std::int64_t kSwitched = 2500;  // ... and when somebody does
constexpr std::int64_t kLongTime = std::int64_t{1} << 60;

/// How many polls in vain a wait makes that begins now, up to 1000.
int polls_of_a_wait(CoreShare& share) {
  Spin spin(kLongTime, share);
  int polls = 1;
  while (polls < 1000 && spin.goes_on()) ++polls;
  return polls;
}

void poll_in_vain(CoreShare& share, int times) {
  for (int time = 0; time < times; ++time) share.polled(false);
}

TEST(CoreShare, a_thread_has_its_core_for_itself_until_a_yield_lets_others_run) {
  CoreShare share;
  EXPECT_FALSE(share.is_shared());
  share.yielded(kAlone);
  EXPECT_FALSE(share.is_shared());
  share.yielded(kSwitched);
  EXPECT_TRUE(share.is_shared());
}

TEST(CoreShare, believes_that_it_is_alone_again_after_several_yields_that_let_nobody_run) {
  CoreShare share;
  share.yielded(kSwitched);
  for (int yield = 0; yield < 3; ++yield) share.yielded(kAlone);
  EXPECT_TRUE(share.is_shared());
  share.yielded(kSwitched);
  for (int yield = 0; yield < 4; ++yield) share.yielded(kAlone);
  EXPECT_FALSE(share.is_shared());
}

TEST(CoreShare, alone_it_polls_long_however_often_that_was_in_vain) {
  CoreShare share;
  poll_in_vain(share, 100);
  EXPECT_EQ(polls_of_a_wait(share), 1000);
  EXPECT_EQ(share.eager_polls(), CoreShare::kEagerPolls);
}

TEST(CoreShare, where_others_want_the_core_and_polls_are_in_vain_it_gives_way_soon_and_now_and_then_tries) {
  CoreShare share;
  share.yielded(kSwitched);
  EXPECT_EQ(polls_of_a_wait(share), 1000) << "polls have not been in vain yet";
  poll_in_vain(share, 10);
  EXPECT_EQ(share.eager_polls(), CoreShare::kFewPolls);
  int long_waits = 0;
  for (int wait = 0; wait < 320; ++wait) {
    const int polls = polls_of_a_wait(share);
    if (polls == 1000)
      ++long_waits;
    else
      EXPECT_EQ(polls, CoreShare::kFewPolls);
  }
  EXPECT_GE(long_waits, 5);
  EXPECT_LE(long_waits, 20);
}

TEST(CoreShare, four_short_spins_count_as_one_towards_sleeping) {
  CoreShare share;
  Spin patient(1, share);
  for (int spins = 0; spins < 8; ++spins) {
    while (patient.goes_on()) {
    }
    EXPECT_TRUE(patient.counts());
  }
  share.yielded(kSwitched);
  poll_in_vain(share, 10);
  Spin hasty(kLongTime, share);
  int counted = 0;
  for (int spins = 0; spins < 8; ++spins) {
    while (hasty.goes_on()) {
    }
    counted += hasty.counts() ? 1 : 0;
  }
  EXPECT_EQ(counted, 2);
}

TEST(CoreShare, polls_that_find_something_make_it_patient_again) {
  CoreShare share;
  share.yielded(kSwitched);
  poll_in_vain(share, 10);
  for (int time = 0; time < 10; ++time) {
    Spin spin(kLongTime, share);
    ASSERT_TRUE(spin.goes_on());
    spin.restart();
  }
  EXPECT_EQ(polls_of_a_wait(share), 1000);
}

TEST(CoreShare, what_is_there_at_once_after_others_have_run_says_nothing_of_polls) {
  CoreShare share;
  share.yielded(kSwitched);
  poll_in_vain(share, 10);
  for (int time = 0; time < 100; ++time) {
    Spin spin(kLongTime, share);
    spin.restart();
  }
  EXPECT_EQ(share.eager_polls(), CoreShare::kFewPolls);
}

TEST(CoreShare, a_partner_that_loses_its_core_now_and_then_is_still_worth_polls) {
  CoreShare share;
  share.yielded(kSwitched);
  for (int round = 0; round < 100; ++round) {
    for (int time = 0; time < 8; ++time) share.polled(true);
    share.polled(false);
    ASSERT_EQ(share.eager_polls(), CoreShare::kEagerPolls);
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
  }
}

}  // namespace
}  // namespace weft::detail
