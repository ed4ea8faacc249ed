// The region of this rank that holds the local buffer of a post.
#pragma once

#include <weft/detail/language.hpp>

#include <cstdint>

namespace weft {

class MemoryRegion;

/// Names a region of the calling rank in the options of a post whose local buffer lies in it, so that a
/// network that would register the buffer for the transfer uses the registration of the region. Made from the
/// region itself: `.region = region`. The region must outlive the operation. When it is released before, the
/// operation ends nevertheless. Empty by default: the buffer lies anywhere.
class LocalRegion {
 public:
  constexpr LocalRegion() noexcept = default;
  LocalRegion(const MemoryRegion& region) noexcept;  // NOLINT: the same region, by name; weft/memory.hpp

  [[nodiscard]] constexpr bool is_empty() const noexcept { return generation_ == 0; }
  [[nodiscard]] constexpr std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] constexpr std::uint32_t generation() const noexcept { return generation_; }

 private:
  std::uint32_t index_ = 0;
  std::uint32_t generation_ = 0;
};

}  // namespace weft
