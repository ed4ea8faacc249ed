// Copies that do not call std::memcpy: of a few bytes, and of many.
#pragma once

#include <weft/detail/export.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::detail {

template <class Word>
[[gnu::always_inline]] inline void copy_word(std::byte* to, const std::byte* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof word);
  std::memcpy(to, &word, sizeof word);
}

/// Copies `size` <= 48 bytes, which the compiler does not know. By words that overlap.
inline void copy_some_words(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  if (size == 8) {
    copy_word<std::uint64_t>(to, from);
  } else if (size > 16) {
    copy_word<std::uint64_t>(to, from);
    copy_word<std::uint64_t>(to + 8, from + 8);
    if (size > 32) {
      copy_word<std::uint64_t>(to + 16, from + 16);
      copy_word<std::uint64_t>(to + 24, from + 24);
    }
    copy_word<std::uint64_t>(to + size - 16, from + size - 16);
    copy_word<std::uint64_t>(to + size - 8, from + size - 8);
  } else if (size > 8) {
    copy_word<std::uint64_t>(to, from);
    copy_word<std::uint64_t>(to + size - 8, from + size - 8);
  } else if (size >= 4) {
    copy_word<std::uint32_t>(to, from);
    copy_word<std::uint32_t>(to + size - 4, from + size - 4);
  } else if (size > 0) {
    to[0] = from[0];
    to[size / 2] = from[size / 2];
    to[size - 1] = from[size - 1];
  }
}

/// Copies `size` <= 48 bytes; the ranges must not overlap. Reads and writes nothing outside them.
///
/// By words of 8 bytes, not by vectors: what a program has just written member by member, as it does before a
/// post, is on its way to the cache, and a load gets it from there only where one store has written all that
/// it loads. Otherwise it waits until everything that was written before has arrived, the slot of the last
/// post included: docs/decisions/024.
[[gnu::always_inline]] inline void copy_small(std::byte* to, const std::byte* from,
                                              std::size_t size) noexcept {
  if (!__builtin_constant_p(size)) return copy_some_words(to, from, size);
  std::size_t at = 0;
#pragma GCC unroll 6
  for (; at + 8 <= size; at += 8) copy_word<std::uint64_t>(to + at, from + at);
  if (size % 8 >= 4) {
    copy_word<std::uint32_t>(to + at, from + at);
    at += 4;
  }
  if (size % 4 >= 2) {
    copy_word<std::uint16_t>(to + at, from + at);
    at += 2;
  }
  if (size % 2 != 0) to[at] = from[at];
}

/// Copies more than kBulkCopy bytes between places that do not overlap: fast wherever they lie, as
/// std::memcpy is not on all processors.
WEFT_API void copy_bulk(std::byte* to, const std::byte* from, std::size_t size) noexcept;
inline constexpr std::size_t kBulkCopy = 2048;

}  // namespace weft::detail
