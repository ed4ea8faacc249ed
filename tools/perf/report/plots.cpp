#include "perf/report/plots.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "common/chart_axis.hpp"
#include "common/chart_page.hpp"
#include "common/chart_picture.hpp"
#include "perf/report/report_formats.hpp"
#include "perf/workloads/variant_text.hpp"

namespace weft::tools::perf {
namespace {

/// How the figures of a workload are written, and what has to be multiplied with them for that.
struct Written {
  Quantity quantity;
  double factor;
};
Written written(Unit unit) {
  switch (unit) {
    case Unit::messages:
      return {Quantity::per_second, 1};
    case Unit::bytes:
      return {Quantity::bytes_per_second, 1};
    case Unit::nanoseconds:
      return {Quantity::seconds, 1e-9};
    case Unit::percent:
      return {Quantity::percent, 1};
    case Unit::ratio:
      break;
  }
  return {Quantity::number, 1};
}

/// The name of the axis of figures.
std::string axis_of(const WorkloadInfo& workload) {
  switch (workload.unit) {
    case Unit::messages:
      return std::string(unit_of(workload.workload))
                 .substr(0, std::string_view(unit_of(workload.workload)).find('/')) +
             " per second";
    case Unit::bytes:
      return "bandwidth";
    case Unit::nanoseconds:
      return workload.workload == Workload::latency || workload.workload == Workload::matched_latency
                 ? "time, one way"
                 : "time";
    case Unit::percent:
      return "share of a core";
    case Unit::ratio:
      break;
  }
  return "ratio";
}

std::string better(const WorkloadInfo& workload) {
  return workload.smaller_is_better() ? "less is better" : "more is better";
}

ChartPoint point_of(const Series& series, double x) {
  const Spread spread = spread_of(series);
  const double factor = written(info_of(series.measurement->workload).unit).factor;
  return {x, spread.median * factor, spread.low * factor, spread.high * factor};
}

Chart bars_of(const Results& results, const WorkloadInfo& workload, const Variant& variant) {
  Chart chart{.title = std::string(workload.name),
              .note = fmt::format("{}; {}", what_of(workload, variant), better(workload)),
              .form = Chart::Form::bars,
              .x = {"library"},
              .value = {axis_of(workload), written(workload.unit).quantity}};
  for (const Series& series : results.series) {
    if (series.measurement->workload != workload.workload || series.variant != variant) continue;
    if (spread_of(series).count == 0) continue;
    const std::string library(library_of(*series.measurement->over));
    auto bars = std::ranges::find(chart.series, library, &ChartSeries::name);
    if (bars == chart.series.end()) bars = chart.series.insert(chart.series.end(), {library, library});
    bars->points.push_back(point_of(series, static_cast<double>(chart.categories.size())));
    chart.categories.emplace_back(shown_name(*series.measurement->over));
  }
  return chart;
}

/// Adds a series at x to the curve of its transport.
void add_point(Chart& chart, const Series& series, double x) {
  if (spread_of(series).count == 0) return;
  const std::string name(shown_name(*series.measurement->over));
  auto curve = std::ranges::find(chart.series, name, &ChartSeries::name);
  if (curve == chart.series.end())
    curve =
        chart.series.insert(chart.series.end(), {name, std::string(library_of(*series.measurement->over))});
  curve->points.push_back(point_of(series, x));
}

/// A parameter that a workload may be plotted against.
template <class Value>
struct Dimension {
  Value Variant::*member;
  const char* name;
  Quantity quantity;
};

/// Plots a workload against a dimension with several values: one plot for every combination of the other
/// dimensions.
template <class Value>
std::string curves_over(const Results& results, const WorkloadInfo& workload,
                        const std::vector<Variant>& variants, const Dimension<Value>& dimension) {
  std::set<Value> values;
  for (const Variant& each : variants) values.insert(each.*dimension.member);
  if (values.size() < 2) return {};
  std::string text;
  for (const Variant& first : variants) {
    if (first.*dimension.member != *values.begin()) continue;
    Variant others = first;  // the variant in the heading, without the dimension of the plot
    others.*dimension.member = workload.own().*dimension.member;
    Chart chart{
        .title = fmt::format("{}{} against {}", workload.name, text_of(others, workload), dimension.name),
        .note = better(workload),
        .x = {dimension.name, dimension.quantity},
        .value = {axis_of(workload), written(workload.unit).quantity}};
    for (const Value value : values) {
      Variant variant = first;
      variant.*dimension.member = value;
      for (const Series& series : results.series) {
        if (series.measurement->workload == workload.workload && series.variant == variant)
          add_point(chart, series, static_cast<double>(value));
      }
    }
    text += chart_section(chart);
  }
  return text;
}

struct Family {
  const char* heading;
  const char* note;
  std::vector<Workload> workloads;  // by number of threads
};

const Family kFamilies[] = {
    {"Message rate against threads, resources of their own",
     "Active messages of 8 bytes by 1 to 8 threads of each rank",
     {Workload::rate_threads_1, Workload::rate_threads_2, Workload::rate_threads_4,
      Workload::rate_threads_8}},
    {"Message rate against threads, shared resources",
     "Active messages of 8 bytes by 1 to 8 threads of each rank",
     {Workload::rate_threads_1, Workload::rate_shared_2, Workload::rate_shared_4, Workload::rate_shared_8}},
    {"Windows against threads, resources of their own",
     "Sends of 8 bytes, window 64, by 1, 2 and 4 threads of each rank",
     {Workload::threads_1, Workload::threads_2, Workload::threads_4}},
    {"Windows against threads, shared resources",
     "Sends of 8 bytes, window 64, by 1, 2 and 4 threads of each rank",
     {Workload::threads_1, Workload::shared_2, Workload::shared_4}},
    {"Windows against threads, in MPI's order",
     "Sends of 8 bytes, window 64, by 1, 2 and 4 pairs of threads: streams, devices by hand, one endpoint",
     {Workload::streams_1, Workload::streams_2, Workload::streams_4}},
    {"Round trips against threads, resources of their own",
     "Ping-pong of 8 bytes by 1, 2 and 4 pairs of threads",
     {Workload::pairs_1, Workload::pairs_2, Workload::pairs_4}},
    {"Round trips against threads, shared resources",
     "Ping-pong of 8 bytes by 1, 2 and 4 pairs of threads",
     {Workload::pairs_1, Workload::pairs_shared_2, Workload::pairs_shared_4}},
};

/// Curves of the workloads of a family that were measured with at least two numbers of threads; without
/// series when there are none.
Chart curves_of(const Results& results, const Family& family) {
  Chart chart{.title = family.heading,
              .note = fmt::format("{}; more is better", family.note),
              .x = {"threads of each rank"},
              .value = {axis_of(info_of(family.workloads.front())), Quantity::per_second}};
  bool has_threads = false;
  for (const Workload each : family.workloads) {
    const WorkloadInfo& workload = info_of(each);
    for (const Series& series : results.series) {
      if (series.measurement->workload != each || series.variant != workload.own()) continue;
      add_point(chart, series, workload.threads);
      has_threads = has_threads || workload.threads > 1;
    }
  }
  std::erase_if(chart.series, [](const ChartSeries& series) { return series.points.size() < 2; });
  if (!has_threads) chart.series.clear();
  return chart;
}

}  // namespace

std::string figure_text(const Series& series, double value) {
  const Written how = written(info_of(series.measurement->workload).unit);
  return value_text(value * how.factor, how.quantity);
}

std::string plots_of(const Results& results, const WorkloadInfo& workload) {
  const std::vector<Variant> variants = measured_variants(results, workload.workload);
  if (variants.size() == 1) return chart_section(bars_of(results, workload, variants.front()));
  return curves_over(results, workload, variants,
                     Dimension<std::size_t>{&Variant::size, "size", Quantity::bytes}) +
         curves_over(results, workload, variants,
                     Dimension<std::size_t>{&Variant::window, "window", Quantity::number}) +
         curves_over(results, workload, variants, Dimension<int>{&Variant::ranks, "ranks", Quantity::number});
}

std::string plots_against_threads(const Results& results) {
  std::string text;
  for (const Family& family : kFamilies) text += chart_section(curves_of(results, family));
  return text;
}

std::string picture_of_message_rate(const Results& results) {
  const Chart rate = curves_of(results, kFamilies[0]);
  if (is_empty(rate)) return {};
  const ChartPicture picture = chart_picture(rate);
  if (picture.svg.empty())
    fmt::print(stderr, "weft perf: message-rate.svg is left out: {}\n", picture.why_not);
  return picture.svg;
}

}  // namespace weft::tools::perf
