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

Keepers& Keepers::all() noexcept {
  alignas(Keepers) static std::byte memory[sizeof(Keepers)];
  static Keepers& keepers = *new (memory) Keepers;
  return keepers;
}

void Keepers::add(OperationKeeper& keeper) {
  const std::lock_guard lock(lock_);
  keepers_.push_back(&keeper);
  count_.store(static_cast<std::uint32_t>(keepers_.size()), std::memory_order_relaxed);
}

void Keepers::remove(OperationKeeper& keeper) noexcept {
  {
    const std::lock_guard lock(lock_);
    std::erase(keepers_, &keeper);
    count_.store(static_cast<std::uint32_t>(keepers_.size()), std::memory_order_relaxed);
  }
  // Pairs with the release of a thread that leaves.
  while (keeper.visitors_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

void Keepers::forget_object(Completion& object) noexcept {
  if (count_.load(std::memory_order_relaxed) == 0) return;
  // By address, so that no keeper is skipped when others are added or removed meanwhile.
  constexpr std::less<> before;
  for (OperationKeeper* last = nullptr;;) {
    OperationKeeper* next = nullptr;
    {
      const std::shared_lock lock(lock_.own());
      for (OperationKeeper* const each : keepers_)
        if (before(last, each) && (next == nullptr || before(each, next)) && each->may_name(object))
          next = each;
      if (next == nullptr) return;
      next->visitors_.fetch_add(1, std::memory_order_relaxed);
    }
    next->forget_object(object);
    next->visitors_.fetch_sub(1, std::memory_order_release);
    last = next;
  }
}

}  // namespace weft::core
