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
      series.rounds.push_back(round);
    }
    results_.series.push_back(std::move(series));
  }
  Verdict verdict(const char* name) {
    const std::vector<Judged> judged = judge_bars(results_);
    const auto found = std::ranges::find_if(
        judged, [&](const Judged& each) { return each.series->measurement->name == name; });
    if (found == judged.end()) throw std::out_of_range(name);
    return found->verdict;
  }
  Results results_;
};

TEST_F(Bars, are_left_out_where_one_side_was_not_measured) {
  add("matched/weft", {1, 1});
  add("matched-latency/ucp", {1, 1});
  EXPECT_TRUE(judge_bars(results_).empty());
}

TEST_F(Bars, are_met_when_the_whole_interval_meets_them) {
  add("matched/ucp", {10, 10, 10, 10, 10, 10});
  add("matched/weft", {21, 22, 21, 25, 24, 23});
  add("matched/weft-serial", {31, 32, 31, 35, 34, 33});
  EXPECT_EQ(verdict("matched/weft"), Verdict::met);
  EXPECT_EQ(verdict("matched/weft-serial"), Verdict::aim_met);
}

TEST_F(Bars, are_undecided_when_they_lie_inside_the_interval) {
  add("matched/ucp", {10, 10, 10, 10, 10, 10});
  add("matched/weft", {19, 22, 21, 25, 24, 23});
  EXPECT_EQ(verdict("matched/weft"), Verdict::undecided);
}

TEST_F(Bars, that_are_undecided_name_both_sides_of_what_they_compare) {
  add("matched/ucp", {10, 10, 10, 10, 10, 10});
  add("matched/mpich", {5, 5, 5, 5, 5, 5});
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
  add("matched/ucp", {10, 10, 10, 10, 10, 10});
  add("matched/weft", {15, 12, 19, 19, 14, 13});
  EXPECT_EQ(verdict("matched/weft"), Verdict::missed);
}

TEST_F(Bars, take_the_best_of_the_other_libraries) {
  add("matched/ucp", {10, 10, 10, 10, 10, 10});
  add("matched/mpich", {50, 50, 50, 50, 50, 50});
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

TEST_F(Bars, name_measurements_that_exist) {
  for (const Measurement& each : catalogue()) EXPECT_EQ(find_measurement(each.name), &each);
}

}  // namespace
}  // namespace weft::tools::perf
