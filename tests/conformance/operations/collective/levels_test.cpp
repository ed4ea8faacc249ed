// How many messages cross between hosts, in one level and in two.
#include "support/collectives.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

enum class Kind { barrier, broadcast, reduce, allreduce };
constexpr const char* kNames[] = {"barrier", "broadcast", "reduce", "allreduce"};
constexpr const char* kInOneLevel[] = {"dissemination", "binomial", "binomial", "doubling"};

struct Row {
  Kind kind;
  const char* hosts;  // of each rank
  int ranks;
  std::uint64_t in_one_level;
  std::uint64_t in_two_levels;
};

// docs/guide/collectives.md prints them: two hosts of two ranks, of four, and four of two; neighbours on one
// host, or ranks dealt out in turn.
constexpr Row kRows[] = {
    {Kind::barrier, "node%r/2", 4, 6, 2},  {Kind::broadcast, "node%r/2", 4, 1, 1},
    {Kind::reduce, "node%r/2", 4, 1, 1},   {Kind::allreduce, "node%r/2", 4, 4, 2},
    {Kind::barrier, "node%r%2", 4, 4, 2},  {Kind::broadcast, "node%r%2", 4, 2, 1},
    {Kind::reduce, "node%r%2", 4, 2, 1},   {Kind::allreduce, "node%r%2", 4, 4, 2},
    {Kind::barrier, "node%r/4", 8, 14, 2}, {Kind::broadcast, "node%r/4", 8, 1, 1},
    {Kind::reduce, "node%r/4", 8, 1, 1},   {Kind::allreduce, "node%r/4", 8, 8, 2},
    {Kind::barrier, "node%r%4", 8, 16, 8}, {Kind::broadcast, "node%r%4", 8, 6, 3},
    {Kind::reduce, "node%r%4", 8, 6, 3},   {Kind::allreduce, "node%r%4", 8, 16, 8},
};

Outcome call(Collective& all, Kind kind) {
  std::uint64_t value = 1;
  std::uint64_t sum = 0;
  switch (kind) {
    case Kind::barrier:
      return all.barrier();
    case Kind::broadcast:
      return all.broadcast(value, 0);
    case Kind::reduce:
      return all.reduce(value, sum, operators::Sum{}, 0);
    default:
      return all.allreduce(value, sum, operators::Sum{});
  }
}

constexpr int kMostTurns = 100;

/// The messages of a call that do not go through the memory of a host. The least of several, which end with
/// the first that has as few as are expected: in a call that takes long, as most do on a busy machine, ranks
/// ask each other what they have called. `members`: of a job of so many ranks.
std::uint64_t crossing(const Row& row, const char* algorithm, std::uint64_t expected,
                       const std::vector<int>& members, int job) {
  const std::string asked = std::string(kNames[static_cast<std::size_t>(row.kind)]) + "=" + algorithm;
  test::Ranks<Endpoint> ranks(job,
                              {{"network", "mixed"}, {"host_id", row.hosts}, {"collectives", asked.c_str()}});
  std::barrier meeting(row.ranks);
  std::uint64_t least = ~std::uint64_t{0};
  const auto sent = [&] {
    std::uint64_t count = 0;
    for (const int rank : members) {
      const RuntimeCounters counters = ranks.runtime(rank).counters();
      count += counters.active_messages_sent + counters.matched_sent;
    }
    return count;
  };
  std::vector<std::thread> threads;
  for (const int rank : members)
    threads.emplace_back([&, rank] {
      // Exposes nothing: what goes by messages is matched.
      const Team team(ranks.runtime(rank), members);
      Collective all(ranks.runtime(rank), ranks.endpoint(rank), team, {.key = 300});
      for (int turn = 0; turn < 12; ++turn) EXPECT_EQ(call(all, row.kind), Outcome::ok);
      EXPECT_EQ(all.barrier(), Outcome::ok);
      for (int turn = 0; turn < kMostTurns; ++turn) {
        meeting.arrive_and_wait();
        if (least <= expected) break;
        const std::uint64_t before = rank == 0 ? sent() : 0;
        meeting.arrive_and_wait();
        EXPECT_EQ(call(all, row.kind), Outcome::ok);
        meeting.arrive_and_wait();
        if (rank == 0) least = std::min(least, sent() - before);  // read after the next meeting
      }
      EXPECT_EQ(all.barrier(), Outcome::ok);
    });
  for (std::thread& thread : threads) thread.join();
  return least;
}

std::string name_of_row(const testing::TestParamInfo<Row>& row) {
  std::string name = kNames[static_cast<std::size_t>(row.param.kind)] + std::string("_of_") +
                     std::to_string(row.param.ranks) + "_on_" + row.param.hosts;
  std::ranges::replace(name, '%', '_');
  std::ranges::replace(name, '/', 'd');
  return name;
}

class CrossingMessages : public testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(of, CrossingMessages, testing::ValuesIn(kRows), name_of_row);

void expect_counts(const Row& row, const std::vector<int>& members, int job) {
  const auto kind = static_cast<std::size_t>(row.kind);
  EXPECT_EQ(crossing(row, kInOneLevel[kind], row.in_one_level, members, job), row.in_one_level);
  EXPECT_EQ(crossing(row, "two-level", row.in_two_levels, members, job), row.in_two_levels);
  EXPECT_LE(row.in_two_levels, row.in_one_level);
}

TEST_P(CrossingMessages, are_never_more_in_two_levels) {
  std::vector<int> all;
  for (int rank = 0; rank < GetParam().ranks; ++rank) all.push_back(rank);
  expect_counts(GetParam(), all, GetParam().ranks);
}

/// Two ranks of each of two hosts that have three: as if the others were not.
TEST(CrossingMessagesOfAPart, are_as_few_as_those_of_a_job_of_its_members) {
  for (Row row : std::span(kRows).first(4)) {
    row.hosts = "node%r/3";
    expect_counts(row, {0, 1, 3, 4}, 6);
  }
}

}  // namespace
}  // namespace weft
