// Replays on the study's engines: depths that are known, traces, soaks, and what is refused.
#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "study/matching/replay.hpp"
#include "study/matching/soak.hpp"
#include "study/matching/trace_replay.hpp"

namespace weft::tools::study {
namespace {

std::string reason(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Replay, of_a_list_has_the_depth_that_theory_says) {
  for (const char* const decomposition : {"naive:9", "5pt:8x8", "9pt:5x7", "7pt:4x4x4", "27pt:1x1x32"})
    for (const ArrivalOrder order : {ArrivalOrder::in_order, ArrivalOrder::reversed, ArrivalOrder::random}) {
      const MatchingRow row =
          replay(engine_named("list"),
                 {.decomposition = parse_decomposition(decomposition), .order = order, .runs = 2});
      EXPECT_EQ(row.keeps_bound(), std::optional(true))
          << decomposition << " " << name_of(order) << ": " << row.mean_depth << " instead of " << *row.bound;
    }
}

TEST(Replay, of_wefts_engines_searches_nothing) {
  for (const char* const name : {"hash", "ordered"})
    for (const ArrivalOrder order : {ArrivalOrder::reversed, ArrivalOrder::random, ArrivalOrder::interleaved})
      for (const int senders : {1, 3}) {
        const MatchingRow row =
            replay(engine_named(name), {.decomposition = parse_decomposition("27pt:1x1x256"),
                                        .order = order,
                                        .senders = senders,
                                        .runs = 1});
        EXPECT_EQ(row.counts.messages, 6146U);
        // The tags of one rank lie beside each other; those of several ranks may share buckets.
        EXPECT_LE(row.mean_depth, senders == 1 ? 1.0 : 1.2) << name << " " << name_of(order);
        EXPECT_EQ(row.longest, 6146U);
      }
}

TEST(Replay, from_several_ranks_is_what_rank_lists_are_for) {
  const auto depth = [](const char* engine, int senders) {
    return replay(engine_named(engine),
                  {.decomposition = parse_decomposition("27pt:4x4x4"), .senders = senders, .runs = 2})
        .mean_depth;
  };
  EXPECT_GT(depth("rank-lists", 1), 150);
  EXPECT_LT(depth("rank-lists", 8), 40);
  EXPECT_GT(depth("list", 8), 150);
}

TEST(Replay, knows_its_names) {
  EXPECT_EQ(reason([] { static_cast<void>(engine_named("lists")); }),
            "there is no matching engine 'lists'; there are list, rank-lists, bins, fuzzy, hash, ordered");
  EXPECT_EQ(reason([] { static_cast<void>(arrival_order_named("sorted")); }),
            "there is no order 'sorted'; there are in-order, reversed, random and interleaved");
}

class Trace : public testing::Test {
 protected:
  ~Trace() override { std::filesystem::remove(path_); }
  const std::string& write(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("weft-trace-test-" + std::to_string(::getpid()))).string();
};

TEST_F(Trace, is_replayed_on_every_engine) {
  const MatchingTrace trace =
      read_trace(write("# weft matching trace 1, rank 0 of 4, 8 events, 0 dropped\n"
                       "post 0 1 5 0 ffffffffffffffff 100000000\n"
                       "post 0 2 6 0 ffffffffffffffff 100000001\n"
                       "arrive 0 2 6 0\n"
                       "cancel 0 100000000\n"
                       "arrive 0 1 5 0\n"
                       "take 0 1 5 0 ffffffffffffffff\n"
                       "arrive 300 3 9 0\n"
                       "post 300 3 9 0 ffffffffffffffff 0\n"));
  EXPECT_EQ(trace.ranks, 4);
  EXPECT_FALSE(trace.has_wildcards());
  for (const StudyEngine& engine : study_engines()) {
    const MatchingRow row = replay_trace(engine, trace, 2);
    EXPECT_EQ(row.remark, "") << engine.name;
    EXPECT_EQ(row.counts.messages, 3U);
    EXPECT_EQ(row.matches, std::optional<std::uint64_t>(3)) << engine.name;
    EXPECT_GT(row.mean_depth, 0);
    EXPECT_EQ(row.drain_us.count, 2U);
  }
  EXPECT_EQ(replay_trace(engine_named("list"), trace, 1).deepest, 2U) << "the second receive that was posted";
}

TEST_F(Trace, with_wildcards_needs_an_ordered_engine) {
  const MatchingTrace trace =
      read_trace(write("# weft matching trace 1, rank 0 of 4, 2 events, 0 dropped\n"
                       "post 256 -1 5 0 ffffffffffffffff 1\n"
                       "arrive 256 2 5 0\n"));
  EXPECT_TRUE(trace.has_wildcards());
  EXPECT_EQ(replay_trace(engine_named("hash"), trace, 1).remark, "the trace has wildcards");
  EXPECT_EQ(replay_trace(engine_named("bins"), trace, 1).remark, "");
}

TEST_F(Trace, that_is_none_is_refused_with_its_line) {
  EXPECT_EQ(reason([] { static_cast<void>(read_trace("/nowhere/trace")); }),
            "/nowhere/trace: No such file or directory");
  write("hello\n");
  EXPECT_EQ(
      reason([&] { static_cast<void>(read_trace(path_)); }),
      path_ +
          ": it is no matching trace: its first line does not begin with '# weft matching trace 1, rank'");
  write("# weft matching trace 1, rank 0 of 1, 0 events, 0 dropped\n");
  EXPECT_EQ(reason([&] { static_cast<void>(read_trace(path_)); }), path_ + ": the trace has no events");
  for (const char* const line :
       {"post 0 1", "arrive 0 x 5 0", "send 0 1 5 0", "cancel 0", "arrive 0 1 5 0 7"}) {
    write("# weft matching trace 1, rank 0 of 1, 1 events, 0 dropped\n" + std::string(line) + "\n");
    EXPECT_EQ(reason([&] { static_cast<void>(read_trace(path_)); }),
              path_ + ":2: '" + line + "' is no step of a matching trace");
  }
}

TEST_F(Trace, with_a_source_that_is_no_rank_is_refused) {
  for (const char* const line :
       {"arrive 256 4 5 0", "arrive 256 -1 5 0", "post 0 -1 5 0 ff 1", "take 0 99 5 0 ff"}) {
    write("# weft matching trace 1, rank 0 of 4, 1 events, 0 dropped\n" + std::string(line) + "\n");
    EXPECT_NE(reason([&] { static_cast<void>(read_trace(path_)); }).find(":2: source "), std::string::npos)
        << line;
  }
  write("# weft matching trace 1, rank 0 of 0, 0 events, 0 dropped\n");
  EXPECT_NE(reason([&] { static_cast<void>(read_trace(path_)); }).find("is no matching trace"),
            std::string::npos);
}

TEST(Soak, loses_doubles_and_mismatches_nothing) {
  for (const StudyEngine& engine : study_engines())
    for (const int threads : {1, 3}) {
      const SoakRow row = soak(engine, {.messages = 50'000, .threads = threads}, [](double) {});
      EXPECT_EQ(row.messages, 50'000U);
    }
}

class HundredMillion : public testing::TestWithParam<const char*> {};

TEST_P(HundredMillion, messages_come_through_an_engine) {
  const char* const nightly = std::getenv("WEFTDEV_NIGHTLY");
  if (nightly == nullptr || std::string(nightly) != "1") GTEST_SKIP() << "runs with WEFTDEV_NIGHTLY=1";
  EXPECT_EQ(soak(engine_named(GetParam()), {}, [](double) {}).messages, 100'000'000U);
}
INSTANTIATE_TEST_SUITE_P(Soak, HundredMillion,
                         testing::Values("list", "rank-lists", "bins", "fuzzy", "hash", "ordered"));

}  // namespace
}  // namespace weft::tools::study
