// Which way the payloads of large messages come by is learned from what they take.
#include "core/protocol/rendezvous/learned_ways.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>

namespace weft::core {
namespace {

constexpr std::size_t kTransferred = std::size_t{64} << 10;

/// Nanoseconds that a message of kTransferred takes by each way.
struct Machine {
  double copy;
  double read;
  [[nodiscard]] double of(Way way) const { return way == Way::copy ? copy : read; }
  [[nodiscard]] double best() const { return std::min(copy, read); }
};

class WayChoiceTest : public testing::Test {
 protected:
  /// Returns the part of the messages that went by `way`.
  double run(const Machine& machine, int messages, Way way) {
    int count = 0;
    spent_ = 0;
    for (int index = 0; index < messages; ++index) {
      const Way here = choice_.way();
      if (here == way) ++count;
      const double ns = machine.of(here) * noise_();
      spent_ += ns;
      choice_.ended(here, kTransferred, static_cast<std::int64_t>(ns));
    }
    return static_cast<double>(count) / messages;
  }
  WayChoice choice_;
  std::function<double()> noise_ = [] { return 1.0; };
  double spent_ = 0;
};

TEST_F(WayChoiceTest, begins_with_copies_and_soon_tries_to_read) {
  EXPECT_EQ(choice_.way(), Way::copy);
  EXPECT_GT(run({4000, 4000}, 64, Way::read), 0.1);
}

TEST_F(WayChoiceTest, settles_for_the_faster_way) {
  run({5000, 3000}, 64, Way::read);
  EXPECT_GT(run({5000, 3000}, 10000, Way::read), 0.95);
  WayChoice fresh;
  choice_ = fresh;
  run({4000, 6000}, 64, Way::copy);
  EXPECT_GT(run({4000, 6000}, 10000, Way::copy), 0.95);
}

TEST_F(WayChoiceTest, costs_about_one_part_in_a_hundred_once_it_has_settled) {
  for (const Machine machine :
       {Machine{5000, 3000}, {3000, 5000}, {3000, 3200}, {3000, 300'000}, {90'000, 3000}}) {
    choice_ = {};
    run(machine, 100'000, Way::read);
    run(machine, 100'000, Way::read);
    EXPECT_LT(spent_, 1.03 * machine.best() * 100'000) << machine.copy << " and " << machine.read;
  }
}

TEST_F(WayChoiceTest, counts_what_has_begun_in_the_way_that_is_tried_as_a_cost) {
  // Windows of 100 messages, which all begin before the first of them ends.
  constexpr int kWindows = 5000;
  int reads = 0;
  for (int window = 0; window < kWindows; ++window) {
    const Way way = choice_.way();
    if (way == Way::read) ++reads;
    for (int index = 0; index < 100; ++index)
      choice_.ended(way, kTransferred, way == Way::read ? 6000 : 3000);
  }
  EXPECT_GT(reads, 0);
  EXPECT_LT(reads, kWindows / 50);
}

TEST_F(WayChoiceTest, goes_on_comparing_for_ever) {
  run({5000, 3000}, 1'000'000, Way::read);
  EXPECT_GT(run({5000, 3000}, 40'000, Way::copy), 0);
}

TEST_F(WayChoiceTest, follows_a_change_of_the_settled_way_before_the_next_comparison_is_due) {
  run({5000, 3000}, 100'000, Way::read);
  run({5000, 8000}, 4000, Way::copy);
  EXPECT_GT(run({5000, 8000}, 4000, Way::copy), 0.9) << "reading has become slower";
  run({3000, 2000}, 4000, Way::read);
  EXPECT_GT(run({3000, 2000}, 4000, Way::read), 0.9) << "both have become faster, reading more";
}

TEST_F(WayChoiceTest, follows_a_change_that_only_the_other_way_shows) {
  run({3000, 5000}, 100'000, Way::copy);
  run({3000, 1500}, 20'000, Way::read);
  EXPECT_GT(run({3000, 1500}, 20'000, Way::read), 0.9);
}

TEST_F(WayChoiceTest, does_not_change_for_a_small_difference) {
  run({3000, 2900}, 1000, Way::copy);
  EXPECT_GT(run({3000, 2900}, 100'000, Way::copy), 0.9);
}

TEST_F(WayChoiceTest, is_not_misled_by_interruptions) {
  std::mt19937 dice(7);  // NOLINT(cert-msc51-cpp): the same in every run
  noise_ = [&] { return dice() % 100 == 0 ? 1000.0 : 0.8 + static_cast<double>(dice() % 400) / 1000; };
  run({5000, 3000}, 2000, Way::read);
  EXPECT_GT(run({5000, 3000}, 200'000, Way::read), 0.8);
}

TEST_F(WayChoiceTest, ends_a_comparison_that_cannot_be_measured) {
  run({4000, 4000}, 8, Way::copy);
  ASSERT_EQ(choice_.way(), Way::read);
  for (int count = 0; count < 128; ++count) choice_.ended(Way::read, kTransferred, 0);
  EXPECT_EQ(choice_.way(), Way::copy);
}

TEST_F(WayChoiceTest, copies_after_a_read_that_failed_and_seldom_tries_again) {
  run({4000, 4000}, 8, Way::copy);
  choice_.failed();
  EXPECT_EQ(run({4000, 1000}, 16'000, Way::copy), 1);
  EXPECT_GT(run({4000, 1000}, 4000, Way::read), 0);
}

/// Messages of one peer by LearnedWays, at times that the test says.
class LearnedWaysTest : public testing::Test {
 protected:
  void one(std::int64_t started, std::int64_t ended, int peer = 0) {
    const Way way = ways_.begin(peer, kTransferred);
    ways_.end(peer, kTransferred, way, LearnedWays::End::whole, started, ended);
    last_ = way;
  }
  LearnedWays ways_;
  Way last_ = Way::copy;
};

TEST_F(LearnedWaysTest, keeps_peers_and_sizes_apart) {
  for (int count = 0; count < 8; ++count) one(count * 10, count * 10 + 10);
  EXPECT_EQ(ways_.begin(0, kTransferred), Way::read);
  EXPECT_EQ(ways_.begin(1, kTransferred), Way::copy);
  EXPECT_EQ(ways_.begin(0, 4 * kTransferred), Way::copy);
  EXPECT_EQ(ways_.begin(0, std::size_t{1} << 40), Way::copy) << "the largest that there are";
}

TEST_F(LearnedWaysTest, counts_the_time_in_which_messages_overlap_once) {
  // 16 copies at a time take 16,000 together, single reads 2000 each: the copies are the faster.
  std::int64_t now = 1;
  for (int window = 0; window < 500; ++window) {
    const Way way = ways_.begin(0, kTransferred);
    for (int count = 1; count < 16; ++count) ASSERT_EQ(ways_.begin(0, kTransferred), way);
    const std::int64_t started = now;
    for (int count = 0; count < 16; ++count) {
      now += way == Way::copy ? 1000 : 2000;
      ways_.end(0, kTransferred, way, LearnedWays::End::whole, started, now);
    }
    now += 1'000'000;  // most of the time between windows is the program's
    last_ = way;
  }
  EXPECT_EQ(last_, Way::copy);
}

TEST_F(LearnedWaysTest, counts_the_gaps_that_a_way_leaves) {
  // Reads take 1000 of the 3000 that pass from one to the next, copies follow each other after 2000.
  std::int64_t now = 1;
  int copies = 0;
  for (int count = 0; count < 1000; ++count) {
    const Way way = ways_.begin(0, kTransferred);
    if (way == Way::copy) ++copies;
    const std::int64_t started = way == Way::copy ? now : now + 2000;
    now += way == Way::copy ? 2000 : 3000;
    ways_.end(0, kTransferred, way, LearnedWays::End::whole, started, now);
  }
  EXPECT_GT(copies, 800);
}

TEST_F(LearnedWaysTest, does_not_compare_messages_that_overlapped_the_other_way) {
  for (int count = 0; count < 7; ++count) one(count * 100, count * 100 + 100);
  const Way kept = ways_.begin(0, kTransferred);  // a copy that stays under way
  ASSERT_EQ(kept, Way::copy);
  one(700, 800);
  for (int count = 0; count < 100; ++count) {
    one(800 + count, 801 + count);  // reads, very fast
    ASSERT_EQ(last_, Way::read);
  }
  ways_.end(0, kTransferred, kept, LearnedWays::End::given_up, 0, 0);
}

}  // namespace
}  // namespace weft::core
