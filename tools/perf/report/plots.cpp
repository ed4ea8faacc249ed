#include "perf/report/plots.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/parse.hpp"
#include "common/svg.hpp"
#include "common/svg_lines.hpp"
#include "perf/report/report_formats.hpp"
#include "perf/workloads/variant_text.hpp"

namespace weft::tools::perf {
namespace {

struct Scale {
  double divisor;
  const char* unit;
};

Scale scale_of(Unit unit) {
  switch (unit) {
    case Unit::messages:
      return {1e6, "million/s"};
    case Unit::bytes:
      return {1e9, "GB/s"};
    case Unit::nanoseconds:
      return {1, "ns"};
    case Unit::percent:
      return {1, "% of a core"};
    case Unit::ratio:
      break;
  }
  return {1, ""};
}

/// The class of a series in the page (html_report.cpp).
std::string_view style_of(const Series& series) {
  switch (series.measurement->over->role) {
    case Role::weft:
      return "weft";
    case Role::limit:
      return "limit";
    case Role::peer:
      break;
  }
  return "peer";
}

std::string section(std::string_view heading, const std::string& note, const std::string& plot) {
  if (plot.empty()) return {};
  return fmt::format("<h2>{}</h2>\n<p class=\"note\">{}</p>\n<div class=\"wide\">{}</div>\n",
                     escaped(heading), escaped(note), plot);
}

std::string note_of(const WorkloadInfo& workload, const Variant& variant) {
  return title_of(workload, variant) + (workload.smaller_is_better() ? ": less is better" : "");
}

std::string bars_of(const Results& results, const WorkloadInfo& workload, const Variant& variant) {
  std::vector<SvgBar> bars;
  const Scale scale = scale_of(workload.unit);
  for (const Series& series : results.series) {
    if (series.measurement->workload != workload.workload || series.variant != variant) continue;
    const Spread spread = spread_of(series);
    bars.push_back({std::string(series.measurement->transport()), style_of(series),
                    spread.median / scale.divisor, spread.low / scale.divisor, spread.high / scale.divisor,
                    fmt::format("{:.3g} {}", spread.median / scale.divisor, scale.unit)});
  }
  return section(workload.name, note_of(workload, variant), svg_bars(bars));
}

/// Adds a series at x to the curve of its transport.
void add_point(std::vector<SvgCurve>& curves, const Series& series, double x, double divisor) {
  const Spread spread = spread_of(series);
  if (spread.count == 0) return;
  const std::string name(series.measurement->transport());
  auto curve = std::ranges::find(curves, name, &SvgCurve::name);
  if (curve == curves.end()) curve = curves.insert(curves.end(), {name, style_of(series), {}});
  curve->points.push_back({x, spread.median / divisor, spread.low / divisor, spread.high / divisor});
}

std::string plain(double x) { return fmt::format("{:g}", x); }
std::string as_size(double x) { return base::size_text(static_cast<std::int64_t>(x)); }

/// A parameter that a workload may be plotted against.
template <class Value>
struct Dimension {
  Value Variant::*member;
  const char* name;
  std::string (*label)(double x);
};

/// Plots a workload against a dimension with several values: one plot for every combination of the other
/// dimensions.
template <class Value>
std::string curves_over(const Results& results, const WorkloadInfo& workload,
                        const std::vector<Variant>& variants, const Dimension<Value>& dimension) {
  std::set<Value> values;
  for (const Variant& each : variants) values.insert(each.*dimension.member);
  if (values.size() < 2) return {};
  const Scale scale = scale_of(workload.unit);
  std::string text;
  for (const Variant& first : variants) {
    if (first.*dimension.member != *values.begin()) continue;
    std::vector<SvgCurve> curves;
    for (const Value value : values) {
      Variant variant = first;
      variant.*dimension.member = value;
      for (const Series& series : results.series) {
        if (series.measurement->workload == workload.workload && series.variant == variant)
          add_point(curves, series, static_cast<double>(value), scale.divisor);
      }
    }
    Variant others = first;  // the variant in the heading, without the dimension of the plot
    others.*dimension.member = workload.own().*dimension.member;
    text += section(fmt::format("{}{} against {}", workload.name, text_of(others, workload), dimension.name),
                    workload.smaller_is_better() ? "Less is better" : "",
                    svg_lines(curves, {dimension.name, scale.unit, dimension.label}));
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

/// Curves of the workloads of a family that were measured with at least two numbers of threads; empty when
/// there are none.
std::string curves_of(const Results& results, const Family& family) {
  std::vector<SvgCurve> curves;
  bool has_threads = false;
  for (const Workload each : family.workloads) {
    const WorkloadInfo& workload = info_of(each);
    for (const Series& series : results.series) {
      if (series.measurement->workload != each || series.variant != workload.own()) continue;
      add_point(curves, series, workload.threads, scale_of(workload.unit).divisor);
      has_threads = has_threads || workload.threads > 1;
    }
  }
  std::erase_if(curves, [](const SvgCurve& curve) { return curve.points.size() < 2; });
  if (!has_threads || curves.empty()) return {};
  return svg_lines(curves, {"threads of each rank", scale_of(Unit::messages).unit, plain});
}

/// Style of a picture that stands alone; the page has its own style (html_report.cpp).
constexpr const char* kPictureStyle =
    "<style>svg { background: #fff; font: 13px system-ui, sans-serif; } text { fill: #1c1c22; }\n"
    ".weft { fill: #2563a8; } .peer { fill: #b98a3d; } .limit { fill: #9a9aa4; }\n"
    ".line { fill: none; stroke-width: 2; } .line.weft { stroke: #2563a8; } .line.peer { stroke: #b98a3d; }\n"
    ".line.limit { stroke: #9a9aa4; } .grid { stroke: #6d6d78; stroke-width: .5; opacity: .5; fill: none; }\n"
    ".whisker { stroke: #1c1c22; stroke-width: 1; fill: none; }</style>";

}  // namespace

std::string plots_of(const Results& results, const WorkloadInfo& workload) {
  const std::vector<Variant> variants = measured_variants(results, workload.workload);
  if (variants.size() == 1) return bars_of(results, workload, variants.front());
  return curves_over(results, workload, variants, Dimension<std::size_t>{&Variant::size, "size", as_size}) +
         curves_over(results, workload, variants, Dimension<std::size_t>{&Variant::window, "window", plain}) +
         curves_over(results, workload, variants, Dimension<int>{&Variant::ranks, "ranks", plain});
}

std::string plots_against_threads(const Results& results) {
  std::string text;
  for (const Family& family : kFamilies)
    text += section(family.heading, family.note, curves_of(results, family));
  return text;
}

std::string picture_of_message_rate(const Results& results) {
  std::string picture = curves_of(results, kFamilies[0]);
  const std::size_t inside = picture.find('>');
  if (!picture.starts_with("<svg") || inside == std::string::npos) return {};
  picture.insert(inside + 1, kPictureStyle);
  return picture.insert(4, " xmlns=\"http://www.w3.org/2000/svg\"") + "\n";
}

}  // namespace weft::tools::perf
