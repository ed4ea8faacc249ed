// Copies of payloads of several KiB. docs/decisions/021 has the figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::base {

/// The shortest copy that is made by blocks: up to there memcpy() copies by vectors anyway.
inline constexpr std::size_t kBlockCopy = 2048;

/// Copies 64 bytes and more from one place to another that does not overlap.
void copy_blocks(std::byte* to, const std::byte* from, std::size_t size) noexcept;
/// The same where nobody reads `from` again before it has been written: one byte of each of its lines is
/// overwritten, right after it has been read.
void move_blocks(std::byte* to, std::byte* from, std::size_t size) noexcept;

/// Writes a byte, and so makes its line this core's.
inline void overwrite(std::byte* place) noexcept { *const_cast<volatile std::byte*>(place) = std::byte{0}; }

/// Whether memcpy() is slower than copy_blocks() somewhere, and nowhere faster beyond kBlockCopy. False until
/// the program's static objects have been made.
extern const bool kPrefersBlocks;

/// As memcpy(), but fast wherever both places lie.
///
/// The C library copies more than 2 KiB by `rep movsb` on processors that have a fast one. On AMD's it copies
/// 3 instead of 80 GB/s when the target lies 1 to 15 bytes behind the source in their pages of 4 KiB, and
/// less than a copy by vectors up to 31 (glibc's bug 30994, mended in its version 2.39). Everywhere else it
/// is as fast as they are, or faster, and does not read what it overwrites.
inline void copy_bulk(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  constexpr std::uintptr_t kPage = 4096;
  constexpr std::uintptr_t kSlow = 32;
  const std::uintptr_t behind =
      (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % kPage;
  if (size > kBlockCopy && behind - 1 < kSlow - 1 && kPrefersBlocks)
    copy_blocks(to, from, size);
  else
    std::memcpy(to, from, size);
}

}  // namespace weft::base
