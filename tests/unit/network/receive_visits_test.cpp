// What a lane's receiver expects of a visit, from the ones before it.
#include "network/shm/port/port.hpp"

#include <gtest/gtest.h>

namespace weft::network::shm {
namespace {

TEST(ReceiveVisits, as_much_as_last_time_has_probably_come) {
  ReceiveLane lane;
  EXPECT_EQ(lane.expected_of_visit(), 0U);
  lane.visited(64);
  EXPECT_EQ(lane.expected_of_visit(), 64U);
  lane.visited(5);
  EXPECT_EQ(lane.expected_of_visit(), 5U);
}

TEST(ReceiveVisits, nothing_has_probably_come_where_somebody_has_waited_for_it) {
  ReceiveLane lane;
  lane.visited(64);
  lane.found_empty();
  EXPECT_EQ(lane.expected_of_visit(), 0U);
  static_cast<void>(lane.most_of_visit(1000));  // the visit takes note of it
  lane.visited(64);
  EXPECT_EQ(lane.expected_of_visit(), 64U);
}

}  // namespace
}  // namespace weft::network::shm
