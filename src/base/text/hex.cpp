#include "base/text/hex.hpp"

namespace weft::base {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte each : bytes) {
    text += kDigits[std::to_integer<std::size_t>(each) >> 4];
    text += kDigits[std::to_integer<std::size_t>(each) & 15];
  }
  return text;
}

std::optional<std::vector<std::byte>> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  for (std::size_t position = 0; position < text.size(); position += 2) {
    const std::size_t high = kDigits.find(text[position]);
    const std::size_t low = kDigits.find(text[position + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(high << 4 | low));
  }
  return bytes;
}

}  // namespace weft::base
