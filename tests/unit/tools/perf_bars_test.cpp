#include "perf/report/bars.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::tools::perf {
namespace {

class Bars : public ::testing::Test {
 protected:
  /// Rounds of a measurement, in the state of the machine that all are made in.
  void add(const char* name, const std::vector<double>& values) {
    Series series{.measurement = find_measurement(name), .rounds = {}};
    ASSERT_NE(series.measurement, nullptr) << name;
    series.variant = info_of(series.measurement->workload).own();
    for (const double value : values) {
      Round round;
      round.value = value;
      round.before_ns = round.after_ns = 55;
      round.state = 0;
      series.rounds.push_back(round);
    }
    results_.series.push_back(std::move(series));
  }
  /// Every library that takes part in the workload.
  void add_peers(const std::string& workload, const std::vector<double>& values) {
    for (const char* peer : {"/ucp", "/mpich", "/openmpi"}) add((workload + peer).c_str(), values);
  }
  Judged judged(const char* name) {
    const std::vector<Judged> all = judge_bars(results_);
    const auto found =
        std::ranges::find_if(all, [&](const Judged& each) { return each.series->measurement->name == name; });
    if (found == all.end()) throw std::out_of_range(name);
    return *found;
  }
  Verdict verdict(const char* name) { return judged(name).verdict; }
  /// The first rounds of a series, which something disturbed.
  void disturb(const char* name, std::size_t rounds, const auto& how) {
    for (Series& series : results_.series)
      for (std::size_t i = 0; series.measurement->name == name && i < rounds; ++i) how(series.rounds[i]);
  }
  Results results_;
};

TEST_F(Bars, are_left_out_where_one_side_was_not_measured) {
  add("matched/weft", {1, 1});
  add("matched-latency/ucp", {1, 1});
  EXPECT_TRUE(judge_bars(results_).empty());
}

TEST_F(Bars, are_met_when_the_whole_interval_meets_them) {
  add_peers("matched", {10, 10, 10, 10, 10, 10});
  add("matched/weft", {21, 22, 21, 25, 24, 23});
  add("matched/weft-serial", {31, 32, 31, 35, 34, 33});
  EXPECT_EQ(verdict("matched/weft"), Verdict::met);
  EXPECT_EQ(verdict("matched/weft-serial"), Verdict::aim_met);
}

TEST_F(Bars, are_undecided_when_they_lie_inside_the_interval) {
  add_peers("matched", {10, 10, 10, 10, 10, 10});
  add("matched/weft", {19, 22, 21, 25, 24, 23});
  EXPECT_EQ(verdict("matched/weft"), Verdict::undecided);
}

TEST_F(Bars, that_are_undecided_name_both_sides_of_what_they_compare) {
  add("matched/ucp", {10, 10, 10, 10, 10, 10});
  add("matched/mpich", {5, 5, 5, 5, 5, 5});
  add("matched/openmpi", {5, 5, 5, 5, 5, 5});
  add("matched/weft", {19, 22, 21, 25, 24, 23});
  add("matched/weft-serial", {31, 32, 31, 35, 34, 33});
  const std::vector<Judged> judged = judge_bars(results_);
  std::vector<std::string_view> undecided;
  for (const Series& series : results_.series) {
    if (is_undecided(judged, series)) undecided.push_back(series.measurement->name);
  }
  EXPECT_EQ(undecided, (std::vector<std::string_view>{"matched/ucp", "matched/weft"}));
}

TEST_F(Bars, are_missed_when_no_round_meets_them) {
  add_peers("matched", {10, 10, 10, 10, 10, 10});
  add("matched/weft", {15, 12, 19, 19, 14, 13});
  EXPECT_EQ(verdict("matched/weft"), Verdict::missed);
}

TEST_F(Bars, take_the_best_of_the_other_libraries) {
  add("matched/ucp", {10, 10, 10, 10, 10, 10});
  add("matched/mpich", {50, 50, 50, 50, 50, 50});
  add("matched/openmpi-ucx", {20, 20, 20, 20, 20, 20});
  add("matched/weft", {25, 25, 25, 25, 25, 25});
  EXPECT_EQ(verdict("matched/weft"), Verdict::missed);
}

TEST_F(Bars, want_times_to_be_smaller) {
  add("matching/ucp", {100, 100, 100, 100, 100, 100});
  add("matching/weft", {40, 45, 44, 41, 49, 40});
  add("matching/weft-serial", {60, 60, 60, 60, 60, 60});
  EXPECT_EQ(verdict("matching/weft"), Verdict::met);
  EXPECT_EQ(verdict("matching/weft-serial"), Verdict::missed);
}

TEST_F(Bars, are_not_judged_by_whoever_is_there) {
  add("matched/ucp", {10, 10, 10, 10, 10, 10});
  add("matched/weft", {25, 25, 25, 25, 25, 25});
  const Judged without = judged("matched/weft");
  EXPECT_EQ(without.verdict, Verdict::not_judged);
  EXPECT_EQ(verdict_text(without), "not judged: MPICH, Open MPI were not measured");
  EXPECT_FALSE(is_undecided(judge_bars(results_), results_.series.front()));
  add("matched/mpich", {5, 5, 5, 5, 5, 5});
  EXPECT_EQ(verdict_text(judged("matched/weft")), "not judged: Open MPI was not measured");
  add("matched/openmpi-ucx", {5, 5, 5, 5, 5, 5});
  EXPECT_EQ(verdict("matched/weft"), Verdict::met);
}

TEST_F(Bars, are_not_judged_by_rounds_of_which_most_were_disturbed) {
  add_peers("matched", {10, 10, 10, 10, 10, 10});
  add("matched/weft", {25, 25, 25, 25, 25, 25});
  const auto busy = [](Round& round) { round.core_share = 0.6; };
  disturb("matched/weft", 3, busy);
  EXPECT_EQ(verdict("matched/weft"), Verdict::met);
  disturb("matched/weft", 4, busy);
  EXPECT_EQ(verdict_text(judged("matched/weft")), "not judged: 4 of 6 rounds were disturbed");
  EXPECT_TRUE(is_undecided(judge_bars(results_), results_.series.back())) << "further rounds may help";
}

TEST_F(Bars, are_not_judged_when_the_other_side_was_disturbed) {
  add("matching/ucp", {100, 100, 100, 100, 100, 100});
  add("matching/weft", {40, 45, 44, 41, 49, 40});
  disturb("matching/ucp", 5, [](Round& round) { round.kept = false; });
  EXPECT_EQ(verdict_text(judged("matching/weft")),
            "not judged: 5 of 6 rounds of matching/ucp were disturbed");
}

TEST_F(Bars, do_not_blame_threads_that_share_cores_for_it) {
  add("pairs-2/weft-am", {1, 1, 1, 1, 1, 1});
  results_.series.back().oversubscribed = true;
  for (Round& round : results_.series.back().rounds) {
    round.core_share = 0.5;
    round.parts = {0.5, 0.5};
  }
  EXPECT_EQ(verdict("pairs-2/weft-am"), Verdict::aim_met);
}

TEST_F(Bars, leave_another_state_of_the_machine_its_own_figures) {
  add("matched/weft", {20, 20, 20, 10, 11, 12});
  add("matched/ucp", {10, 10, 10, 5, 5, 6});
  for (Series& series : results_.series)
    for (std::size_t i = 3; i < 6; ++i) series.rounds[i].before_ns = series.rounds[i].after_ns = 165;
  results_.series.front().rounds[0].after_ns = 165;  // the machine changed
  judge_rounds(results_);
  ASSERT_EQ(results_.states.size(), 2U);
  EXPECT_EQ(distance_of(results_.states[1]), "near");  // which has one probe less
  const Series& weft = results_.series.front();
  const Series& ucp = results_.series.back();
  EXPECT_EQ(spread_in_state(weft, 0).median, 11);
  EXPECT_EQ(spread_in_state(weft, 0).count, 3U);
  EXPECT_EQ(spread_in_state(weft, 1).median, 20);
  EXPECT_EQ(spread_in_state(weft, 1).count, 2U);
  EXPECT_EQ(ratio_in_state(weft, &ucp, 1).median, 2);
  EXPECT_EQ(rounds_in_state(results_, 0) + rounds_in_state(results_, 1), 11U);
  EXPECT_FALSE(weft.rounds[0].state.has_value());
}

TEST_F(Bars, name_measurements_that_exist) {
  for (const Measurement& each : catalogue()) EXPECT_EQ(find_measurement(each.name), &each);
}

}  // namespace
}  // namespace weft::tools::perf
