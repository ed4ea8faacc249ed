#include "common/chart_colours.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>

namespace weft::tools {
namespace {

struct Known {
  std::string_view family;
  std::string_view colour;
};
/// Colours that differ for most who do not see all of them, on white and on black.
constexpr Known kKnown[] = {
    {"weft", "#3b82c4"},      {"UCX", "#e08a00"},     {"MPICH", "#2a9d5c"},        {"Open MPI", "#c9487f"},
    {"libfabric", "#8f63c9"}, {"sockets", "#93714a"}, {"bare machine", "#858b96"},
};
constexpr std::array<std::string_view, 10> kOthers = {"#3b82c4", "#e08a00", "#2a9d5c", "#c9487f", "#8f63c9",
                                                      "#00a0b3", "#93714a", "#d0523f", "#a59a00", "#858b96"};

}  // namespace

std::vector<SeriesStyle> styles_of(const Chart& chart) {
  std::map<std::string, std::string_view> colours;
  const auto is_taken = [&](std::string_view colour) {
    return std::ranges::any_of(colours, [&](const auto& each) { return each.second == colour; });
  };
  const auto family_of = [](const ChartSeries& series) {
    return series.family.empty() ? series.name : series.family;
  };
  for (const ChartSeries& series : chart.series) {
    const auto known = std::ranges::find(kKnown, family_of(series), &Known::family);
    if (known != std::end(kKnown)) colours.emplace(family_of(series), known->colour);
  }
  std::map<std::string, std::size_t> counts;
  std::vector<SeriesStyle> styles;
  for (const ChartSeries& series : chart.series) {
    const std::string family = family_of(series);
    if (!colours.contains(family)) {
      const auto* free =
          std::ranges::find_if(kOthers, [&](std::string_view colour) { return !is_taken(colour); });
      colours.emplace(family, free == kOthers.end() ? kOthers[colours.size() % kOthers.size()] : *free);
    }
    styles.push_back({colours.at(family), counts[family]++});
  }
  return styles;
}

}  // namespace weft::tools
