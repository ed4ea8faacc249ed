// When a program that only polls gives way, by a made-up clock.
#include "core/wait/poller.hpp"

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

constexpr std::int64_t kPoll = 15;             // ns of a poll that finds nothing
constexpr std::int64_t kYieldAlone = 300;      // ... of a yield when nobody else wants the core
constexpr std::int64_t kYieldSwitched = 2500;  // ... and when somebody does
constexpr std::int64_t kMillisecond = 1'000'000;

/// A thread that polls, and what it would see of its core.
class Thread {
 public:
  explicit Thread(std::int64_t yield_takes) : yield_takes_(yield_takes) {}

  void set_yield(std::int64_t takes) { yield_takes_ = takes; }
  /// Polls in vain, each so many nanoseconds after the one before; whether it gave way.
  bool poll_empty(std::int64_t takes = kPoll) {
    now_ += takes;
    if (!poller_.count() || !poller_.look(now_)) return false;
    poller_.gave_way(now_, now_ + yield_takes_);
    now_ += yield_takes_;
    ++yields_;
    return true;
  }
  /// Polls until it gives way; how many polls that took, at most `limit`.
  int polls_until_yield(int limit = 100'000, std::int64_t takes = kPoll) {
    int polls = 1;
    while (!poll_empty(takes) && polls < limit) ++polls;
    return polls;
  }
  void find() {
    now_ += kPoll;
    poller_.found();
  }
  /// Polls in vain for so long; how often it gave way.
  int yields_within(std::int64_t nanoseconds, std::int64_t takes = kPoll) {
    const int before = yields_;
    for (const std::int64_t end = now_ + nanoseconds; now_ < end;) poll_empty(takes);
    return yields_ - before;
  }
  [[nodiscard]] Poller& poller() { return poller_; }

 private:
  std::int64_t yield_takes_;
  std::int64_t now_ = 1'000'000'000'000;
  int yields_ = 0;
  Poller poller_;
};

TEST(Poller, learns_in_its_first_empty_stretch_whether_others_want_its_core) {
  Thread alone(kYieldAlone);
  EXPECT_LE(alone.polls_until_yield(), 300);
  EXPECT_FALSE(alone.poller().share().is_shared());
  Thread crowded(kYieldSwitched);
  EXPECT_LE(crowded.polls_until_yield(), 300);
  EXPECT_TRUE(crowded.poller().share().is_shared());
}

TEST(Poller, yields_once_a_millisecond_on_a_core_of_its_own) {
  Thread thread(kYieldAlone);
  thread.polls_until_yield();
  EXPECT_LE(thread.yields_within(100 * kMillisecond), 100);
  EXPECT_GE(thread.yields_within(100 * kMillisecond), 90) << "or it would not notice that others have come";
}

TEST(Poller, notices_that_others_have_come_and_that_they_have_gone) {
  Thread thread(kYieldAlone);
  thread.yields_within(10 * kMillisecond);
  thread.set_yield(kYieldSwitched);
  thread.yields_within(2 * kMillisecond);
  EXPECT_TRUE(thread.poller().share().is_shared());
  thread.set_yield(kYieldAlone);
  thread.yields_within(kMillisecond);
  EXPECT_FALSE(thread.poller().share().is_shared());
}

TEST(Poller, gives_way_after_microseconds_where_polls_bring_something) {
  Thread thread(kYieldSwitched);
  thread.polls_until_yield();
  for (int round = 0; round < 100; ++round) {
    for (int poll = 0; poll < 20; ++poll) ASSERT_FALSE(thread.poll_empty()) << "round " << round;
    thread.find();
  }
  const int polls = thread.polls_until_yield();
  EXPECT_GE(polls, 64);
  EXPECT_LE(polls, 400);
}

