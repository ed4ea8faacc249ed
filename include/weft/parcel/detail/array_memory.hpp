// Where the elements of arrays lie that travel: pooled, and not cleared.
#pragma once

#include <weft/detail/export.hpp>

#include <cstddef>
#include <utility>

namespace weft::parcel::detail {

inline constexpr std::size_t kArrayAlignment = 64;

/// The memory of one array: of the pool, or of a message that has arrived, which is moved to memory of its
/// own when its runtime ends.
struct ArrayBlock {
  std::byte* data;
  void (*release)(ArrayBlock&) noexcept;
};

/// Memory for `size` bytes, aligned by kArrayAlignment, with any contents. Any thread; throws std::bad_alloc.
[[nodiscard]] WEFT_API ArrayBlock* take_array_block(std::size_t size);

/// Owns a block, or none.
class ArrayMemory {
 public:
  ArrayMemory() noexcept = default;
  explicit ArrayMemory(ArrayBlock* block) noexcept : block_(block) {}
  ArrayMemory(ArrayMemory&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  ArrayMemory& operator=(ArrayMemory&& other) noexcept {
    if (this != &other) {
      reset();
      block_ = std::exchange(other.block_, nullptr);
    }
    return *this;
  }
  ~ArrayMemory() { reset(); }
  [[nodiscard]] std::byte* data() const noexcept { return block_ != nullptr ? block_->data : nullptr; }

 private:
  void reset() noexcept {
    if (block_ != nullptr) block_->release(*block_);
    block_ = nullptr;
  }
  ArrayBlock* block_ = nullptr;
};

/// The message whose chunks have come with it, and may stay there.
class ChunkKeeper {
 public:
  /// A block whose data is the chunk at `at`; nullptr: it has to be copied.
  [[nodiscard]] virtual ArrayBlock* keep(const std::byte* at) = 0;

 protected:
  ~ChunkKeeper() = default;
};

}  // namespace weft::parcel::detail
