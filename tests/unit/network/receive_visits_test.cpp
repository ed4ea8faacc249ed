// What a lane's receiver expects of a visit, from the ones before it.
#include "network/shm/lane/receive_lane.hpp"

#include <gtest/gtest.h>

namespace weft::network::shm {
namespace {

TEST(ReceiveVisits, as_much_as_last_time_has_probably_come) {
  ReceivedVisits visits;
  EXPECT_EQ(visits.expected_of_visit(), 0U);
  visits.visited(64);
  EXPECT_EQ(visits.expected_of_visit(), 64U);
  visits.visited(5);
  EXPECT_EQ(visits.expected_of_visit(), 5U);
}

TEST(ReceiveVisits, nothing_has_probably_come_where_somebody_has_waited_for_it) {
  ReceivedVisits visits;
  visits.visited(64);
  visits.found_empty();
  EXPECT_EQ(visits.expected_of_visit(), 0U);
  static_cast<void>(visits.most_of_visit(1000));  // the visit takes note of it
  visits.visited(64);
  EXPECT_EQ(visits.expected_of_visit(), 64U);
}

}  // namespace
}  // namespace weft::network::shm
