// Windows of message networks: they follow the messages taken in a round trip.
#include "network/session/pacing/round_trip.hpp"
#include "network/session/pacing/window.hpp"

#include <gtest/gtest.h>

namespace weft::network::session {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

/// A window and the time.
struct Taking {
  Window window;
  std::int64_t now = kMillisecond;

  /// Returns the size after so many round trips in which a whole window, at most `most` messages, is taken in
  /// batches.
  std::uint32_t size_after(int trips, std::uint32_t most, std::int64_t round_trip) {
    for (int trip = 0; trip < trips; ++trip) {
      const std::uint32_t count = std::min(window.size(), most);
      for (int batch = 0; batch < 4; ++batch) {
        now += round_trip / 4;
        window.returned(count / 4, now, round_trip);
      }
    }
    return window.size();
  }
};

TEST(SessionWindow, grows_up_to_its_limit_while_it_limits_the_messages) {
  Taking taking;
  taking.window.open(192, 3072);
  EXPECT_EQ(taking.window.size(), 192U);
  EXPECT_EQ(taking.size_after(20, 1'000'000, 2 * kMillisecond), 3072U);
}

TEST(SessionWindow, stays_at_twice_what_is_taken_in_a_round_trip) {
  Taking taking;
  taking.window.open(192, 3072);
  const std::uint32_t size = taking.size_after(50, 500, 2 * kMillisecond);
  EXPECT_GE(size, 900U);
  EXPECT_LE(size, 1100U);
}

TEST(SessionWindow, shrinks_slowly_and_never_below_its_first_size) {
  Taking taking;
  taking.window.open(192, 3072);
  ASSERT_EQ(taking.size_after(20, 1'000'000, 2 * kMillisecond), 3072U);
  taking.now += 1000 * kMillisecond;  // the program computes
  taking.window.returned(4, taking.now, 2 * kMillisecond);
  EXPECT_GE(taking.window.size(), 2000U);
  EXPECT_EQ(taking.size_after(200, 4, 2 * kMillisecond), 192U);
}

TEST(SessionWindow, keeps_its_size_where_no_round_trip_is_known_or_the_peer_grants_no_more) {
  Taking unknown;
  unknown.window.open(192, 3072);
  EXPECT_EQ(unknown.size_after(20, 1'000'000, 0), 192U);
  Taking small;
  small.window.open(192, 16);
  EXPECT_EQ(small.window.size(), 16U);
  EXPECT_EQ(small.size_after(20, 1'000'000, kMillisecond), 16U);
}

TEST(SessionRoundTrip, is_the_shortest_of_the_latest) {
  RoundTrip trip;
  EXPECT_EQ(trip.time(), 0);
  const auto add = [&](std::int64_t at, std::int64_t time) {
    trip.begin(at);
    EXPECT_TRUE(trip.is_under_way());
    trip.end(at + time);
    EXPECT_FALSE(trip.is_under_way());
  };
  add(kMillisecond, 2 * kMillisecond);
  EXPECT_EQ(trip.time(), 2 * kMillisecond);
  add(20 * kMillisecond, 9 * kMillisecond);  // the peer computes
  EXPECT_EQ(trip.time(), 2 * kMillisecond);
  add(40 * kMillisecond, kMillisecond);
  EXPECT_EQ(trip.time(), kMillisecond);
  // A longer way counts once the shorter one is old.
  add(1500 * kMillisecond, 5 * kMillisecond);
  EXPECT_EQ(trip.time(), kMillisecond);
  add(3000 * kMillisecond, 5 * kMillisecond);
  EXPECT_EQ(trip.time(), 5 * kMillisecond);
}

TEST(SessionRoundTrip, times_a_message_now_and_then_and_one_at_a_time) {
  RoundTrip trip;
  int asked = 0;
  for (std::uint32_t message = 0; message < 4 * RoundTrip::kMessagesPerLook; ++message) asked += trip.count();
  EXPECT_EQ(asked, 4);
  EXPECT_TRUE(trip.is_due(1));
  trip.begin(1);
  EXPECT_FALSE(trip.is_due(2));
  for (std::uint32_t message = 0; message < 4 * RoundTrip::kMessagesPerLook; ++message)
    EXPECT_FALSE(trip.count());
}

TEST(SessionHold, is_nothing_on_a_short_way_and_little_on_a_long_one) {
  EXPECT_EQ(hold_of(0), 0);
  EXPECT_EQ(hold_of(60'000), 0);
  EXPECT_EQ(hold_of(320'000), 10'000);
  EXPECT_EQ(hold_of(2 * kMillisecond), 50'000);
}

}  // namespace
}  // namespace weft::network::session
