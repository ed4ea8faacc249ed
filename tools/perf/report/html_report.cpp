// The page of --report: every workload as bars or curves, then the bars of bars.hpp, then the remarks.
#include <weft/topology.hpp>
#include <weft/version.hpp>

#include <fmt/core.h>

#include <iterator>

#include "common/svg.hpp"
#include "perf/report/bars.hpp"
#include "perf/report/plots.hpp"
#include "perf/report/report_formats.hpp"

namespace weft::tools::perf {
namespace {

constexpr const char* kStyle = R"(<style>
:root { color-scheme: light dark; --ink: #1c1c22; --soft: #6d6d78; --weft: #2563a8; --peer: #b98a3d; --limit: #9a9aa4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e4ea; --soft: #9a9aa4; --weft: #6aa5e6; --peer: #d7ae69; --limit: #6d6d78; }
}
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
svg { max-width: 100%; height: auto; font-size: 13px; } svg text { fill: var(--ink); }
.weft { fill: var(--weft); } .peer { fill: var(--peer); } .limit { fill: var(--limit); }
.line { fill: none; stroke-width: 2; } .line.weft { stroke: var(--weft); } .line.peer { stroke: var(--peer); }
.line.limit { stroke: var(--limit); } .grid { stroke: var(--soft); stroke-width: .5; opacity: .5; fill: none; }
.whisker { stroke: var(--ink); stroke-width: 1; fill: none; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .15rem .7rem .15rem 0; } th:first-child, td:first-child { text-align: left; }
th { color: var(--soft); font-weight: 600; border-bottom: 1px solid var(--soft); }
.key, .note { color: var(--soft); }
.wide { overflow-x: auto; }
</style>
)";

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
  std::string text =
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n<title>weft perf</title>\n";
  text += kStyle;
  fmt::format_to(
      std::back_inserter(text),
      "<h1>weft {} on {}</h1>\n<p>{}, {} cores, two ranks. <code>{}</code>: {} rounds of {:g} s "
      "each, alternated. "
      "A cache line took {:.0f} to {:.0f} ns from one core to the other.</p>\n"
      "<p class=\"key\">Bars and points are medians, whiskers the lowest and the highest round. Blue: weft; "
      "ochre: other "
      "libraries; grey: what the machine could do at best.</p>\n",
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
  return text + "</html>\n";
}

}  // namespace weft::tools::perf
