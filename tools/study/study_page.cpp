// The page of --report: a picture and a table for each experiment, then the findings.
#include <weft/topology.hpp>
#include <weft/version.hpp>

#include <fmt/core.h>

#include "common/chart_page.hpp"
#include "experiment/report/report_files.hpp"
#include "study/study_results.hpp"

namespace weft::tools::study {

namespace {

/// How the values of a unit are written, and what has to be multiplied with them for that.
struct Written {
  Quantity quantity = Quantity::number;
  double factor = 1;
};
Written written(const std::string& unit) {
  if (unit == "us") return {Quantity::seconds, 1e-6};
  if (unit == "GB/s") return {Quantity::bytes_per_second, 1e9};
  if (unit.starts_with("million")) return {Quantity::per_second, 1e6};
  return {};
}

std::string figure_name(const Experiment& shown) {
  if (shown.unit == "GB/s") return "bandwidth";
  if (shown.figure == "efficiency") return "efficiency";
  if (shown.figure == "metg_us") return "task granularity";
  if (shown.unit == "us") return "latency";
  return shown.figure.substr(0, shown.figure.find('_')) + " per second";
}

/// Names are no positions on an axis.
bool is_of_names(const Experiment& shown) { return shown.x_name == "tree" || shown.x_name == "pattern"; }

Chart chart_of(const StudyResults& results, std::size_t experiment) {
  const Experiment& shown = results.experiments[experiment];
  const Written value = written(shown.unit);
  const bool is_time = shown.x_name.starts_with("microseconds");
  const double x_factor = is_time ? 1e-6 : 1;
  Chart chart{
      .title = shown.title,
      .note = shown.more_is_better ? "more is better" : "less is better",
      .x = {is_time ? "length of each task" : shown.x_name, is_time                   ? Quantity::seconds
                                                            : shown.x_name == "bytes" ? Quantity::bytes
                                                                                      : Quantity::number},
      .value = {figure_name(shown), value.quantity}};
  if (is_of_names(shown)) chart.form = Chart::Form::bars;
  for (std::size_t variant = 0; variant < results.variants.size(); ++variant) {
    // A variant without points keeps its position, so that colours are the same in all charts.
    ChartSeries& series = chart.series.emplace_back(ChartSeries{results.variants[variant].name, {}});
    for (std::size_t point = 0; point < shown.cases.size(); ++point) {
      const Spread spread = results.figure(experiment, point, variant);
      if (spread.count == 0) continue;
      const double x = is_of_names(shown) ? static_cast<double>(point)
                                          : results.x_of(experiment, point, variant) * x_factor;
      series.points.push_back(
          {x, spread.median * value.factor, spread.low * value.factor, spread.high * value.factor});
    }
  }
  if (is_of_names(shown))
    for (const StudyCase& each : shown.cases) chart.categories.push_back(each.label);
  return chart;
}

}  // namespace

std::string as_html(const StudyResults& results) {
  const Topology host = read_topology();
  std::string text = fmt::format(
      "<h1>weft study {}</h1>\n<p>weft {} on {}, {} cores; {} ranks with {} worker{} each; {} round{}, the "
      "variants alternating.</p>\n<p class=\"note\">Points and bars are medians, whiskers the lowest and the "
      "highest round.</p>\n",
      results.options.study, library_version(), escaped(host.processor), host.cores.size(),
      results.options.ranks, results.options.workers, results.options.workers == 1 ? "" : "s",
      results.options.rounds, results.options.rounds == 1 ? "" : "s");
  for (std::size_t experiment = 0; experiment < results.experiments.size(); ++experiment) {
    const std::string section = chart_section(chart_of(results, experiment));
    text += section.empty() ? "<h2>" + escaped(results.experiments[experiment].title) +
                                  "</h2>\n<p class=\"note\">No variant has this figure.</p>\n"
                            : section;
    for (const std::string& gap : gaps_of(results, experiment))
      text += "<p class=\"note\">" + escaped(gap) + "</p>\n";
  }
  text += list_section("Findings", with_left_out(findings_of(results), results.remarks));
  return chart_page("weft study " + results.options.study, text, results.options.command);
}

}  // namespace weft::tools::study
