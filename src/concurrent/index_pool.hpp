// A bounded pool of indices: the thread that takes an index owns it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace weft::concurrent {

/// A lock-free stack of the indices 0 to capacity - 1, all free at first. Any thread takes and puts; the last
/// index put is the first one taken, and when there is none, the lowest that was never taken: those are in no
/// list, and cost neither time nor memory. A tag in the head, changed by every operation, makes a take fail
/// that another operation has overtaken. The atomic type is a parameter so that tests can drive schedules.
template <template <class> class Atomic = std::atomic>
class IndexPool {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  explicit IndexPool(std::uint32_t capacity)
      : next_(std::allocator<Atomic<std::uint32_t>>().allocate(capacity)), capacity_(capacity) {}
  ~IndexPool() {
    std::destroy_n(next_, untaken_.load(std::memory_order_relaxed));
    std::allocator<Atomic<std::uint32_t>>().deallocate(next_, capacity_);
  }
  IndexPool(const IndexPool&) = delete;
  IndexPool& operator=(const IndexPool&) = delete;

  /// Takes an index; returns kNone when the pool is empty.
  [[nodiscard]] std::uint32_t take() noexcept {
    // Pairs with the release in put(): writes of the last owner are visible.
    std::uint64_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint32_t index = index_of(head);
      if (index == kNone) [[unlikely]]
        return take_untaken();
      const std::uint32_t below = next_[index].load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, pack(below, tag_of(head) + 1), std::memory_order_acquire))
        return index;
    }
  }

  void put(std::uint32_t index) noexcept {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      next_[index].store(index_of(head), std::memory_order_relaxed);
      // Pairs with the acquire in take().
    } while (!head_.compare_exchange_weak(head, pack(index, tag_of(head) + 1), std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

 private:
  static constexpr std::uint64_t pack(std::uint32_t index, std::uint32_t tag) noexcept {
    return static_cast<std::uint64_t>(tag) << 32 | index;
  }
  static constexpr std::uint32_t index_of(std::uint64_t head) noexcept {
    return static_cast<std::uint32_t>(head);
  }
  static constexpr std::uint32_t tag_of(std::uint64_t head) noexcept {
    return static_cast<std::uint32_t>(head >> 32);
  }

  /// The mark only rises, so that an exchange that succeeds makes an index one thread's. Others read the link
  /// of an index only once it has been put.
  [[gnu::noinline]] std::uint32_t take_untaken() noexcept {
    std::uint32_t index = untaken_.load(std::memory_order_relaxed);
    do {
      if (index == capacity_) return kNone;
    } while (!untaken_.compare_exchange_weak(index, index + 1, std::memory_order_relaxed));
    std::construct_at(&next_[index], kNone);
    return index;
  }

  Atomic<std::uint32_t>* const next_;  // made one by one, as indices are first taken
  const std::uint32_t capacity_;
  alignas(64) Atomic<std::uint64_t> head_{pack(kNone, 0)};
  Atomic<std::uint32_t> untaken_{0};  // the lowest index that was never taken
};

}  // namespace weft::concurrent
