#include "base/memory/bulk_copy.hpp"

#include "base/host/processor.hpp"

#include <cstdint>

namespace weft::base {

namespace {

using Vector [[gnu::vector_size(16), gnu::aligned(1), gnu::may_alias]] = long long;

/// A line of memory in registers.
struct Block {
  static constexpr std::size_t kSize = 64;

  explicit Block(const std::byte* from) noexcept {
    for (std::size_t part = 0; part < 4; ++part) parts[part] = reinterpret_cast<const Vector*>(from)[part];
  }
  void store(std::byte* to) const noexcept {
    for (std::size_t part = 0; part < 4; ++part) reinterpret_cast<Vector*>(to)[part] = parts[part];
  }

  Vector parts[4];
};

/// Copies by blocks that are aligned in the target. The blocks at its beginning and end are not aligned and
/// overlap others, so they are read before any source line is overwritten.
template <bool kOverwrites>
void copy(std::byte* to, std::byte* from, std::size_t size) noexcept {
  const Block first(from);
  std::byte* const from_last = from + size - Block::kSize;
  const Block last(from_last);
  std::byte* const to_last = to + size - Block::kSize;
  if constexpr (kOverwrites) overwrite(from);
  first.store(to);
  const std::size_t step = Block::kSize - reinterpret_cast<std::uintptr_t>(to) % Block::kSize;
  to += step;
  from += step;
  for (; to < to_last; to += Block::kSize, from += Block::kSize) {
    const Block block(from);
    if constexpr (kOverwrites) overwrite(from);
    block.store(to);
    asm volatile("" : : : "memory");  // so that the compiler does not replace the loop by memcpy()
  }
  last.store(to_last);
  if constexpr (kOverwrites) {
    overwrite(from_last);
    overwrite(from_last + Block::kSize - 1);
  }
}

}  // namespace

void copy_blocks(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  copy<false>(to, const_cast<std::byte*>(from), size);
}

void move_blocks(std::byte* to, std::byte* from, std::size_t size) noexcept { copy<true>(to, from, size); }

const bool kPrefersBlocks = amd_family() != 0;

}  // namespace weft::base
