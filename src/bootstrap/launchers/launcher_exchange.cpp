#include "bootstrap/launchers/launcher_exchange.hpp"

namespace weft::bootstrap::contact {

std::string list_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t kMostNamed = 16;
  std::string text;
  for (std::size_t index = 0; index < ranks.size() && index < kMostNamed; ++index)
    text += (index == 0 ? "" : index + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[index]);
  if (ranks.size() > kMostNamed) text += " and " + std::to_string(ranks.size() - kMostNamed) + " more";
  return text;
}

}  // namespace weft::bootstrap::contact
