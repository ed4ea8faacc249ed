// What a match table and a record pool execute for a receive and its message: no system call, and no locked
// instruction where one thread uses them.
#include "budget/traced.hpp"
#include "core/matching/table/match_table.hpp"
#include "core/matching/table/record_pool.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <thread>

namespace weft::core {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
constexpr bool kMeasurable = false;
#else
constexpr bool kMeasurable = true;
#endif

struct Record : MatchLink, PooledRecord {};
using Table = MatchTable<Record>;

/// Posts 64 receives, then pairs them with arrivals.
void exchange(Table& table, RecordPool<Record>& pool) {
  for (std::uint64_t tag = 0; tag < 64; ++tag)
    if (table.pair(MatchSide::posted, {tag / 2, 1, 0}, [&] { return pool.take(); }).answer !=
        Table::Answer::kept)
      ::_exit(3);
  for (std::uint64_t tag = 0; tag < 64; ++tag) {
    const auto result =
        table.pair(MatchSide::unexpected, {tag / 2, 1, 0}, []() -> Record* { return nullptr; });
    if (result.answer != Table::Answer::matched) ::_exit(4);
    pool.release(*result.record);
  }
}

enum class Use { serial, by_one_thread, by_two_threads };

test::Trace trace_exchange(Use use) {
  return test::trace([&] {
    Table table(1024, use == Use::serial);
    RecordPool<Record> pool(1024, use == Use::serial);
    for (int warm_up = 0; use == Use::by_two_threads && warm_up < 10; ++warm_up)
      std::thread([&] { exchange(table, pool); }).join();
    for (int warm_up = 0; warm_up < 10; ++warm_up) exchange(table, pool);
    test::trace_mark();
    exchange(table, pool);
    test::trace_mark();
    ::_exit(0);
  });
}

TEST(Matching, of_one_thread_executes_no_locked_instruction) {
  if (!kMeasurable) GTEST_SKIP() << "only optimised builds without sanitizers and assertions are measured";
  const test::Trace trace = trace_exchange(Use::serial);
  if (trace.problem.find("not permitted") != std::string::npos) GTEST_SKIP() << trace.problem;
  ASSERT_EQ(trace.problem, "");
  EXPECT_GT(trace.instructions, 64U * 50) << "this cannot have been the path";
  EXPECT_EQ(trace.locked, 0U);
  EXPECT_EQ(trace.syscalls, 0U);
}

TEST(Matching, of_any_thread_executes_no_locked_instruction_while_there_is_no_second_one) {
  if (!kMeasurable) GTEST_SKIP() << "only optimised builds without sanitizers and assertions are measured";
  const test::Trace trace = trace_exchange(Use::by_one_thread);
  if (trace.problem.find("not permitted") != std::string::npos) GTEST_SKIP() << trace.problem;
  ASSERT_EQ(trace.problem, "");
  // A magazine that is full or empty takes one for each half of itself.
  EXPECT_LE(trace.locked, 8U);
  EXPECT_EQ(trace.syscalls, 0U);
}

TEST(Matching, of_many_threads_executes_one_for_a_receive_and_one_for_its_message) {
  if (!kMeasurable) GTEST_SKIP() << "only optimised builds without sanitizers and assertions are measured";
  const test::Trace trace = trace_exchange(Use::by_two_threads);
  if (trace.problem.find("not permitted") != std::string::npos) GTEST_SKIP() << trace.problem;
  ASSERT_EQ(trace.problem, "");
  EXPECT_GE(trace.locked, 128U);
  EXPECT_LE(trace.locked, 128U + 8U);
  EXPECT_EQ(trace.syscalls, 0U);
}

}  // namespace
}  // namespace weft::core
