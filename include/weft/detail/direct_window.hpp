// A peer's memory region, mapped into this process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// Stays where it is, with its mapping, for the life of the runtime. The owner changes `generation_there`
/// when it releases the region: an access that begins later is refused, one that has begun ends in memory
/// that nobody reads any more.
struct DirectWindow {
  std::byte* base = nullptr;
  std::uint64_t size = 0;
  const std::atomic<std::uint32_t>* generation_there = nullptr;
  std::uint32_t generation = 0;

  /// Whether `count` bytes at `offset` may be accessed now.
  [[nodiscard, gnu::always_inline]] bool allows(std::uint64_t offset, std::uint64_t count) const noexcept {
    std::uint64_t end = 0;
    if (__builtin_add_overflow(offset, count, &end) || end > size) [[unlikely]]
      return false;
    return generation_there->load(std::memory_order_relaxed) == generation;
  }
  /// The same unless something else speaks against it: `otherwise` is not 0.
  ///
  /// What stays the same in a loop of accesses is brought together without branches into the number of
  /// offsets that are allowed, which is then computed before the loop.
  [[nodiscard, gnu::always_inline]] bool allows(std::uint64_t offset, std::uint64_t count,
                                                std::uint32_t otherwise) const noexcept {
    const bool is_possible = static_cast<unsigned>(count <= size) & static_cast<unsigned>(otherwise == 0);
    const std::uint64_t offsets = (size - count + 1) & (0 - static_cast<std::uint64_t>(is_possible));
    if (offset >= offsets) [[unlikely]]
      return false;
    return generation_there->load(std::memory_order_relaxed) == generation;
  }
};

/// Channels of the slots that signal an access; see src/core/protocol/wire.hpp for the others.
inline constexpr std::uint8_t kPutSignalChannel = 14;
inline constexpr std::uint8_t kGetSignalChannel = 15;
inline constexpr std::uint8_t kAtomicSignalChannel = 18;

inline constexpr std::atomic<std::uint32_t> kNeverOpen{0};
/// Allows nothing.
inline constexpr DirectWindow kNoWindow{nullptr, 0, &kNeverOpen, 1};

}  // namespace weft::detail
