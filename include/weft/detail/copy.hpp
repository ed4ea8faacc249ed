// Copies that do not call std::memcpy: of a few bytes, and of many.
#pragma once

#include <weft/detail/export.hpp>

#include <cstddef>
#include <cstring>

namespace weft::detail {

/// Copies `size` <= 48 bytes by at most three overlapping moves; the ranges must not overlap. Reads and
/// writes nothing outside them.
inline void copy_small(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  if (size == 8) {
    std::memcpy(to, from, 8);
  } else if (size > 16) {
    std::memcpy(to, from, 16);
    if (size > 32) std::memcpy(to + 16, from + 16, 16);
    std::memcpy(to + size - 16, from + size - 16, 16);
  } else if (size > 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + size - 8, from + size - 8, 8);
  } else if (size >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + size - 4, from + size - 4, 4);
  } else if (size > 0) {
    to[0] = from[0];
    to[size / 2] = from[size / 2];
    to[size - 1] = from[size - 1];
  }
}

/// Copies more than kBulkCopy bytes between places that do not overlap: fast wherever they lie, as
/// std::memcpy is not on all processors.
WEFT_API void copy_bulk(std::byte* to, const std::byte* from, std::size_t size) noexcept;
inline constexpr std::size_t kBulkCopy = 2048;

}  // namespace weft::detail
