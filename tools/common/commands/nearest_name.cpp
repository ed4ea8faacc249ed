#include "common/commands/nearest_name.hpp"

#include <algorithm>
#include <vector>

namespace weft::tools {

std::size_t typing_distance(std::string_view a, std::string_view b) {
  // Row i holds the distances between the first i letters of `a` and each beginning of `b`.
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      std::size_t& least = rows[i][j];
      if (i == 0 || j == 0) {
        least = i + j;
        continue;
      }
      const std::size_t replaced = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      least = std::min({replaced, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) least = std::min(least, rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

std::string nearest_name(std::string_view text, std::span<const std::string> names) {
  constexpr std::size_t kMostLetters = 2;
  std::string nearest;
  std::size_t least = kMostLetters + 1;
  for (const std::string& name : names) {
    const std::size_t distance = typing_distance(text, name);
    if (distance >= least || 2 * distance >= std::max(text.size(), name.size())) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

std::string suggestion(std::string_view text, std::span<const std::string> names) {
  const std::string nearest = nearest_name(text, names);
  return nearest.empty() ? "" : ": did you mean " + nearest + "?";
}

}  // namespace weft::tools