TEST(Poller, gives_way_after_a_few_polls_where_they_are_in_vain_and_now_and_then_tries) {
  Thread thread(kYieldSwitched);
  for (int yield = 0; yield < 20; ++yield) thread.polls_until_yield();
  int long_stretches = 0;
  for (int yield = 0; yield < 630; ++yield) {
    const int polls = thread.polls_until_yield();
    if (polls > 10)
      ++long_stretches;
    else
      EXPECT_EQ(polls, static_cast<int>(CoreShare::kFewPolls));
  }
  EXPECT_GE(long_stretches, 5);
  EXPECT_LE(long_stretches, 20);
}

TEST(Poller, one_trial_that_finds_something_makes_it_patient_again) {
  Thread thread(kYieldSwitched);
  for (int yield = 0; yield < 20; ++yield) thread.polls_until_yield();
  bool has_tried = false;
  for (int yield = 0; yield < 200 && !has_tried; ++yield) {
    int polls = 0;
    while (polls < 10 && !thread.poll_empty()) ++polls;
    has_tried = polls == 10;
  }
  ASSERT_TRUE(has_tried);
  thread.find();
  EXPECT_GE(thread.polls_until_yield(), 64);
}

TEST(Poller, what_is_there_at_the_first_poll_after_others_have_run_says_nothing_of_polls) {
  Thread thread(kYieldSwitched);
  for (int yield = 0; yield < 20; ++yield) thread.polls_until_yield();
  for (int round = 0; round < 30; ++round) {
    EXPECT_EQ(thread.polls_until_yield(), static_cast<int>(CoreShare::kFewPolls));
    thread.find();
  }
}

TEST(Poller, keeps_the_core_of_a_thread_that_computes_between_its_polls) {
  constexpr std::int64_t kTask = 10'000;  // ns
  Thread alone(kYieldAlone);
  alone.polls_until_yield();
  EXPECT_LE(alone.yields_within(100 * kMillisecond, kTask), 1);
  Thread patient(kYieldSwitched);
  patient.polls_until_yield();
  EXPECT_EQ(patient.yields_within(100 * kMillisecond, kTask), 0);
  Thread hasty(kYieldSwitched);
  for (int yield = 0; yield < 20; ++yield) hasty.polls_until_yield();
  hasty.yields_within(kMillisecond, kTask);
  EXPECT_EQ(hasty.yields_within(100 * kMillisecond, kTask), 0);
}

TEST(Poller, goes_on_where_the_kernel_has_taken_its_core_for_a_while) {
  Thread thread(kYieldSwitched);
  for (int yield = 0; yield < 20; ++yield) thread.polls_until_yield();
  thread.poll_empty();
  thread.poll_empty(3 * kMillisecond);
  EXPECT_LE(thread.polls_until_yield(), 10);
}

TEST(Poller, has_a_turn_of_its_own_after_a_long_one_of_others_whatever_it_finds) {
  constexpr std::int64_t kTurn = 3 * kMillisecond;
  Thread thread(kTurn);
  thread.polls_until_yield();
  const std::int64_t polls = kTurn / Poller::kShareOfTurns / kPoll;
  for (std::int64_t poll = 0; poll < polls - 100; ++poll) {
    ASSERT_FALSE(thread.poll_empty()) << "poll " << poll;
    if (poll % 10 == 0) thread.find();
  }
  EXPECT_LE(thread.polls_until_yield(), 500);
}

TEST(Poller, leaves_the_polls_of_a_wait_to_the_wait) {
  Thread thread(kYieldSwitched);
  for (int yield = 0; yield < 20; ++yield) thread.polls_until_yield();
  thread.poller().leave_to_wait();
  for (std::uint32_t poll = 0; poll < CoreShare::kSpinBudget; ++poll) ASSERT_FALSE(thread.poll_empty());
}

TEST(Poller, counts_on_for_longer_than_its_word_is_wide) {
  Thread thread(kYieldAlone);
  EXPECT_GE(thread.yields_within(std::int64_t{1} << 32, 1000), 4000);
}

}  // namespace
}  // namespace weft::detail
