// The page of --report: a picture and a table for each experiment, then the findings.
#include <weft/topology.hpp>
#include <weft/version.hpp>

#include <fmt/core.h>

#include <array>
#include <iterator>

#include "common/svg.hpp"
#include "common/svg_lines.hpp"
#include "study/study_results.hpp"

namespace weft::tools::study {

namespace {

constexpr const char* kStyle = R"(<style>
:root { color-scheme: light dark; --ink: #1c1c22; --soft: #6d6d78; --c0: #2563a8; --c1: #17936b; --c2: #7a4fb5; --c3: #b98a3d;
  --c4: #b5453a; --c5: #5b6770; --c6: #c06a9b; --c7: #3a8fa3; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e4ea; --soft: #9a9aa4; --c0: #6aa5e6; --c1: #57c79c; --c2: #b192e0; --c3: #d7ae69; --c4: #e08a80; --c5: #a6b1ba;
    --c6: #e0a3c6; --c7: #7fc4d4; }
}
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
svg { max-width: 100%; height: auto; font-size: 13px; } svg text { fill: var(--ink); }
.line { fill: none; stroke-width: 2; } .grid { stroke: var(--soft); stroke-width: .5; opacity: .5; fill: none; }
.whisker { stroke: var(--ink); stroke-width: 1; fill: none; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .15rem .7rem .15rem 0; } th:first-child, td:first-child { text-align: left; }
th { color: var(--soft); font-weight: 600; border-bottom: 1px solid var(--soft); }
.key { color: var(--soft); } .wide { overflow-x: auto; }
)";

constexpr std::array<std::string_view, 8> kColours{"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};

std::string number_text(double value) {
  if (value >= 1048576) return fmt::format("{:g}M", value / 1048576);
  return value >= 1024 ? fmt::format("{:g}K", value / 1024) : fmt::format("{:g}", value);
}
std::string decimal_text(double value) {
  if (value >= 1e6) return fmt::format("{:g}M", value / 1e6);
  return value >= 1e3 ? fmt::format("{:g}K", value / 1e3) : fmt::format("{:.3g}", value);
}

std::string picture_of(const StudyResults& results, std::size_t experiment) {
  const Experiment& shown = results.experiments[experiment];
  std::vector<SvgCurve> curves;
  for (std::size_t variant = 0; variant < results.variants.size(); ++variant) {
    SvgCurve curve{results.variants[variant].name, kColours[variant % kColours.size()], {}};
    for (std::size_t point = 0; point < shown.cases.size(); ++point) {
      const Spread spread = results.figure(experiment, point, variant);
      if (spread.count > 0)
        curve.points.push_back({shown.cases[point].x, spread.median, spread.low, spread.high});
    }
    if (!curve.points.empty()) curves.push_back(std::move(curve));
  }
  const bool is_binary = shown.x_name == "bytes" || shown.x_name == "chains";
  return svg_lines(curves, {shown.x_name, shown.unit.empty() ? shown.figure : shown.unit,
                            is_binary ? &number_text : &decimal_text});
}

std::string bars_of(const StudyResults& results, std::size_t experiment) {
  const Experiment& shown = results.experiments[experiment];
  std::string text;
  for (std::size_t point = 0; point < shown.cases.size(); ++point) {
    std::vector<SvgBar> bars;
    for (std::size_t variant = 0; variant < results.variants.size(); ++variant) {
      const Spread spread = results.figure(experiment, point, variant);
      if (spread.count == 0) continue;
      bars.push_back({results.variants[variant].name, kColours[variant % kColours.size()], spread.median,
                      spread.low, spread.high, fmt::format("{:.4g} {}", spread.median, shown.unit)});
    }
    if (!bars.empty()) text += "<h3>" + escaped(shown.cases[point].label) + "</h3>\n" + svg_bars(bars);
  }
  return text;
}

std::string table_of(const StudyResults& results, std::size_t experiment) {
  const Experiment& shown = results.experiments[experiment];
  std::string text = "<div class=\"wide\"><table>\n<tr><th>" + escaped(shown.x_name);
  for (const Variant& variant : results.variants) text += "<th>" + escaped(variant.name);
  text += "</tr>\n";
  for (std::size_t point = 0; point < shown.cases.size(); ++point) {
    text += "<tr><td>" + escaped(shown.cases[point].label);
    for (std::size_t variant = 0; variant < results.variants.size(); ++variant) {
      const Spread spread = results.figure(experiment, point, variant);
      text += spread.count == 0 ? "<td>-"
                                : fmt::format("<td title=\"{:.4g} to {:.4g}\">{:.4g}", spread.low,
                                              spread.high, spread.median);
    }
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

}  // namespace

std::string as_html(const StudyResults& results) {
  const Topology host = read_topology();
  std::string text =
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width\">\n";
  fmt::format_to(std::back_inserter(text), "<title>weft study {}</title>\n{}", results.options.study, kStyle);
  for (const std::string_view colour : kColours)
    fmt::format_to(std::back_inserter(text),
                   ".{0} {{ fill: var(--{0}); }} .line.{0} {{ fill: none; stroke: var(--{0}); }}\n", colour);
  fmt::format_to(std::back_inserter(text),
                 "</style>\n<h1>weft study {}</h1>\n<p>weft {} on {}, {} cores; {} ranks with {} worker{} "
                 "each; {} round{}, "
                 "the variants alternating.</p>\n<p class=\"key\">Points are medians, whiskers the lowest "
                 "and the highest "
                 "round.</p>\n",
                 results.options.study, library_version(), escaped(host.processor), host.cores.size(),
                 results.options.ranks, results.options.workers, results.options.workers == 1 ? "" : "s",
                 results.options.rounds, results.options.rounds == 1 ? "" : "s");
  for (std::size_t experiment = 0; experiment < results.experiments.size(); ++experiment) {
    text += "<h2>" + escaped(results.experiments[experiment].title) + "</h2>\n";
    // Names are no places on an axis.
    const bool is_of_names = results.options.study == "uts" || results.options.study == "taskbench";
    text += is_of_names ? bars_of(results, experiment) : picture_of(results, experiment);
    text += table_of(results, experiment);
  }
  text += "<h2>Findings</h2>\n<ul>\n";
  for (const std::string& finding : findings_of(results)) text += "<li>" + escaped(finding) + "\n";
  for (const std::string& remark : results.remarks) text += "<li>left out: " + escaped(remark) + "\n";
  return text + "</ul>\n</html>\n";
}

}  // namespace weft::tools::study
