#include "plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

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

/// 1, 2 or 5 times a power of ten, so that up to eight steps cover `range`.
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

}  // namespace

std::string plot_histogram(const Histogram& histogram, int k) {
  const std::vector<Histogram::Bin> bins = histogram.bins();
  const std::uint64_t last = last_count(bins);
  std::uint64_t largest = 1, beyond = 0, highest_count = 0;
  for (const auto& bin : bins) {
    if (bin.count <= last)
      largest = std::max(largest, bin.kmers);
    else
      beyond += bin.kmers;
    highest_count = std::max(highest_count, bin.count);
  }
  const int decades =
      std::max(1, static_cast<int>(std::ceil(std::log10(static_cast<double>(largest)) + 1e-9)));
  const double log_floor = std::log10(kFloor);
  const auto x_of = [&](double count) {
    return kLeft + (count - 0.5) / static_cast<double>(last) * kPlotWidth;
  };
  const auto y_of = [&](double kmers) {
    return kTop + kPlotHeight * (1 - (std::log10(kmers) - log_floor) / (decades - log_floor));
  };

  std::string svg;
  const auto out = std::back_inserter(svg);
  fmt::format_to(
      out,
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="sans-serif" font-size="13" fill="#222">
<rect width="{0}" height="{1}" fill="#fff"/>
<text x="{2}" y="28" font-size="17" font-weight="bold">Distinct {3}-mers by the number of their occurrences</text>
)",
      kWidth, kHeight, kLeft, k);

  for (int exponent = 0; exponent <= decades; ++exponent) {
    const double y = y_of(std::pow(10.0, exponent));
    fmt::format_to(
        out,
        R"(<path d="M{:.1f} {:.1f}h{:.1f}" stroke="#ddd"/><text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)"
        "\n",
        kLeft, y, kPlotWidth, kLeft - 8, y + 4.5, power_label(exponent));
  }

  const double bar = kPlotWidth / static_cast<double>(last);
  const double gap = bar >= 4 ? bar * 0.15 : 0;
  const double bottom = kTop + kPlotHeight;
  for (const bool kept : {false, true}) {
    fmt::format_to(out, R"(<path fill="{}" d=")", kept ? "#2166ac" : "#b8b8b8");
    for (const auto& bin : bins) {
      if (bin.count > last || (bin.count >= 2) != kept) continue;
      const double top = y_of(static_cast<double>(bin.kmers));
      fmt::format_to(out, "M{:.2f} {:.2f}V{:.2f}h{:.2f}V{:.2f}z",
                     x_of(static_cast<double>(bin.count) - 0.5) + gap / 2, bottom, top,
                     std::max(bar - gap, 0.8), bottom);
    }
    fmt::format_to(out, "\"/>\n");
  }

  fmt::format_to(out,
                 R"(<path d="M{:.1f} {:.1f}V{:.1f}H{:.1f}" fill="none" stroke="#222"/>)"
                 "\n",
                 kLeft, kTop, bottom, kLeft + kPlotWidth);
  const std::uint64_t step = tick_step(last);
  for (std::uint64_t count = step == 1 ? 1 : 0; count <= last; count += step) {
    const std::uint64_t tick = count == 0 ? 1 : count;
    const double x = x_of(static_cast<double>(tick));
    fmt::format_to(
        out,
        R"(<path d="M{:.1f} {:.1f}v5" stroke="#222"/><text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)"
        "\n",
        x, bottom, x, bottom + 20, tick);
  }
  fmt::format_to(
      out,
      R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">Occurrences of a {}-mer in the reads</text>)"
      "\n",
      kLeft + kPlotWidth / 2, bottom + 44, k);
  fmt::format_to(
      out,
      R"svg(<text transform="translate(24 {:.1f}) rotate(-90)" text-anchor="middle">Distinct {}-mers</text>)svg"
      "\n",
      kTop + kPlotHeight / 2, k);

  const double legend = kLeft + kPlotWidth - 190;
  fmt::format_to(out,
                 R"(<rect x="{0:.1f}" y="{1:.1f}" width="196" height="46" fill="#fff" fill-opacity="0.85"/>
<rect x="{2:.1f}" y="{3:.1f}" width="12" height="12" fill="#2166ac"/><text x="{4:.1f}" y="{5:.1f}">kept (2 or more)</text>
<rect x="{2:.1f}" y="{6:.1f}" width="12" height="12" fill="#b8b8b8"/><text x="{4:.1f}" y="{7:.1f}">seen once, not kept</text>
)",
                 legend - 6, kTop + 2, legend, kTop + 8, legend + 20, kTop + 18.5, kTop + 29, kTop + 39.5);
  if (beyond > 0)
    fmt::format_to(
        out,
        R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end" font-size="11" fill="#555">not shown: {} {}-mers that occur more often, up to {} times</text>)"
        "\n",
        kLeft + kPlotWidth, kHeight - 10, beyond, k, highest_count);
  svg += "</svg>\n";
  return svg;
}

}  // namespace kmer
