#include "common/svg_lines.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "common/svg.hpp"

namespace weft::tools {
namespace {

constexpr double kLeft = 76;
constexpr double kTop = 24;
constexpr double kWidth = 480;
constexpr double kHeight = 260;
constexpr double kNames = 150;  // to the right
constexpr double kBelow = 44;
constexpr double kNameHeight = 15;

/// Converts values to coordinates on the page.
class Frame {
 public:
  explicit Frame(const std::vector<SvgCurve>& curves) {
    for (const SvgCurve& curve : curves) {
      for (const SvgPoint& point : curve.points) {
        xs_.insert(point.x);
        most_ = std::max(most_, point.high);
        if (point.low > 0) least_ = least_ == 0 ? point.low : std::min(least_, point.low);
      }
    }
    is_logarithmic_ = least_ > 0 && most_ / least_ > 20;
  }
  [[nodiscard]] bool is_empty() const { return most_ <= 0 || least_ <= 0; }
  [[nodiscard]] const std::set<double>& xs() const { return xs_; }

  [[nodiscard]] double x(double value) const {
    const double first = logarithm(*xs_.begin());
    const double span = logarithm(*xs_.rbegin()) - first;
    return kLeft + kWidth * (span > 0 ? (logarithm(value) - first) / span : 0.5);
  }
  [[nodiscard]] double y(double value) const {
    double share = value / most_;
    if (is_logarithmic_) {
      const double span = std::log10(most_) - std::log10(least_);
      share = (std::log10(std::max(value, least_)) - std::log10(least_)) / span;
    }
    return kTop + kHeight * (1 - share);
  }
  /// Round values for horizontal lines.
  [[nodiscard]] std::vector<double> levels() const {
    std::vector<double> found;
    if (is_logarithmic_) {
      for (double decade = std::pow(10, std::floor(std::log10(least_))); decade <= most_; decade *= 10)
        if (decade >= least_) found.push_back(decade);
      if (found.size() > 1) return found;
    }
    const double rough = most_ / 4;
    const double decade = std::pow(10, std::floor(std::log10(rough)));
    const double step = decade * (rough / decade < 2 ? 1 : rough / decade < 5 ? 2 : 5);
    for (double level = is_logarithmic_ ? step : 0; level <= most_; level += step) found.push_back(level);
    return found;
  }

 private:
  /// Zero is placed one below 1.
  static double logarithm(double x) { return std::log2(std::max(x, 0.5)); }
  std::set<double> xs_;
  double least_ = 0;
  double most_ = 0;
  bool is_logarithmic_ = false;
};

void append_axes(std::string& text, const Frame& frame, const SvgAxes& axes) {
  auto out = std::back_inserter(text);
  for (const double level : frame.levels()) {
    fmt::format_to(out,
                   "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}h{2:.1f}\"/>\n<text x=\"{3:.1f}\" y=\"{4:.1f}\" "
                   "text-anchor=\"end\">{5:g}</text>\n",
                   kLeft, frame.y(level), kWidth, kLeft - 6, frame.y(level) + 4, level);
  }
  for (const double x : frame.xs()) {
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", frame.x(x),
                   kTop + kHeight + 18, escaped(axes.x_label(x)));
  }
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                 kLeft + kWidth / 2, kTop + kHeight + 36, escaped(axes.x_name));
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"14\">{}</text>\n", kLeft, escaped(axes.y_name));
}

/// Appends a curve; curves of one style have different dashes.
void append_curve(std::string& text, const Frame& frame, const SvgCurve& curve, std::size_t number) {
  constexpr const char* kDashes[] = {"none", "7 3", "2 3", "9 3 2 3", "4 4", "1 5"};
  auto out = std::back_inserter(text);
  fmt::format_to(out, "<path class=\"line {}\" stroke-dasharray=\"{}\" d=\"", curve.style,
                 kDashes[number % std::size(kDashes)]);
  char command = 'M';
  for (const SvgPoint& point : curve.points) {
    fmt::format_to(out, "{}{:.1f} {:.1f}", command, frame.x(point.x), frame.y(point.value));
    command = 'L';
  }
  text += "\"/>\n";
  for (const SvgPoint& point : curve.points) {
    fmt::format_to(out,
                   "<path class=\"whisker\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>\n<circle class=\"{3}\" "
                   "cx=\"{0:.1f}\" cy=\"{4:.1f}\" r=\"3\"><title>{5}: {6:.4g}</title></circle>\n",
                   frame.x(point.x), frame.y(point.low), frame.y(point.high), curve.style,
                   frame.y(point.value), escaped(curve.name), point.value);
  }
}

/// Appends the names beside the ends of their curves, moved apart when they would overlap.
void append_names(std::string& text, const Frame& frame, std::vector<const SvgCurve*> curves) {
  const auto end = [&frame](const SvgCurve* curve) { return frame.y(curve->points.back().value); };
  std::ranges::sort(curves, {}, end);
  double free = kTop;
  for (const SvgCurve* curve : curves) {
    const double y = std::max(free, end(curve));
    free = y + kNameHeight;
    fmt::format_to(std::back_inserter(text),
                   "<path class=\"grid\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n<text x=\"{:.1f}\" "
                   "y=\"{:.1f}\">{}</text>\n",
                   frame.x(curve->points.back().x), end(curve), kLeft + kWidth + 14, y, kLeft + kWidth + 17,
                   y + 4, escaped(curve->name));
  }
}

}  // namespace

std::string svg_lines(const std::vector<SvgCurve>& curves, const SvgAxes& axes) {
  const Frame frame(curves);
  if (frame.is_empty()) return {};
  std::string text = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n", kLeft + kWidth + kNames,
      kTop + kHeight + std::max(kBelow, kNameHeight * static_cast<double>(curves.size())));
  append_axes(text, frame, axes);
  std::map<std::string_view, std::size_t> of_style;
  std::vector<const SvgCurve*> named;
  for (const SvgCurve& curve : curves) {
    if (curve.points.empty()) continue;
    append_curve(text, frame, curve, of_style[curve.style]++);
    named.push_back(&curve);
  }
  append_names(text, frame, std::move(named));
  return text + "</svg>\n";
}

}  // namespace weft::tools
