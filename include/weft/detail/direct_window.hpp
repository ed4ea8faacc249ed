// A peer's memory region, mapped into this process.
#pragma once

#include <weft/detail/language.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// The mapping of a peer's region; copied freely, valid for the life of the runtime. The owner changes
/// `generation_there` when it releases the region: an access that begins later is refused, one that has begun
/// ends in memory that is not read any more. The mapping ends with the region; its addresses are not reused
/// until no access can still be under way (src/network/shm/segment/retired_ranges.hpp).
struct DirectWindow {
  std::byte* base = nullptr;
  std::uint64_t size = 0;
  const std::atomic<std::uint32_t>* generation_there = nullptr;
  std::uint32_t generation = 0;

  /// Returns true when `count` bytes at `offset` may be accessed now.
  [[nodiscard, gnu::always_inline]] bool allows(std::uint64_t offset, std::uint64_t count) const noexcept {
    std::uint64_t end = 0;
    if (__builtin_add_overflow(offset, count, &end) || end > size) [[unlikely]]
      return false;
    return generation_there->load(std::memory_order_relaxed) == generation;
  }
  /// Returns true when `count` bytes at `offset` may be accessed now and `otherwise` is 0, a second condition
  /// of the caller.
  ///
  /// The conditions that stay the same in a loop of accesses are combined without branches into the number of
  /// allowed offsets, which the compiler then computes before the loop.
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
/// A window that allows no access.
inline constexpr DirectWindow kNoWindow{nullptr, 0, &kNeverOpen, 1};

}  // namespace weft::detail
