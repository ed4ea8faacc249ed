// Copies of payloads of several KiB. docs/decisions/021 has the figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::base {

/// Copies of more than this size are made by blocks: up to it memcpy() copies by vectors anyway.
inline constexpr std::size_t kBlockCopy = 2048;

/// Copies 64 bytes or more between ranges that do not overlap.
void copy_blocks(std::byte* to, const std::byte* from, std::size_t size) noexcept;
/// copy_blocks() for a source that is not read again before it has been written: one byte of each of its
/// lines is overwritten, right after the line has been read.
void move_blocks(std::byte* to, std::byte* from, std::size_t size) noexcept;

/// Writes a byte, so that this core owns its line.
inline void overwrite(std::byte* address) noexcept {
  *const_cast<volatile std::byte*>(address) = std::byte{0};
}

/// True when memcpy() is slower than copy_blocks() for some alignments, and faster for none beyond
/// kBlockCopy. False until the program's static objects have been constructed.
extern const bool kPrefersBlocks;

/// memcpy() that is fast for every alignment of the two ranges.
///
/// The C library copies more than 2 KiB by `rep movsb` on processors that have a fast one. On AMD's it copies
/// 3 instead of 80 GB/s when the target lies 1 to 15 bytes behind the source in their pages of 4 KiB, and
/// less than a copy by vectors up to 31 (glibc bug 30994, fixed in version 2.39). For all other alignments it
/// is as fast as vectors, or faster, and does not read the lines that it overwrites.
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
