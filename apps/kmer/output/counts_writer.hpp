// Writes a thread's share of PREFIX.counts.
#pragma once

#include "count/table.hpp"
#include "input/file.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace kmer {

/// The number of decimal digits of `value`.
[[nodiscard]] constexpr std::uint64_t digits_of(std::uint64_t value) noexcept {
  std::uint64_t digits = 1;
  for (; value >= 10; value /= 10) ++digits;
  return digits;
}

/// The number of bytes of the lines of `kept`.
template <int Words>
[[nodiscard]] std::uint64_t text_size(const Kept<Words>& kept, int k) {
  std::uint64_t size = 0;
  for (const auto& entry : kept.entries) size += static_cast<std::uint64_t>(k) + 2 + digits_of(entry.count);
  return size;
}

/// Writes one line "KMER COUNT" for each entry, from `offset` on. Throws InputError.
template <int Words>
void write_counts(const Kept<Words>& kept, int k, const File& file, std::uint64_t offset) {
  constexpr std::size_t kBlock = std::size_t{256} << 10;
  constexpr std::size_t kLongestLine = kLongest + 24;
  const auto block = std::make_unique_for_overwrite<char[]>(kBlock);
  char* at = block.get();
  for (const auto& entry : kept.entries) {
    at = write_letters(entry.kmer, k, at);
    *at++ = ' ';
    at = std::to_chars(at, at + 20, entry.count).ptr;
    *at++ = '\n';
    if (static_cast<std::size_t>(at - block.get()) + kLongestLine > kBlock) {
      file.write_at(block.get(), static_cast<std::size_t>(at - block.get()), offset);
      offset += static_cast<std::uint64_t>(at - block.get());
      at = block.get();
    }
  }
  file.write_at(block.get(), static_cast<std::size_t>(at - block.get()), offset);
}

}  // namespace kmer
