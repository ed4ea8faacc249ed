// Memory for the stacks of tasks.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace weft::parcel {

/// Stacks of one size, cut from large mappings, of which only what is touched takes memory. Given back all
/// at once. Any thread.
class StackMemory {
 public:
  /// `size`: of a stack; whole pages are taken.
  explicit StackMemory(std::size_t size) noexcept;
  ~StackMemory();
  StackMemory(const StackMemory&) = delete;
  StackMemory& operator=(const StackMemory&) = delete;

  /// The lowest address of a new stack. Below it is a page that nobody may touch, on the first some thousands
  /// of stacks of a process (a process may have 65530 mappings by default, and each such page makes two), and
  /// on all where the kernel has guard pages that are no mappings (Linux 6.13). Throws weft::Error when there
  /// is no memory.
  [[nodiscard]] std::byte* make();
  /// What may be used of a stack.
  [[nodiscard]] std::size_t usable_size() const noexcept;

 private:
  const std::size_t size_;
  std::mutex mutex_;
  struct Slab {
    std::byte* memory;
    std::size_t bytes;
  };
  std::vector<Slab> slabs_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;  // stacks of the last slab
  std::size_t made_ = 0;
};

}  // namespace weft::parcel
