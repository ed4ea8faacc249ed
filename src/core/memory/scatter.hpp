// The target of a payload: pieces of memory that take consecutive parts of it.
#pragma once

#include "base/memory/bulk_copy.hpp"

#include <weft/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace weft::core {

/// One part of a message and its destination. Parts lie one behind the other: `start` never decreases.
struct ScatterPart {
  std::uint64_t address = 0;  // of the part in the sender's process, where it can be read; else 0
  std::uint64_t start = 0;    // of the part in the message
  std::uint64_t size = 0;     // of the part
  std::byte* buffer = nullptr;
  std::size_t room = 0;  // size of the buffer; bytes that do not fit are dropped
};

/// Returns the index of the part that contains byte `offset` of the message; there is one.
[[nodiscard]] inline std::size_t part_at(std::span<const ScatterPart> parts, std::uint64_t offset) noexcept {
  const auto behind =
      std::upper_bound(parts.begin(), parts.end(), offset,
                       [](std::uint64_t value, const ScatterPart& part) { return value < part.start; });
  return static_cast<std::size_t>(behind - parts.begin()) - 1;
}

/// Copies bytes from `offset` in the message to their buffers.
inline void scatter(std::span<const ScatterPart> parts, std::uint64_t offset, Bytes bytes) noexcept {
  for (std::size_t index = part_at(parts, offset); !bytes.empty() && index < parts.size(); ++index) {
    const ScatterPart& part = parts[index];
    const std::uint64_t at = offset - part.start;
    const std::size_t here = std::min<std::uint64_t>(bytes.size(), part.size - at);
    if (at < part.room && here != 0)
      base::copy_bulk(part.buffer + at, bytes.data(), std::min<std::size_t>(here, part.room - at));
    bytes = bytes.subspan(here);
    offset += here;
  }
}

/// Returns the number of bytes of the message that have to be sent so that every buffer gets what fits into
/// it.
[[nodiscard]] inline std::uint64_t wanted_of(std::span<const ScatterPart> parts) noexcept {
  for (std::size_t index = parts.size(); index-- > 0;) {
    const ScatterPart& part = parts[index];
    const std::uint64_t fits = std::min<std::uint64_t>(part.size, part.room);
    if (fits != 0) return part.start + fits;
  }
  return 0;
}

}  // namespace weft::core
