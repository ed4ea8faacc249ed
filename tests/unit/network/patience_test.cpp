// Two ranks that learn how long to wait for each other, against round trips whose cost is made up.
#include "network/shm/patience.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <random>

namespace weft::network::shm {
namespace {

using std::chrono::nanoseconds;

/// Nanoseconds of a round trip, from the pauses of both.
using Cost = std::function<double(std::int32_t, std::int32_t)>;

class Dialogue {
 public:
  Dialogue() { second_.set_side(true); }

  void run(std::uint32_t epochs, const Cost& cost) {
    for (std::uint32_t count = 0; count < epochs; ++count) {
      now_ +=
          nanoseconds(static_cast<std::int64_t>(Patience::kEpoch * cost(first_.pauses(), second_.pauses())));
      ++epoch_;
      first_.end_epoch(epoch_, now_);
      second_.end_epoch(epoch_, now_ + nanoseconds(50));
      most_ = std::max({most_, first_.pauses(), second_.pauses()});
      least_ = std::min({least_, first_.pauses(), second_.pauses()});
    }
  }
  /// The mean cost while they go on.
  double mean(std::uint32_t epochs, const Cost& cost) {
    const auto before = now_;
    run(epochs, cost);
    return static_cast<double>(nanoseconds(now_ - before).count()) / Patience::kEpoch / epochs;
  }

  [[nodiscard]] std::int32_t first() const { return first_.pauses(); }
  [[nodiscard]] std::int32_t second() const { return second_.pauses(); }
  [[nodiscard]] std::int32_t most() const { return most_; }
  [[nodiscard]] std::int32_t least() const { return least_; }

 private:
  Patience first_;
  Patience second_;
  std::uint32_t epoch_ = 0;
  Patience::Clock::time_point now_{nanoseconds(1'000'000)};
  std::int32_t most_ = 0;
  std::int32_t least_ = Patience::kMost;
};

constexpr std::uint32_t kLong = 200 * Patience::kPeriod;

/// Best at `best` pauses of both, dearer by 12 ns for each that one of them is away from there.
Cost valley(std::int32_t best) {
  return [best](std::int32_t first, std::int32_t second) {
    return 100.0 + 12 * std::abs(first - best) + 12 * std::abs(second - best);
  };
}

TEST(Patience, finds_the_wait_with_which_round_trips_are_fastest) {
  for (const std::int32_t best : {0, 2, 6, 11, 18, Patience::kMost}) {
    Dialogue dialogue;
    dialogue.run(kLong, valley(best));
    // But for what is being tried just now.
    const double mean = dialogue.mean(kLong, valley(best));
    EXPECT_LT(mean, 125) << "best: " << best << ", first " << dialogue.first() << ", second "
                         << dialogue.second();
  }
}

TEST(Patience, follows_when_the_best_wait_changes) {
  Dialogue dialogue;
  dialogue.run(kLong, valley(14));
  EXPECT_LT(dialogue.mean(kLong, valley(14)), 125);
  dialogue.run(kLong, valley(3));
  EXPECT_LT(dialogue.mean(kLong, valley(3)), 125);
}

TEST(Patience, gets_over_a_stretch_on_which_one_rank_alone_changes_nothing) {
  const Cost both = [](std::int32_t first, std::int32_t second) {
    return std::min(first, second) >= 10 ? 150.0 + 4 * (first + second - 20) : 240.0;
  };
  Dialogue dialogue;
  dialogue.run(kLong, both);
  EXPECT_LT(dialogue.mean(kLong, both), 185);
}

TEST(Patience, gets_over_a_wide_stretch_too_and_back) {
  // Two cores that are far from each other: whoever looks before the answer is there makes both wait.
  const Cost far = [](std::int32_t first, std::int32_t second) {
    return std::min(first, second) >= 21 ? 240.0 + 4 * (first + second - 42) : 400.0;
  };
  Dialogue dialogue;
  dialogue.run(kLong, far);
  EXPECT_LT(dialogue.mean(kLong, far), 290);
  dialogue.run(kLong, valley(6));
  EXPECT_LT(dialogue.mean(kLong, valley(6)), 140);
}

TEST(Patience, stays_where_it_is_while_waiting_makes_no_difference) {
  Dialogue dialogue;
  dialogue.run(kLong, [](std::int32_t, std::int32_t) { return 1000.0; });
  EXPECT_LE(dialogue.most(), Patience::kFirst + 16);
  dialogue.run(5, [](std::int32_t, std::int32_t) { return 1000.0; });
  EXPECT_EQ(dialogue.first(), Patience::kFirst);
  EXPECT_EQ(dialogue.second(), Patience::kFirst);
}

TEST(Patience, is_not_carried_off_by_disturbed_epochs) {
  std::mt19937 random(7);
  const Cost disturbed = [&](std::int32_t first, std::int32_t second) {
    const double usual = valley(6)(first, second) * std::uniform_real_distribution(0.97, 1.03)(random);
    return random() % 10 == 0 ? 5 * usual : usual;
  };
  Dialogue dialogue;
  dialogue.run(kLong, disturbed);
  double sum = 0;
  for (int count = 0; count < 1000; ++count) {
    dialogue.run(1, disturbed);
    sum += valley(6)(dialogue.first(), dialogue.second());
  }
  EXPECT_LT(sum / 1000, 135);
}

TEST(Patience, keeps_its_limits_whatever_happens) {
  std::mt19937 random(3);
  Dialogue dialogue;
  dialogue.run(kLong, [&](std::int32_t, std::int32_t) { return static_cast<double>(random() % 1000); });
  EXPECT_LE(dialogue.most(), Patience::kMost);
  EXPECT_GE(dialogue.least(), 0);
}

}  // namespace
}  // namespace weft::network::shm
