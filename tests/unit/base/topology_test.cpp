#include "base/topology.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>

namespace weft::base {
namespace {

TEST(Topology, lists_exactly_the_processors_that_the_process_may_use) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const Topology topology = read_topology();
  int listed = 0;
  for (const Core& core : topology.cores) {
    EXPECT_FALSE(core.processors.empty());
    for (const int processor : core.processors) {
      EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(processor), &allowed)) << processor;
      ++listed;
    }
  }
  EXPECT_EQ(listed, CPU_COUNT(&allowed));
  EXPECT_GT(topology.memory_bytes, 0u);
  EXPECT_FALSE(topology.source.empty());
}

TEST(Topology, a_smaller_affinity_mask_leaves_fewer_cores) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const int processor = read_topology().cores.back().processors.back();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(processor), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const Topology topology = read_topology();
  ASSERT_EQ(sched_setaffinity(0, sizeof allowed, &allowed), 0);
  ASSERT_EQ(topology.cores.size(), 1u);
  EXPECT_EQ(topology.cores[0].processors, std::vector<int>{processor});
}

}  // namespace
}  // namespace weft::base
