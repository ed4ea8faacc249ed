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

/// Copies `size` <= 48 bytes, when the size is not a constant, by words that overlap.
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
/// By words of 8 bytes, not by vectors: data that a program has just written member by member, as it does
/// before a post, is still in the store buffer, and a load is served from there only if one store has written
/// all the bytes that it loads. Otherwise the load waits until all earlier stores have reached the cache,
/// those to the slot of the last post included: docs/decisions/024.
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

[[nodiscard, gnu::always_inline]] inline std::uint64_t word_at(const std::byte* from) noexcept {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}
/// Writes two neighbouring words by one store. Stores wait inside the core until it has their line, and there
/// is room for few of them: docs/decisions/026.
[[gnu::always_inline]] inline void store_words(std::byte* to, std::uint64_t first,
                                               std::uint64_t second) noexcept {
  using Words = std::uint64_t __attribute__((vector_size(16)));
  const Words words{first, second};
  std::memcpy(to, &words, sizeof words);
}

/// copy_behind() for a size that is not a constant.
inline void copy_some_behind(std::byte* to, std::uint64_t word, const std::byte* from,
                             std::size_t size) noexcept {
  if (size == 8) return store_words(to, word, word_at(from));
  if (size < 8) {
    std::memcpy(to, &word, sizeof word);
    return copy_some_words(to + 8, from, size);
  }
  store_words(to, word, word_at(from));
  if (size <= 16) return copy_word<std::uint64_t>(to + size, from + size - 8);
  if (size > 32) {
    store_words(to + 16, word_at(from + 8), word_at(from + 16));
    copy_word<std::uint64_t>(to + 32, from + 24);
  } else {
    copy_word<std::uint64_t>(to + 16, from + 8);
  }
  store_words(to + size - 8, word_at(from + size - 16), word_at(from + size - 8));
}

/// Writes `word`, and behind it the bytes that copy_small() would copy, by fewer stores. It loads by words,
/// too.
[[gnu::always_inline]] inline void copy_behind(std::byte* to, std::uint64_t word, const std::byte* from,
                                               std::size_t size) noexcept {
  if (!__builtin_constant_p(size)) return copy_some_behind(to, word, from, size);
  std::size_t at = 0;
#pragma GCC unroll 3
  for (; at + 8 <= size; at += 16) {
    store_words(to + at, word, word_at(from + at));
    if (at + 16 <= size) word = word_at(from + at + 8);
  }
  if (at <= size) std::memcpy(to + at, &word, sizeof word);  // a word without a neighbour
  const std::size_t whole = size / 8 * 8;
  copy_small(to + 8 + whole, from + whole, size % 8);
}

/// Copies more than kBulkCopy bytes between ranges that do not overlap. It is fast for every alignment of the
/// two, which std::memcpy is not on all processors.
WEFT_API void copy_bulk(std::byte* to, const std::byte* from, std::size_t size) noexcept;
inline constexpr std::size_t kBulkCopy = 2048;

}  // namespace weft::detail
