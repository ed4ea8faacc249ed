#include "common/chart_page.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <map>

#include "common/chart_assets.hpp"
#include "common/chart_axis.hpp"
#include "common/chart_colours.hpp"
#include "common/machine/provenance.hpp"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::number:
      return "number";
    case Quantity::seconds:
      return "seconds";
    case Quantity::per_second:
      return "per_second";
    case Quantity::bytes:
      return "bytes";
    case Quantity::bytes_per_second:
      return "bytes_per_second";
    case Quantity::percent:
      return "percent";
  }
  return "";
}

const char* name_of(Chart::Form form) {
  return form == Chart::Form::lines ? "lines" : form == Chart::Form::bars ? "bars" : "columns";
}

std::string range_text(const ChartPoint& point, Quantity quantity) {
  if (point.high <= point.low) return {};
  return fmt::format("{} .. {}", value_text(point.low, quantity), value_text(point.high, quantity));
}

/// Returns true when a category has several bars.
bool is_grouped(const Chart& chart) {
  std::map<double, int> bars;
  for (const ChartSeries& series : chart.series)
    for (const ChartPoint& point : series.points)
      if (++bars[point.x] > 1) return true;
  return false;
}

Json json_of(const ChartPoint& point, const Chart& chart, const ChartLayout& layout) {
  const std::string range = range_text(point, chart.value.quantity);
  const std::string text = value_text(point.value, chart.value.quantity);
  Json json{{"x", point.x == 0 && layout.is_x_logarithmic ? layout.zero_at : point.x},
            {"value", point.value},
            {"at", value_text(point.x, chart.x.quantity)},
            {"text", text},
            {"words", range.empty() ? text : fmt::format("{} ({})", text, range)}};
  if (!range.empty()) {
    json["low"] = point.low;
    json["high"] = point.high;
  }
  return json;
}

Json json_of(const Chart& chart) {
  const ChartLayout layout = layout_of(chart);
  const std::vector<SeriesStyle> styles = styles_of(chart);
  Json series = Json::array();
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    if (chart.series[i].points.empty()) continue;
    Json points = Json::array();
    for (const ChartPoint& point : chart.series[i].points) points.push_back(json_of(point, chart, layout));
    series.push_back({{"name", chart.series[i].name},
                      {"colour", styles[i].colour},
                      {"index_in_family", styles[i].index_in_family},
                      {"points", std::move(points)}});
  }
  Json ticks = Json::array();
  for (const ChartTick& tick : layout.ticks) ticks.push_back({{"at", tick.at}, {"text", tick.text}});
  Json bands = Json::array();
  for (const ChartBand& band : chart.bands)
    bands.push_back({{"name", band.name}, {"from", band.from}, {"to", band.to}});
  return {{"title", chart.title},
          {"form", name_of(chart.form)},
          {"is_of_dots", has_dots(chart, layout)},
          {"is_grouped", is_grouped(chart)},
          {"x",
           {{"label", chart.x.label},
            {"quantity", name_of(chart.x.quantity)},
            {"logarithmic", layout.is_x_logarithmic},
            {"least", layout.first},
            {"most", layout.last}}},
          {"value",
           {{"label", chart.value.label},
            {"quantity", name_of(chart.value.quantity)},
            {"logarithmic", layout.is_value_logarithmic},
            {"least", layout.least},
            {"most", layout.most}}},
          {"ticks", std::move(ticks)},
          {"categories", chart.categories},
          {"bands", std::move(bands)},
          {"series", std::move(series)}};
}

/// Keeps text inside a script element: no closing tag can begin in it.
std::string inside_script(std::string text) {
  for (std::size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3)
    text.insert(at + 1, 1, '\\');
  return text;
}

