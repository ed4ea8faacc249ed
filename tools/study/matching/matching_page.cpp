// The page of `weft study matching --report`: charts like the paper's figures, each with its table.
#include <weft/version.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/chart_page.hpp"
#include "experiment/report/report_files.hpp"
#include "study/matching/matching_groups.hpp"

namespace weft::tools::study {

namespace {

constexpr double kMicrosecond = 1e-6;
constexpr double kBudget = 1e-3;  // seconds

bool is_time(const MatchingFigure& figure) { return std::string_view(figure.name) == "drain_us"; }

/// The engines and libraries of all groups. A chart without figures of one keeps its position, so that
/// colours are the same in all charts.
std::vector<std::string> engines_of(const std::vector<MatchingGroup>& groups) {
  std::vector<std::string> engines;
  for (const MatchingGroup& group : groups)
    for (const std::string& engine : group.engines)
      if (std::find(engines.begin(), engines.end(), engine) == engines.end()) engines.push_back(engine);
  return engines;
}

/// A figure of all scenarios, an engine a series; over messages, as the paper draws them.
Chart chart_of(const MatchingGroup& group, const MatchingFigure& figure,
               const std::vector<std::string>& engines) {
  const double factor = is_time(figure) ? kMicrosecond : 1;
  const bool is_sweep = !group.rows.front()->sweep.empty();
  Chart chart{.title = fmt::format("{}: {}", group.title, is_time(figure) ? "drain time" : "search depth"),
              .note = is_time(figure) ? "time until all messages are matched; less is better"
                                      : "entries compared for a message on average; less is better",
              .x = {is_sweep ? "threads" : "messages of the exchange", Quantity::number, Scale::logarithmic},
              .value = {is_time(figure) ? "time of a drain" : "search depth",
                        is_time(figure) ? Quantity::seconds : Quantity::number, Scale::logarithmic}};
  if (group.rows.front()->mode == "trace") {
    chart.form = Chart::Form::bars;
    chart.categories = group.scenarios;
  }
  const auto x_of = [&](std::size_t index) {
    if (chart.form == Chart::Form::bars) return static_cast<double>(index);
    const MatchingRow& row = group.any(group.scenarios[index]);
    return static_cast<double>(is_sweep ? row.threads : row.counts.messages);
  };
  const auto add = [&](const std::string& name, const auto& value_of) {
    ChartSeries series{name};
    for (std::size_t index = 0; index < group.scenarios.size(); ++index)
      if (std::optional<ChartPoint> point = value_of(group.scenarios[index])) {
        point->x = x_of(index);
        series.points.push_back(*point);
      }
    // Lines go from left to right, whatever the order of the scenarios.
    std::sort(series.points.begin(), series.points.end(),
              [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
    chart.series.push_back(std::move(series));
  };
  for (const std::string& engine : engines)
    add(engine, [&](const std::string& scenario) -> std::optional<ChartPoint> {
      const MatchingRow* const row = group.find(scenario, engine);
      const std::optional<double> value = row == nullptr ? std::nullopt : figure.of(*row);
      if (!value) return std::nullopt;
      const Spread& spread = is_time(figure) ? row->drain_us : row->depth;
      return ChartPoint{0, *value * factor, spread.low * factor, spread.high * factor};
    });
  const auto add_line = [&](const char* name, auto value_of, double unit) {
    add(name, [&](const std::string& scenario) -> std::optional<ChartPoint> {
      const std::optional<double> value = value_of(group, scenario);
      return value ? std::optional(ChartPoint{0, *value * unit}) : std::nullopt;
    });
  };
  if (is_time(figure)) {
    chart.bands.push_back({"the budget of 1 ms", 0, kBudget});
    add_line("list, on the paper's machine", paper_us_of, kMicrosecond);
  } else {
    add_line("list, by theory", bound_of, 1);
    add_line("list, interleaved replay", simulated_of, 1);
    add_line("list, printed by the paper", paper_depth_of, 1);
  }
  return chart;
}

/// Adds a curve for each resource, over threads.
template <class PointOf>
Chart over_threads(Chart chart, const std::vector<ResourceRow>& resources, const PointOf& point_of) {
  chart.x = {"threads", Quantity::number, Scale::logarithmic};
  for (const ResourceRow& row : resources) {
    auto series = std::find_if(chart.series.begin(), chart.series.end(),
                               [&](const ChartSeries& each) { return each.name == row.resource; });
    if (series == chart.series.end()) series = chart.series.insert(chart.series.end(), {row.resource});
    series->points.push_back(point_of(row));
  }
  return chart;
}

std::string resource_sections(const std::vector<ResourceRow>& resources) {
  return chart_section(over_threads(
             {.title = "Throughput of single structures under several threads",
              .note = "pairs of operations, something in and something out, of all threads; more is better",
              .value = {"pairs per second", Quantity::per_second, Scale::logarithmic}},
             resources,
             [](const ResourceRow& row) {
               const Spread& rate = row.operations_per_us;
               return ChartPoint{static_cast<double>(row.threads), rate.median * 1e6, rate.low * 1e6,
                                 rate.high * 1e6};
             })) +
         chart_section(
             over_threads({.title = "Contention of single structures",
                           .note = "attempts of a thousand pairs that found another thread inside; less is "
                                   "better",
                           .value = {"contended attempts", Quantity::number, Scale::linear}},
                          resources, [](const ResourceRow& row) {
                            return ChartPoint{static_cast<double>(row.threads), row.contended};
                          }));
}

}  // namespace

std::string matching_html(const MatchingResults& results) {
  std::string text = fmt::format(
      "<h1>weft study matching</h1>\n<p>weft {} on {}; {} runs of each measurement, seed {}.</p>\n<p "
      "class=\"note\">Points and bars are medians, whiskers the lowest and the highest run. Figures of the "
      "paper (W. Schonbein et al., Measuring Multithreaded Message Matching Misery, Euro-Par 2018) were "
      "measured on their machine.</p>\n",
      library_version(), escaped(results.machine), results.runs, results.seed);
  const std::vector<MatchingGroup> groups = groups_of(results);
  const std::vector<std::string> engines = engines_of(groups);
  for (const MatchingGroup& group : groups)
    for (const MatchingFigure& figure : matching_figures())
      text += chart_section(chart_of(group, figure, engines));
  if (!results.resources.empty()) text += resource_sections(results.resources);
  std::vector<std::string> findings;
  for (const SoakRow& row : results.soaks) findings.push_back(text_of(row));
  for (std::string& each : matching_findings(results)) findings.push_back(std::move(each));
  text += list_section("Findings", with_left_out(std::move(findings), results.remarks));
  return chart_page("weft study matching", text, results.command);
}

}  // namespace weft::tools::study
