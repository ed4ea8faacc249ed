// The page of --report: every workload as bars or curves, then the bars of bars.hpp, then the remarks.
#include <weft/topology.hpp>
#include <weft/version.hpp>

#include <fmt/core.h>

#include <iterator>

#include "common/chart_page.hpp"
#include "experiment/report/report_files.hpp"
#include "perf/report/bars.hpp"
#include "perf/report/plots.hpp"
#include "perf/report/report_formats.hpp"

namespace weft::tools::perf {
namespace {

std::string table_of_bars(const Results& results) {
  const std::vector<Judged> judged = judge_bars(results);
  if (judged.empty()) return {};
  std::string text = fmt::format(
      "<h2>Bars</h2>\n<p class=\"note\">Judged by the rounds that were made while cores were {}.</p>\n<div "
      "class=\"wide\"><table>\n<tr><th>figure<th>ratio<th class=\"words\">verdict<th>must<th>aim<th>interval"
      "<th>to</tr>\n",
      state_text(results.state));
  for (const Judged& each : judged) {
    const char* sign = each.smaller_is_better() ? "&le;" : "&ge;";
    const Spread& ratio = each.ratio;
    fmt::format_to(std::back_inserter(text),
                   "<tr><td>{}<td>{}<td class=\"words\">{}<td>{} {:g}<td>{} {:g}<td>{}<td>{}</tr>\n",
                   name_of(each), ratio.count == 0 ? "-" : fmt::format("{:.2f}", ratio.median),
                   escaped(verdict_text(each)), sign, each.bar->must, sign, each.bar->aim,
                   ratio.count == 0 ? "-"
                                    : fmt::format("{:.2f} .. {:.2f} ({:.0f} %)", ratio.interval_low,
                                                  ratio.interval_high, 100 * ratio.confidence),
                   base_of(each));
  }
  return text + "</table></div>\n";
}

/// The figures of the rounds that were made in another state of the machine than most.
std::string other_states(const Results& results) {
  std::string text;
  for (std::size_t state = 1; state < results.states.size(); ++state) {
    std::string rows;
    for (const Series& series : results.series) {
      const Spread spread = spread_in_state(series, state);
      if (spread.count == 0) continue;
      const Spread mostly = spread_of(series);
      const auto shown = [&](double value) { return escaped(figure_text(series, value)); };
      fmt::format_to(std::back_inserter(rows), "<tr><td>{}<td>{}<td>{} .. {}<td>{}<td>{}</tr>\n",
                     series.measurement->name, shown(spread.median), shown(spread.low), shown(spread.high),
                     spread.count, mostly.count == 0 ? "-" : shown(mostly.median));
    }
    if (rows.empty()) continue;
    fmt::format_to(
        std::back_inserter(text),
        "<h2>While cores were {}</h2>\n<p class=\"note\">A result of its own: {}. The last column is the "
        "figure of most rounds.</p>\n<div class=\"wide\"><table>\n<tr><th>measurement<th>median<th>lowest .. "
        "highest<th>rounds<th>mostly</tr>\n{}</table></div>\n",
        distance_of(results.states[state]), state_text(results.states[state]), rows);
  }
  return text;
}

}  // namespace

std::string as_html(const Results& results, std::string_view command) {
  const Topology host = read_topology();
  std::string text = fmt::format(
      "<h1>weft {} on {}</h1>\n<p>{} cores, two ranks; {} rounds of {:g} s each, alternated. Cores were {} "
      "most of the time.</p>\n{}"
      "<p class=\"note\">Bars and points are medians, whiskers the lowest and the highest round. Each "
      "library "
      "has one colour; grey is what the machine could do at best.</p>\n",
      library_version(), escaped(host.processor), host.cores.size(), results.options.rounds,
      results.options.seconds, state_text(results.state),
      is_disturbed(results)
          ? fmt::format("<p><strong>Not comparable: {}.</strong></p>\n", escaped(text_of_others(results)))
          : "");
  text += table_of_bars(results);
  text += plots_against_threads(results);
  for (const WorkloadInfo& workload : all_workloads()) text += plots_of(results, workload);
  text += other_states(results);
  text += list_section("Remarks", results.remarks);
  return chart_page("weft perf", text, command);
}

}  // namespace weft::tools::perf
