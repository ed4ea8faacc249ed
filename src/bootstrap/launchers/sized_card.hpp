// Cards as launchers carry them: as bytes of one size for all ranks, or as text that is never empty.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/launchers/launcher_exchange.hpp"

namespace weft::bootstrap::contact {

/// A card, or a report, with its length in front.
struct SizedCard {
  std::uint32_t bytes = 0;
  std::array<std::byte, kMostBytes> data{};
};

/// What is longer than kMostBytes is cut.
[[nodiscard]] SizedCard to_sized(std::span<const std::byte> card);
/// Nothing when the length is none.
[[nodiscard]] std::optional<std::vector<std::byte>> from_sized(const SizedCard& card);

/// A letter, which keeps the text from being empty, and hexadecimal digits.
[[nodiscard]] std::string to_published(std::span<const std::byte> card);
/// Nothing when the text is of another form, or of more than kMostBytes bytes.
[[nodiscard]] std::optional<std::vector<std::byte>> from_published(std::string_view text);

}  // namespace weft::bootstrap::contact