/// A row for each position on the axis x, and a column for each series.
std::string matrix_of(const Chart& chart) {
  std::map<double, std::vector<const ChartPoint*>> rows;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    for (const ChartPoint& point : chart.series[i].points) {
      rows[point.x].resize(chart.series.size());
      rows[point.x][i] = &point;
    }
  }
  std::string text = "<tr><th>" + escaped(chart.x.label);
  for (const ChartSeries& series : chart.series) text += "<th>" + escaped(series.name);
  text += "</tr>\n";
  for (const auto& [x, points] : rows) {
    const auto category = static_cast<std::size_t>(x);
    text += "<tr><td>" + (chart.form == Chart::Form::bars && category < chart.categories.size()
                              ? escaped(chart.categories[category])
                              : value_text(x, chart.x.quantity));
    for (const ChartPoint* point : points) {
      if (point == nullptr) {
        text += "<td>-";
        continue;
      }
      const std::string range = range_text(*point, chart.value.quantity);
      text += range.empty() ? "<td>" : fmt::format("<td title=\"{}\">", range);
      text += value_text(point->value, chart.value.quantity);
    }
    text += "</tr>\n";
  }
  return text;
}

/// A row for each bar.
std::string list_of(const Chart& chart) {
  std::string text = fmt::format("<tr><th>{}<th>{}<th>lowest .. highest</tr>\n", escaped(chart.x.label),
                                 escaped(chart.value.label));
  for (std::size_t category = 0; category < chart.categories.size(); ++category) {
    for (const ChartSeries& series : chart.series) {
      for (const ChartPoint& point : series.points) {
        if (static_cast<std::size_t>(point.x) != category) continue;
        fmt::format_to(std::back_inserter(text), "<tr><td>{}<td>{}<td>{}</tr>\n",
                       escaped(chart.categories[category]), value_text(point.value, chart.value.quantity),
                       range_text(point, chart.value.quantity));
      }
    }
  }
  return text;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string chart_section(const Chart& chart, int level) {
  if (is_empty(chart)) return {};
  std::string text = fmt::format("<section>\n<h{0}>{1}</h{0}>\n", level, escaped(chart.title));
  if (!chart.note.empty()) text += "<p class=\"note\">" + escaped(chart.note) + "</p>\n";
  if (!kChartLibrary.empty())
    fmt::format_to(std::back_inserter(text),
                   "<div class=\"chart\"><script type=\"application/json\">{}</script></div>\n",
                   inside_script(json_of(chart).dump(-1, ' ', false, Json::error_handler_t::replace)));
  const bool is_list = chart.form == Chart::Form::bars && !is_grouped(chart);
  fmt::format_to(
      std::back_inserter(text),
      "<details open><summary>{}</summary><div class=\"wide\"><table>\n{}</table></div></details>\n"
      "</section>\n",
      "figures", is_list ? list_of(chart) : matrix_of(chart));
  return text;
}

std::string chart_page(std::string_view title, std::string_view body, std::string_view command) {
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>\n{}</style></head>\n<body>\n{}<p class=\"note\">Made by "
      "<code>{}</code><br>{}</p>\n",
      escaped(title), kChartStyle, body, escaped(command), escaped(provenance_text()));
  if (kChartLibrary.empty()) {
    text +=
        "<footer>Tables stand where charts would be: the program was built without Chart.js (Debian: "
        "libjs-chart.js).</footer>\n";
  } else {
    fmt::format_to(std::back_inserter(text),
                   "<footer>Charts by {} (MIT License; its text is in this file). Names of a legend switch "
                   "their series off and on; a frame drawn with the mouse is shown alone.</footer>\n"
                   "<!--\n{}-->\n<script>\n{}</script>\n<script>\n{}</script>\n",
                   escaped(chart_library_name()), kChartLicence, kChartLibrary, kChartScript);
  }
  return text + "</body></html>\n";
}

std::string_view chart_library_name() {
  if (kChartLibrary.empty()) return {};
  const std::string_view head = kChartLibrary.substr(0, 200);
  const std::size_t begin = head.find("Chart.js v");
  if (begin == std::string_view::npos) return "Chart.js";
  return head.substr(begin, head.find_first_of(" \r\n", begin + 9) - begin);
}

}  // namespace weft::tools
