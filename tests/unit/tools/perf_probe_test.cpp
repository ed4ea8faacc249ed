// Which probes of a machine belong to one state.
#include "perf/measure/machine_state.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::tools::perf {
namespace {

/// `count` probes, evenly from `low` to `high`.
void add(std::vector<double>& probes, int count, double low, double high) {
  for (int place = 0; place < count; ++place) probes.push_back(low + (high - low) * place / count);
}

TEST(MachineState, is_the_one_that_most_probes_belong_to) {
  std::vector<double> probes;
  add(probes, 30, 22, 30);
  add(probes, 50, 50, 65);
  add(probes, 40, 250, 290);
  const MachineState state = machine_states(probes).front();
  EXPECT_TRUE(state.contains(50));
  EXPECT_TRUE(state.contains(64));
  EXPECT_FALSE(state.contains(30));
  EXPECT_FALSE(state.contains(250));
}

TEST(MachineState, is_as_wide_as_its_probes_scatter) {
  std::vector<double> probes;
  add(probes, 600, 33, 75);
  add(probes, 400, 170, 220);
  const MachineState state = machine_states(probes).front();
  EXPECT_TRUE(state.contains(34));
  EXPECT_TRUE(state.contains(74));
  EXPECT_FALSE(state.contains(180));
}

TEST(MachineState, is_not_joined_with_another_by_probes_during_which_it_changed) {
  std::vector<double> probes;
  add(probes, 600, 40, 60);
  add(probes, 500, 180, 220);
  add(probes, 12, 75, 170);
  const MachineState state = machine_states(probes).front();
  EXPECT_TRUE(state.contains(59));
  EXPECT_FALSE(state.contains(120));
  EXPECT_FALSE(state.contains(190));
}

TEST(MachineState, of_few_probes_holds_at_least_one_of_them) {
  EXPECT_TRUE(machine_states({55}).front().contains(55));
  const MachineState state = machine_states({55, 56, 250}).front();
  EXPECT_TRUE(state.contains(55));
  EXPECT_TRUE(state.contains(56));
  EXPECT_FALSE(state.contains(250));
}

TEST(MachineState, has_others_beside_it_by_the_number_of_their_probes) {
  std::vector<double> probes;
  add(probes, 30, 31, 50);
  add(probes, 50, 150, 181);
  add(probes, 10, 280, 290);
  const std::vector<MachineState> states = machine_states(probes);
  ASSERT_EQ(states.size(), 3U);
  EXPECT_TRUE(states[0].contains(160));
  EXPECT_TRUE(states[1].contains(40));
  EXPECT_TRUE(states[2].contains(285));
  EXPECT_EQ(states[1].probes, 30U);
}

TEST(MachineState, is_near_or_far) {
  EXPECT_EQ(distance_of({31, 50}), "near");
  EXPECT_EQ(distance_of({150, 181}), "far");
}

}  // namespace
}  // namespace weft::tools::perf
