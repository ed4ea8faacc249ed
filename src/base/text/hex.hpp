// Bytes as text.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::base {

/// Two lower-case hexadecimal digits for each byte.
[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);
/// Returns nothing when the text is something else than pairs of lower-case digits.
[[nodiscard]] std::optional<std::vector<std::byte>> from_hex(std::string_view text);

}  // namespace weft::base
