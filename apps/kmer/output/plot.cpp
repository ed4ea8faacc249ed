#include "output/plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace kmer {

namespace {

constexpr double kWidth = 800, kHeight = 480;
constexpr double kLeft = 88, kRight = 24, kTop = 56, kBottom = 72;
constexpr double kPlotWidth = kWidth - kLeft - kRight, kPlotHeight = kHeight - kTop - kBottom;
constexpr double kFloor = 0.5;  // a bar of one k-mer must have a height

/// The count up to which the plot goes: all but one in a thousand of the kept k-mers, and at least ten
/// counts.
std::uint64_t last_count(const std::vector<Histogram::Bin>& bins) {
  std::uint64_t kept = 0;
  for (const auto& bin : bins) kept += bin.count >= 2 ? bin.kmers : 0;
  std::uint64_t seen = 0;
  std::uint64_t last = 10;
  for (const auto& bin : bins) {
    if (bin.count < 2) continue;
    seen += bin.kmers;
    last = std::max(last, bin.count);
    if (seen >= kept - kept / 1000) break;
  }
  return last;
}

/// The distance of ticks: 1, 2 or 5 times a power of ten, so that up to eight steps cover `range`.
std::uint64_t tick_step(std::uint64_t range) {
  std::uint64_t power = 1;
  while (power * 10 * 10 <= range) power *= 10;
  for (const std::uint64_t factor : {1U, 2U, 5U})
    if (power * factor * 8 >= range) return power * factor;
  return power * 10;
}

std::string power_label(int exponent) {
  switch (exponent) {
    case 0:
      return "1";
    case 1:
      return "10";
    case 2:
      return "100";
    case 3:
      return "1,000";
    default:
      return fmt::format(R"(10<tspan dy="-6" font-size="10">{}</tspan>)", exponent);
  }
}

/// The picture, drawn from back to front.
class Plot {
 public:
  Plot(const Histogram& histogram, int k) : k_(k), bins_(histogram.bins()), last_(last_count(bins_)) {
    std::uint64_t largest = 1;
    for (const auto& bin : bins_) {
      if (bin.count <= last_)
        largest = std::max(largest, bin.kmers);
      else
        beyond_ += bin.kmers;
      highest_count_ = std::max(highest_count_, bin.count);
    }
    decades_ = std::max(1, static_cast<int>(std::ceil(std::log10(static_cast<double>(largest)) + 1e-9)));
  }

  std::string draw() && {
    append_title();
    append_grid();
    append_bars();
    append_axes();
    append_legend();
    if (beyond_ > 0) append_what_is_beyond();
    svg_ += "</svg>\n";
    return std::move(svg_);
  }

 private:
  static constexpr double kBaseLine = kTop + kPlotHeight;

  [[nodiscard]] double x_of(double count) const {
    return kLeft + (count - 0.5) / static_cast<double>(last_) * kPlotWidth;
  }
  [[nodiscard]] double y_of(double kmers) const {
    const double log_floor = std::log10(kFloor);
    return kTop + kPlotHeight * (1 - (std::log10(kmers) - log_floor) / (decades_ - log_floor));
  }
  template <class... Values>
  void append(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Values>(values)...);
  }

  void append_title() {
    append(
        R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="sans-serif" font-size="13" fill="#222">
<rect width="{0}" height="{1}" fill="#fff"/>
<text x="{2}" y="28" font-size="17" font-weight="bold">Distinct {3}-mers by the number of their occurrences</text>
)",
        kWidth, kHeight, kLeft, k_);
  }

  /// Appends a line for each power of ten.
  void append_grid() {
    for (int exponent = 0; exponent <= decades_; ++exponent) {
      const double y = y_of(std::pow(10.0, exponent));
      append(
          R"(<path d="M{:.1f} {:.1f}h{:.1f}" stroke="#ddd"/><text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)"
          "\n",
          kLeft, y, kPlotWidth, kLeft - 8, y + 4.5, power_label(exponent));
    }
  }

  void append_bars() {
    const double width = kPlotWidth / static_cast<double>(last_);
    const double gap = width >= 4 ? width * 0.15 : 0;
    for (const bool kept : {false, true}) {
      append(R"(<path fill="{}" d=")", kept ? "#2166ac" : "#b8b8b8");
      for (const auto& bin : bins_) {
        if (bin.count > last_ || (bin.count >= 2) != kept) continue;
        append("M{:.2f} {:.2f}V{:.2f}h{:.2f}V{:.2f}z", x_of(static_cast<double>(bin.count) - 0.5) + gap / 2,
               kBaseLine, y_of(static_cast<double>(bin.kmers)), std::max(width - gap, 0.8), kBaseLine);
      }
      svg_ += "\"/>\n";
    }
  }

  void append_axes() {
    append(R"(<path d="M{:.1f} {:.1f}V{:.1f}H{:.1f}" fill="none" stroke="#222"/>)"
           "\n",
           kLeft, kTop, kBaseLine, kLeft + kPlotWidth);
    const std::uint64_t step = tick_step(last_);
    for (std::uint64_t count = step == 1 ? 1 : 0; count <= last_; count += step) {
      const std::uint64_t tick = count == 0 ? 1 : count;
      const double x = x_of(static_cast<double>(tick));
      append(
          R"(<path d="M{:.1f} {:.1f}v5" stroke="#222"/><text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)"
          "\n",
          x, kBaseLine, x, kBaseLine + 20, tick);
    }
    append(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">Occurrences of a {}-mer in the reads</text>)"
           "\n",
           kLeft + kPlotWidth / 2, kBaseLine + 44, k_);
    append(
        R"svg(<text transform="translate(24 {:.1f}) rotate(-90)" text-anchor="middle">Distinct {}-mers</text>)svg"
        "\n",
        kTop + kPlotHeight / 2, k_);
  }

  void append_legend() {
    const double left = kLeft + kPlotWidth - 190;
    append(R"(<rect x="{0:.1f}" y="{1:.1f}" width="196" height="46" fill="#fff" fill-opacity="0.85"/>
<rect x="{2:.1f}" y="{3:.1f}" width="12" height="12" fill="#2166ac"/><text x="{4:.1f}" y="{5:.1f}">kept (2 or more)</text>
<rect x="{2:.1f}" y="{6:.1f}" width="12" height="12" fill="#b8b8b8"/><text x="{4:.1f}" y="{7:.1f}">seen once, not kept</text>
)",
           left - 6, kTop + 2, left, kTop + 8, left + 20, kTop + 18.5, kTop + 29, kTop + 39.5);
  }

  void append_what_is_beyond() {
    append(
        R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end" font-size="11" fill="#555">not shown: {} {}-mers that occur more often, up to {} times</text>)"
        "\n",
        kLeft + kPlotWidth, kHeight - 10, beyond_, k_, highest_count_);
  }

  const int k_;
  const std::vector<Histogram::Bin> bins_;
  const std::uint64_t last_;  // count up to which the plot goes
  std::uint64_t beyond_ = 0;  // k-mers with higher counts
  std::uint64_t highest_count_ = 0;
  int decades_ = 1;
  std::string svg_;
};

}  // namespace

std::string plot_histogram(const Histogram& histogram, int k) { return Plot(histogram, k).draw(); }

}  // namespace kmer
