#include "core/completion/object_end.hpp"

#include <cstddef>
#include <functional>
#include <new>
#include <thread>

namespace weft::core {

void DividedLock::lock() {
  for (Part& part : parts_) part.mutex.lock();
}

void DividedLock::unlock() noexcept {
  for (Part& part : parts_) part.mutex.unlock();
}

std::shared_mutex& DividedLock::own() noexcept {
  static thread_local char mark;
  // The thread-local addresses of threads differ by multiples of large powers of two.
  const std::uint64_t spread = reinterpret_cast<std::uintptr_t>(&mark) * 0x9e3779b97f4a7c15;
  return parts_[spread >> 60].mutex;
}

OperationOwners& OperationOwners::all() noexcept {
  alignas(OperationOwners) static std::byte memory[sizeof(OperationOwners)];
  static OperationOwners& owners = *new (memory) OperationOwners;
  return owners;
}

void OperationOwners::add(OperationOwner& owner) {
  const std::lock_guard lock(lock_);
  owners_.push_back(&owner);
  count_.store(static_cast<std::uint32_t>(owners_.size()), std::memory_order_relaxed);
}

void OperationOwners::remove(OperationOwner& owner) noexcept {
  {
    const std::lock_guard lock(lock_);
    std::erase(owners_, &owner);
    count_.store(static_cast<std::uint32_t>(owners_.size()), std::memory_order_relaxed);
  }
  // Pairs with the release of a thread that leaves.
  while (owner.attached_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

void OperationOwners::forget_object(Completion& object) noexcept {
  if (count_.load(std::memory_order_relaxed) == 0) return;
  // By address, so that no owner is skipped when others are added or removed meanwhile.
  constexpr std::less<> before;
  for (OperationOwner* last = nullptr;;) {
    OperationOwner* next = nullptr;
    {
      const std::shared_lock lock(lock_.own());
      for (OperationOwner* const each : owners_)
        if (before(last, each) && (next == nullptr || before(each, next)) && each->may_name(object))
          next = each;
      if (next == nullptr) return;
      next->attached_.fetch_add(1, std::memory_order_relaxed);
    }
    next->forget_object(object);
    next->attached_.fetch_sub(1, std::memory_order_release);
    last = next;
  }
}

}  // namespace weft::core
