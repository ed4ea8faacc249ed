// The page of --report: every workload as bars or curves, then the bars of bars.hpp, then the remarks.
#include <weft/topology.hpp>
#include <weft/version.hpp>

#include <fmt/core.h>

#include <iterator>

#include "common/chart_page.hpp"
#include "perf/report/bars.hpp"
#include "perf/report/plots.hpp"
#include "perf/report/report_formats.hpp"

namespace weft::tools::perf {
namespace {

std::string table_of_bars(const Results& results) {
  const std::vector<Judged> judged = judge_bars(results);
  if (judged.empty()) return {};
  std::string text =
      "<h2>Bars</h2>\n<div class=\"wide\"><table>\n"
      "<tr><th>figure<th>to<th>ratio<th>interval<th>confidence<th>must<th>aim<th>verdict</tr>\n";
  for (const Judged& each : judged) {
    const char* sign = each.smaller_is_better() ? "&le;" : "&ge;";
    fmt::format_to(
        std::back_inserter(text),
        "<tr><td>{}<td>{}<td>{:.2f}<td>{:.2f} .. {:.2f}<td>{:.0f} %<td>{} {:g}<td>{} {:g}<td>{}</tr>\n",
        name_of(each), base_of(each), each.ratio.median, each.ratio.interval_low, each.ratio.interval_high,
        100 * each.ratio.confidence, sign, each.bar->must, sign, each.bar->aim, text_of(each.verdict));
  }
  return text + "</table></div>\n";
}

}  // namespace

std::string as_html(const Results& results, std::string_view command) {
  const Topology host = read_topology();
  std::string text = fmt::format(
      "<h1>weft {} on {}</h1>\n<p>{}, {} cores, two ranks. <code>{}</code>: {} rounds of {:g} s "
      "each, alternated. "
      "A cache line took {:.0f} to {:.0f} ns from one core to the other.</p>\n"
      "<p class=\"note\">Bars and points are medians, whiskers the lowest and the highest round. Each "
      "library "
      "has one colour; grey is what the machine could do at best.</p>\n",
      library_version(), date_text(), escaped(host.processor), host.cores.size(), escaped(command),
      results.options.rounds, results.options.seconds, results.state.low_ns, results.state.high_ns);
  text += table_of_bars(results);
  text += plots_against_threads(results);
  for (const WorkloadInfo& workload : all_workloads()) text += plots_of(results, workload);
  if (!results.remarks.empty()) {
    text += "<h2>Remarks</h2>\n<ul>\n";
    for (const std::string& remark : results.remarks) text += "<li>" + escaped(remark) + "\n";
    text += "</ul>\n";
  }
  return chart_page("weft perf", text);
}

}  // namespace weft::tools::perf
