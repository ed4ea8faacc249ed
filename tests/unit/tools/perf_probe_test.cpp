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
  const MachineState state = majority_state(probes);
  EXPECT_TRUE(state.contains(50));
  EXPECT_TRUE(state.contains(64));
  EXPECT_FALSE(state.contains(30));
  EXPECT_FALSE(state.contains(250));
}

TEST(MachineState, is_as_wide_as_its_probes_scatter) {
  std::vector<double> probes;
  add(probes, 600, 33, 75);
  add(probes, 400, 170, 220);
  const MachineState state = majority_state(probes);
  EXPECT_TRUE(state.contains(34));
  EXPECT_TRUE(state.contains(74));
  EXPECT_FALSE(state.contains(180));
}

TEST(MachineState, is_not_joined_with_another_by_probes_during_which_it_changed) {
  std::vector<double> probes;
  add(probes, 600, 40, 60);
  add(probes, 500, 180, 220);
  add(probes, 12, 75, 170);
  const MachineState state = majority_state(probes);
  EXPECT_TRUE(state.contains(59));
  EXPECT_FALSE(state.contains(120));
  EXPECT_FALSE(state.contains(190));
}

TEST(MachineState, of_few_probes_holds_at_least_one_of_them) {
  EXPECT_TRUE(majority_state({55}).contains(55));
  const MachineState state = majority_state({55, 56, 250});
  EXPECT_TRUE(state.contains(55));
  EXPECT_TRUE(state.contains(56));
  EXPECT_FALSE(state.contains(250));
}

}  // namespace
}  // namespace weft::tools::perf
