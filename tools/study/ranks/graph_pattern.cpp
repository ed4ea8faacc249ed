#include "study/ranks/graph_pattern.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

namespace weft::tools::study {

namespace {

constexpr std::array kPatterns{
    std::pair<std::string_view, Pattern>{"trivial", Pattern::trivial},
    std::pair<std::string_view, Pattern>{"stencil_1d", Pattern::stencil_1d},
    std::pair<std::string_view, Pattern>{"fft", Pattern::fft},
    std::pair<std::string_view, Pattern>{"tree", Pattern::tree},
    std::pair<std::string_view, Pattern>{"nearest", Pattern::nearest},
    std::pair<std::string_view, Pattern>{"spread", Pattern::spread},
    std::pair<std::string_view, Pattern>{"random_nearest", Pattern::random_nearest},
    std::pair<std::string_view, Pattern>{"all_to_all", Pattern::all_to_all},
};

/// Steps between two points of an fft that depend on each other.
int distance_of(int step, int width) {
  const int levels = std::max(1, static_cast<int>(std::bit_width(static_cast<unsigned>(width - 1))));
  return 1 << ((step - 1) % levels);
}

bool is_chosen(int step, int point, int other) {
  std::uint64_t hash = static_cast<std::uint64_t>(step) << 40 ^ static_cast<std::uint64_t>(point) << 20 ^
                       static_cast<std::uint64_t>(other);
  hash = (hash ^ hash >> 31) * 0x7fb5d329728ea185U;
  hash = (hash ^ hash >> 27) * 0x81dadef4bc2dd44dU;
  return ((hash ^ hash >> 33) & 1) != 0;
}

}  // namespace

Pattern pattern_of(std::string_view name) {
  std::string known;
  for (const auto& [each, pattern] : kPatterns) {
    if (each == name) return pattern;
    known += (known.empty() ? "" : ", ") + std::string(each);
  }
  throw Error("there is no pattern '" + std::string(name) + "'; there are " + known);
}

std::vector<int> dependences_of(Pattern pattern, int step, int point, int width, int radix) {
  std::vector<int> points;
  if (step == 0) return points;
  const int half = radix / 2;
  switch (pattern) {
    case Pattern::trivial:
      break;
    case Pattern::stencil_1d:
      points = {point - 1, point, point + 1};
      break;
    case Pattern::fft:
      points = {point - distance_of(step, width), point, point + distance_of(step, width)};
      break;
    case Pattern::tree: {
      // From the root at point 0 to twice as many points each step, and then straight on.
      const int reached = step < 31 ? 1 << (step - 1) : width;
      points = {reached < width && point >= reached && point < 2 * reached ? point - reached : point};
      break;
    }
    case Pattern::nearest:
      for (int other = point - half; other < point - half + radix; ++other) points.push_back(other);
      break;
    case Pattern::spread:
      for (int number = 0; number < radix; ++number)
        points.push_back((point + number * width / radix + (number > 0 ? step - 1 : 0)) % width);
      break;
    case Pattern::random_nearest:
      for (int other = point - half; other < point - half + radix; ++other)
        if (other == point || is_chosen(step, point, other)) points.push_back(other);
      break;
    case Pattern::all_to_all:
      for (int other = 0; other < width; ++other) points.push_back(other);
      break;
  }
  std::erase_if(points, [&](int other) { return other < 0 || other >= width; });
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

}  // namespace weft::tools::study
