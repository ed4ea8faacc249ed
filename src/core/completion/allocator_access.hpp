// Memory for the payload of a message, from the allocator of its completion object.
#pragma once

#include <weft/completion/completion.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

struct AllocatorAccess {
  /// Returns the allocator, which cannot be changed any more from now on.
  static PayloadOwner& use(Completion& completion) noexcept {
    if ((completion.allocator_.load(std::memory_order_acquire) & Completion::kAllocatorUsed) == 0)
      completion.allocator_.fetch_or(Completion::kAllocatorUsed, std::memory_order_acq_rel);
    return completion.allocator();
  }
  /// Returns true when this process has, or had, an object whose allocator supplies payloads of every size.
  static bool any_takes_every_size() noexcept { return any_every_size.load(std::memory_order_relaxed); }

  static inline std::atomic<bool> any_every_size{false};
};

}  // namespace weft::detail
