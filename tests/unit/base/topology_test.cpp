#include <weft/error.hpp>
#include <weft/topology.hpp>

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>

namespace weft {
namespace {

TEST(Topology, lists_exactly_the_processors_that_the_process_may_use) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const Topology topology = read_topology();
  int listed = 0;
  for (const Topology::Core& core : topology.cores) {
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

/// Two nodes of three cores with two processors each, in the order in which a kernel may list them.
Topology two_nodes() {
  Topology topology;
  topology.numa_nodes = 2;
  for (int core = 0; core < 6; ++core)
    topology.cores.push_back({.package = core % 2, .numa_node = core % 2, .processors = {core, core + 6}});
  return topology;
}

using Processors = std::vector<int>;

std::string refusal_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Nodes, have_the_processors_of_their_cores) {
  EXPECT_EQ(numa_nodes_of(two_nodes()), (Processors{0, 1}));
  EXPECT_EQ(processors_of_node(two_nodes(), 1), (Processors{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(refusal_of([] { static_cast<void>(processors_of_node(two_nodes(), 2)); }),
            "NUMA node 2 has no core that this process may use; those that have: 0, 1");
}

TEST(Placement, keeps_the_threads_of_a_rank_on_one_node) {
  const Topology host = two_nodes();
  const Processors expected[2][3] = {{{0, 6}, {2, 8}, {4, 10}}, {{1, 7}, {3, 9}, {5, 11}}};
  for (int rank = 0; rank < 2; ++rank)
    for (int thread = 0; thread < 3; ++thread)
      EXPECT_EQ(processors_for(host, rank, 2, thread, 3), expected[rank][thread]) << rank << " " << thread;
}

TEST(Placement, shares_cores_only_when_there_are_too_few) {
  const Topology host = two_nodes();
  std::set<Processors> used;
  for (int rank = 0; rank < 6; ++rank) used.insert(processors_for(host, rank, 6));
  EXPECT_EQ(used.size(), 6U);
  for (int thread = 0; thread < 6; ++thread)
    EXPECT_EQ(processors_for(host, 0, 2, thread, 6), processors_for(host, 0, 2, thread / 2, 3));
  EXPECT_EQ(processors_for(host, 11, 12), processors_for(host, 10, 12));
}

TEST(Placement, refuses_numbers_out_of_range) {
  EXPECT_EQ(refusal_of([] { static_cast<void>(processors_for(two_nodes(), 2, 2)); }),
            "processors_for: rank 2 of 2 is out of range");
  EXPECT_EQ(refusal_of([] { static_cast<void>(processors_for(two_nodes(), 0, 2, -1, 4)); }),
            "processors_for: thread -1 of 4 is out of range");
}

Processors processors_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  Processors processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(static_cast<std::size_t>(processor), &set)) processors.push_back(processor);
  return processors;
}

TEST(Binding, moves_the_calling_thread_or_leaves_it_where_it_is) {
  std::thread([] {
    const Processors last = read_topology().cores.back().processors;
    bind_thread(last);
    ASSERT_EQ(processors_of_this_thread(), last);
    const int absent = CPU_SETSIZE - 1;
    EXPECT_EQ(refusal_of([&] {
                bind_thread(Processors{last.front(), absent});
              }),
              "bind_thread: the calling thread cannot run on processors " + std::to_string(last.front()) +
                  ", " + std::to_string(absent) + ": the process may not use all of them");
    EXPECT_EQ(refusal_of([] { bind_thread({}); }), "bind_thread: the list of processors is empty");
    EXPECT_EQ(processors_of_this_thread(), last);
  }).join();
}

}  // namespace
}  // namespace weft
