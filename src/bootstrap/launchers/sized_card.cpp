#include "bootstrap/launchers/sized_card.hpp"

#include <algorithm>

#include "base/text/hex.hpp"

namespace weft::bootstrap::contact {

SizedCard to_sized(std::span<const std::byte> card) {
  SizedCard sized;
  sized.bytes = static_cast<std::uint32_t>(std::min(card.size(), sized.data.size()));
  std::copy_n(card.begin(), sized.bytes, sized.data.begin());
  return sized;
}

std::optional<std::vector<std::byte>> from_sized(const SizedCard& card) {
  if (card.bytes > card.data.size()) return std::nullopt;
  return std::vector<std::byte>(card.data.begin(), card.data.begin() + card.bytes);
}

std::string to_published(std::span<const std::byte> card) {
  std::string text = base::to_hex(card);
  text.insert(text.begin(), 'w');
  return text;
}

std::optional<std::vector<std::byte>> from_published(std::string_view text) {
  if (!text.starts_with('w') || text.size() > 1 + 2 * kMostBytes) return std::nullopt;
  return base::from_hex(text.substr(1));
}

}  // namespace weft::bootstrap::contact
