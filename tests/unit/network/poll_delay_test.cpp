// Two ranks that learn how long to wait for each other, against round trips whose cost is made up.
#include "network/shm/lane/poll_delay.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <random>

namespace weft::network::shm {
namespace {

using std::chrono::nanoseconds;

/// Nanoseconds of a round trip, from the pauses of both.
using Cost = std::function<double(std::int32_t, std::int32_t)>;

class PingPong {
 public:
  PingPong() { second_.set_side(true); }

  void run(std::uint32_t epochs, const Cost& cost) {
    for (std::uint32_t count = 0; count < epochs; ++count) {
      now_ +=
          nanoseconds(static_cast<std::int64_t>(PollDelay::kEpoch * cost(first_.pauses(), second_.pauses())));
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
    return static_cast<double>(nanoseconds(now_ - before).count()) / PollDelay::kEpoch / epochs;
  }

  [[nodiscard]] std::int32_t first() const { return first_.pauses(); }
  [[nodiscard]] std::int32_t second() const { return second_.pauses(); }
  [[nodiscard]] std::int32_t most() const { return most_; }
  [[nodiscard]] std::int32_t least() const { return least_; }

 private:
  PollDelay first_;
  PollDelay second_;
  std::uint32_t epoch_ = 0;
  PollDelay::Clock::time_point now_{nanoseconds(1'000'000)};
  std::int32_t most_ = 0;
  std::int32_t least_ = PollDelay::kMost;
};

constexpr std::uint32_t kLong = 200 * PollDelay::kPeriod;

/// Best at `best` pauses of both, dearer by 12 ns for each that one of them is away from there.
Cost valley(std::int32_t best) {
  return [best](std::int32_t first, std::int32_t second) {
    return 100.0 + 12 * std::abs(first - best) + 12 * std::abs(second - best);
  };
}

TEST(PollDelay, finds_the_wait_with_which_round_trips_are_fastest) {
  for (const std::int32_t best : {0, 2, 6, 11, 18, PollDelay::kMost}) {
    PingPong ping_pong;
    ping_pong.run(kLong, valley(best));
    // But for what is being tried just now.
    const double mean = ping_pong.mean(kLong, valley(best));
    EXPECT_LT(mean, 125) << "best: " << best << ", first " << ping_pong.first() << ", second "
                         << ping_pong.second();
  }
}

TEST(PollDelay, follows_when_the_best_wait_changes) {
  PingPong ping_pong;
  ping_pong.run(kLong, valley(14));
  EXPECT_LT(ping_pong.mean(kLong, valley(14)), 125);
  ping_pong.run(kLong, valley(3));
  EXPECT_LT(ping_pong.mean(kLong, valley(3)), 125);
}

TEST(PollDelay, gets_over_a_stretch_on_which_one_rank_alone_changes_nothing) {
  const Cost both = [](std::int32_t first, std::int32_t second) {
    return std::min(first, second) >= 10 ? 150.0 + 4 * (first + second - 20) : 240.0;
  };
  PingPong ping_pong;
  ping_pong.run(kLong, both);
  EXPECT_LT(ping_pong.mean(kLong, both), 185);
}

TEST(PollDelay, gets_over_a_wide_stretch_too_and_back) {
  // Two cores that are far from each other: whoever looks before the answer is there makes both wait.
  const Cost far = [](std::int32_t first, std::int32_t second) {
    return std::min(first, second) >= 21 ? 240.0 + 4 * (first + second - 42) : 400.0;
  };
  PingPong ping_pong;
  ping_pong.run(kLong, far);
  EXPECT_LT(ping_pong.mean(kLong, far), 290);
  ping_pong.run(kLong, valley(6));
  EXPECT_LT(ping_pong.mean(kLong, valley(6)), 140);
}

TEST(PollDelay, stays_where_it_is_while_waiting_makes_no_difference) {
  PingPong ping_pong;
  ping_pong.run(kLong, [](std::int32_t, std::int32_t) { return 1000.0; });
  EXPECT_LE(ping_pong.most(), PollDelay::kFirst + 16);
  ping_pong.run(5, [](std::int32_t, std::int32_t) { return 1000.0; });
  EXPECT_EQ(ping_pong.first(), PollDelay::kFirst);
  EXPECT_EQ(ping_pong.second(), PollDelay::kFirst);
}

TEST(PollDelay, is_not_carried_off_by_disturbed_epochs) {
  std::mt19937 random(7);
  const Cost disturbed = [&](std::int32_t first, std::int32_t second) {
    const double usual = valley(6)(first, second) * std::uniform_real_distribution(0.97, 1.03)(random);
    return random() % 10 == 0 ? 5 * usual : usual;
  };
  PingPong ping_pong;
  ping_pong.run(kLong, disturbed);
  double sum = 0;
  for (int count = 0; count < 1000; ++count) {
    ping_pong.run(1, disturbed);
    sum += valley(6)(ping_pong.first(), ping_pong.second());
  }
  EXPECT_LT(sum / 1000, 135);
}

TEST(PollDelay, keeps_its_limits_whatever_happens) {
  std::mt19937 random(3);
  PingPong ping_pong;
  ping_pong.run(kLong, [&](std::int32_t, std::int32_t) { return static_cast<double>(random() % 1000); });
  EXPECT_LE(ping_pong.most(), PollDelay::kMost);
  EXPECT_GE(ping_pong.least(), 0);
}

}  // namespace
}  // namespace weft::network::shm
