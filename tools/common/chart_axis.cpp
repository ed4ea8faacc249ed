#include "common/chart_axis.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace weft::tools {
namespace {

constexpr double kDecades = 20;     // quotient of two values from which an axis of values is logarithmic
constexpr double kDoublings = 3.9;  // and an axis x
constexpr std::size_t kFewTicks = 24;

struct Prefix {
  double factor;
  const char* text;
};

/// Writes three digits, without an exponent.
std::string digits(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  const int behind = std::clamp(2 - static_cast<int>(std::floor(std::log10(size) + 1e-9)), 0, 6);
  std::string text = fmt::format("{:.{}f}", value, behind);
  if (behind > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  for (std::size_t end = text.find('.') == std::string::npos ? text.size() : text.find('.');
       end > 3 + (value < 0 ? 1U : 0U); end -= 3)
    text.insert(end - 3, 1, ',');
  return text;
}

/// Writes the value with the largest prefix that leaves at least one before the point.
template <std::size_t Count>
std::string with_prefix(double value, const Prefix (&prefixes)[Count], const char* unit) {
  for (const Prefix& each : prefixes)
    // 999.6 has three digits that are those of 1000.
    if (std::abs(value) >= 0.9995 * each.factor) return digits(value / each.factor) + each.text + unit;
  const Prefix& last = prefixes[Count - 1];
  return digits(value / last.factor) + last.text + unit;
}

constexpr Prefix kTimes[] = {{1, " s"}, {1e-3, " ms"}, {1e-6, " us"}, {1e-9, " ns"}};
constexpr Prefix kRates[] = {{1e9, " G"}, {1e6, " M"}, {1e3, " k"}, {1, " "}};
constexpr Prefix kNumbers[] = {{1e12, "e12"}, {1e9, " billion"}, {1e6, " million"}, {1, ""}};
constexpr Prefix kBytes[] = {
    {1099511627776.0, "T"}, {1073741824.0, "G"}, {1048576.0, "M"}, {1024, "K"}, {1, ""}};

/// The greatest number of the form 1, 2 or 5 times a power of ten that is not above `value`.
double round_below(double value) {
  const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
  for (const double factor : {5.0, 2.0})
    if (factor * power <= value * (1 + 1e-9)) return factor * power;
  return power;
}
double round_above(double value) {
  const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

/// The distance of the marks of a linear axis from zero to `most`.
double step_of(double most) { return round_above(most / 6); }

/// The smallest and the largest of values above zero.
struct Range {
  double least = 0;
  double most = 0;
  void add(double value) {
    if (!(value > 0) || !std::isfinite(value)) return;
    least = least == 0 ? value : std::min(least, value);
    most = std::max(most, value);
  }
};

bool decides(Scale scale, const Range& range, double quotient) {
  if (range.least <= 0 || scale == Scale::linear) return false;
  return scale == Scale::logarithmic || range.most / range.least > quotient;
}

void lay_out_values(const Chart& chart, ChartLayout& layout) {
  Range range;
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      range.add(point.value);
      if (point.high <= point.low) continue;
      range.add(point.low);
      range.add(point.high);
    }
  }
  if (range.most == 0) return;
  layout.is_value_logarithmic = decides(chart.value.scale, range, kDecades);
  // A band is worth room on the axis, but not if the points shrink to a line.
  for (const ChartBand& band : chart.bands) {
    if (band.to > 0 && (layout.is_value_logarithmic ? band.to < 100 * range.most : band.to < 3 * range.most))
      range.most = std::max(range.most, band.to);
    if (layout.is_value_logarithmic && band.from > range.least / 100) range.add(band.from);
  }
  if (!layout.is_value_logarithmic) {
    const double step = step_of(range.most);
    layout.most = step * std::ceil(range.most / step * (1 - 1e-9));
    return;
  }
  layout.least = round_below(range.least);
  // The dot of the least value does not lie on the axis.
  if (chart.form != Chart::Form::lines) layout.least = round_below(range.least * 0.6);
  layout.most = round_above(range.most);
}

/// With room for marks at both ends, and for the whole of a column.
void set_range_of_x(ChartLayout& layout, double first, double last, bool has_columns) {
  constexpr double kMargin = 0.03;
  if (has_columns || first == last) {
    layout.first = first - 0.5;
    layout.last = last + 0.5;
  } else if (layout.is_x_logarithmic) {
    if (first == 0) first = layout.zero_at;
    layout.first = first / std::pow(last / first, kMargin);
    layout.last = last * std::pow(last / first, kMargin);
  } else {
    layout.first = first - kMargin * (last - first);
    layout.last = last + kMargin * (last - first);
  }
}

}  // namespace

std::string value_text(double value, Quantity quantity) {
  switch (quantity) {
    case Quantity::number:
      return with_prefix(value, kNumbers, "");
    case Quantity::seconds:
      return value == 0 ? "0 s" : with_prefix(value, kTimes, "");
    case Quantity::per_second:
      return with_prefix(value, kRates, "/s");
    case Quantity::bytes:
      return with_prefix(value, kBytes, "");
    case Quantity::bytes_per_second:
      return with_prefix(value, kRates, "B/s");
    case Quantity::percent:
      return digits(value) + " %";
  }
  return {};
}

ChartLayout layout_of(const Chart& chart) {
  ChartLayout layout;
  lay_out_values(chart, layout);
  std::set<double> values;
  Range range;
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      values.insert(point.x);
      range.add(point.x);
    }
  }
  if (chart.form == Chart::Form::bars) {
    for (std::size_t index = 0; index < chart.categories.size(); ++index)
      layout.ticks.push_back({static_cast<double>(index), chart.categories[index]});
    return layout;
  }
  if (values.empty()) return layout;
  layout.is_x_logarithmic = chart.form == Chart::Form::lines && decides(chart.x.scale, range, kDoublings);
  if (layout.is_x_logarithmic) layout.zero_at = range.least / 2;
  set_range_of_x(layout, *values.begin(), *values.rbegin(), chart.form == Chart::Form::columns);
  if (chart.form == Chart::Form::columns || values.size() > kFewTicks) return layout;
  for (const double value : values)
    layout.ticks.push_back({value == 0 ? layout.zero_at : value, value_text(value, chart.x.quantity)});
  return layout;
}

std::vector<ChartTick> value_ticks(const ChartLayout& layout, Quantity quantity) {
  std::vector<ChartTick> ticks;
  if (!layout.is_value_logarithmic) {
    const double step = step_of(layout.most);
    for (int i = 0; i * step <= layout.most * (1 + 1e-9); ++i)
      ticks.push_back({i * step, i == 0 ? "0" : value_text(i * step, quantity)});
    return ticks;
  }
  const bool has_few = layout.most / layout.least < 1000;
  for (double power = std::pow(10, std::floor(std::log10(layout.least) + 1e-9));
       power <= layout.most * (1 + 1e-9); power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * power;
      if (factor > 1 && !has_few) break;
      if (value >= layout.least * (1 - 1e-9) && value <= layout.most * (1 + 1e-9))
        ticks.push_back({value, value_text(value, quantity)});
    }
  }
  return ticks;
}

bool has_dots(const Chart& chart, const ChartLayout& layout) {
  return chart.form != Chart::Form::lines && layout.is_value_logarithmic;
}

bool is_empty(const Chart& chart) {
  return std::ranges::all_of(chart.series, [](const ChartSeries& series) { return series.points.empty(); });
}

}  // namespace weft::tools
