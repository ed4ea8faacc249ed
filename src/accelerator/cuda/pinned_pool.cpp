#include "accelerator/cuda/pinned_pool.hpp"

#include <algorithm>
#include <new>

#include "accelerator/cuda/in_context.hpp"

namespace weft::accelerator::cuda {

PinnedPool::~PinnedPool() {
  const InContext in(driver_, context_, std::nothrow);
  for (const auto& [memory, block] : blocks_) static_cast<void>(driver_.free_host(memory));
}

void* PinnedPool::allocate(std::size_t size) {
  size = std::max(size, std::size_t{1});  // the driver refuses 0
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& each) {
      return each.second.is_free && each.second.size == size;
    });
    if (found != blocks_.end()) {
      found->second.is_free = false;
      return found->first;
    }
  }
  const InContext in(driver_, context_);
  void* memory = nullptr;
  driver_.check(driver_.allocate_host(&memory, size, kPortable | kDeviceMapped), "cuMemHostAlloc");
  try {
    const std::lock_guard lock(mutex_);
    blocks_[memory] = {size, false};
  } catch (...) {
    static_cast<void>(driver_.free_host(memory));
    throw;
  }
  return memory;
}

void PinnedPool::give_back(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(memory);
  if (found != blocks_.end()) found->second.is_free = true;
}

}  // namespace weft::accelerator::cuda
