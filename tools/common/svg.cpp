#include "common/svg.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace weft::tools {
namespace {

constexpr double kNames = 190;   // width of the column of names
constexpr double kPlot = 460;    // width of the bars
constexpr double kLabels = 130;  // width of the column of figures
constexpr double kRow = 26;

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

std::string svg_bars(const std::vector<SvgBar>& bars) {
  double most = 0;
  for (const SvgBar& bar : bars) most = std::max({most, bar.value, bar.high});
  if (most <= 0) return {};
  const auto x = [most](double value) { return kNames + kPlot * value / most; };
  const double height = kRow * static_cast<double>(bars.size()) + 4;
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n",
                 kNames + kPlot + kLabels, height);
  double top = 2;
  for (const SvgBar& bar : bars) {
    const double middle = top + kRow / 2;
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kNames - 8,
                   middle + 4, escaped(bar.name));
    fmt::format_to(out, "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
                   bar.style, kNames, top + 4, std::max(1.0, x(bar.value) - kNames), kRow - 8);
    fmt::format_to(
        out, "<path class=\"whisker\" d=\"M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}v8M{1:.1f} {3:.1f}v8\"/>\n",
        x(bar.low), x(bar.high), middle, middle - 4);
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x(std::max(bar.value, bar.high)) + 6,
                   middle + 4, escaped(bar.label));
    top += kRow;
  }
  text += "</svg>\n";
  return text;
}

}  // namespace weft::tools
