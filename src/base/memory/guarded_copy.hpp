// Accesses to memory of the program that may have become inaccessible.
#pragma once

#include <cstddef>

namespace weft::base {

/// Memory that a program has registered may since have become read-only, unmapped, or truncated (a file).
/// These functions access it through the kernel, which reports that instead of ending the process: half a
/// microsecond for each call. Any thread.

/// Copies to memory of the program. Returns false when some of it cannot be written; bytes before that may
/// have been.
[[nodiscard]] bool write_guarded(std::byte* to, const std::byte* from, std::size_t size) noexcept;
/// Copies from memory of the program. Returns false when some of it cannot be read.
[[nodiscard]] bool read_guarded(std::byte* to, const std::byte* from, std::size_t size) noexcept;
/// Returns true when an aligned word of 4 or 8 bytes can be changed; its value is unchanged.
[[nodiscard]] bool can_update(std::byte* word) noexcept;

/// The two methods of write_guarded() and read_guarded(): the second is used when the kernel forbids the
/// first. For tests.
namespace guarded_copy {
enum class Way { cross_memory, file };
[[nodiscard]] bool copy(std::byte* to, const std::byte* from, std::size_t size, bool is_write,
                        Way way) noexcept;
}  // namespace guarded_copy

}  // namespace weft::base
