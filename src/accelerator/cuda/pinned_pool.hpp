// Pinned memory of CUDA that is given back at the end only.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "accelerator/cuda/driver.hpp"

namespace weft::accelerator::cuda {

/// To free pinned memory the driver waits for the whole device, also for streams that wait for a word of the
/// thread that frees: memory is kept for allocations of the same size instead. Any thread.
class PinnedPool {
 public:
  PinnedPool(const Driver& driver, Context context) noexcept : driver_(driver), context_(context) {}
  /// Frees everything.
  ~PinnedPool();
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  [[nodiscard]] void* allocate(std::size_t size);
  void give_back(void* memory) noexcept;

 private:
  struct Block {
    std::size_t size = 0;
    bool is_free = false;
  };
  const Driver& driver_;
  const Context context_;
  std::mutex mutex_;  // guards blocks_
  std::map<void*, Block> blocks_;
};

}  // namespace weft::accelerator::cuda
