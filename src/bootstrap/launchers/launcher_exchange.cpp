#include "bootstrap/launchers/launcher_exchange.hpp"

namespace weft::bootstrap::contact {

std::string list_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t kMostNamed = 16;
  std::string text;
  for (std::size_t place = 0; place < ranks.size() && place < kMostNamed; ++place)
    text += (place == 0 ? "" : place + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[place]);
  if (ranks.size() > kMostNamed) text += " and " + std::to_string(ranks.size() - kMostNamed) + " more";
  return text;
}

}  // namespace weft::bootstrap::contact
