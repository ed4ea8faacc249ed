// The work-stealing deque of Chase and Lev (SPAA 2005), with the memory orders of Lê, Pop, Cohen and Zappa
// Nardelli (PPoPP 2013), their fences written as sequentially consistent accesses, which ThreadSanitizer
// knows.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::parcel {

/// Its owner pushes and pops at the bottom, last in first out; any thread steals at the top.
template <class T, template <class> class Atomic = std::atomic>
class StealDeque {
 public:
  explicit StealDeque(std::int64_t capacity = 256) {
    rings_.push_back(std::make_unique<Ring>(capacity));
    ring_.store(rings_.back().get(), std::memory_order_relaxed);
  }
  StealDeque(const StealDeque&) = delete;
  StealDeque& operator=(const StealDeque&) = delete;

  /// Owner only. Grows when full.
  void push(T* item) {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
    const std::int64_t top = top_.load(std::memory_order_acquire);
    Ring* ring = ring_.load(std::memory_order_relaxed);
    if (bottom - top >= ring->capacity) ring = grow(ring, top, bottom);
    ring->put(bottom, item);
    // Pairs with the load in steal(): whoever sees the new bottom sees the item.
    bottom_.store(bottom + 1, std::memory_order_release);
  }

  /// Owner only. nullptr: empty.
  T* pop() {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
    if (bottom < top_.load(std::memory_order_relaxed)) return nullptr;  // cheaper than the store below
    Ring* const ring = ring_.load(std::memory_order_relaxed);
    // Either this thread sees a thief's top, or the thief sees this bottom: both are sequentially consistent.
    bottom_.store(bottom, std::memory_order_seq_cst);
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    if (top > bottom) {
      bottom_.store(bottom + 1, std::memory_order_relaxed);
      return nullptr;
    }
    T* item = ring->get(bottom);
    if (top == bottom) {  // the last one, which a thief may want, too
      if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
        item = nullptr;
      bottom_.store(bottom + 1, std::memory_order_relaxed);
    }
    return item;
  }

  /// Owner only. What pop() would return, unless it is stolen meanwhile. nullptr: empty.
  [[nodiscard]] T* last() const noexcept {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
    if (bottom < top_.load(std::memory_order_relaxed)) return nullptr;
    return ring_.load(std::memory_order_relaxed)->get(bottom);
  }

  /// Any thread. nullptr: empty, or another thief was faster.
  T* steal() {
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    const std::int64_t bottom = bottom_.load(std::memory_order_seq_cst);
    if (top >= bottom) return nullptr;
    T* const item = ring_.load(std::memory_order_acquire)->get(top);
    if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
      return nullptr;
    return item;
  }

  /// Approximate; any thread.
  [[nodiscard]] std::int64_t size_guess() const noexcept {
    const std::int64_t size = bottom_.load(std::memory_order_relaxed) - top_.load(std::memory_order_relaxed);
    return size > 0 ? size : 0;
  }

 private:
  struct Ring {
    explicit Ring(std::int64_t size)
        : capacity(size), items(new Atomic<T*>[static_cast<std::size_t>(size)]) {}
    void put(std::int64_t index, T* item) {
      items[static_cast<std::size_t>(index & (capacity - 1))].store(item, std::memory_order_relaxed);
    }
    T* get(std::int64_t index) {
      return items[static_cast<std::size_t>(index & (capacity - 1))].load(std::memory_order_relaxed);
    }
    const std::int64_t capacity;  // a power of two
    std::unique_ptr<Atomic<T*>[]> items;
  };

  Ring* grow(Ring* ring, std::int64_t top, std::int64_t bottom) {
    rings_.push_back(std::make_unique<Ring>(2 * ring->capacity));  // thieves may still read the old one
    Ring* const grown = rings_.back().get();
    for (std::int64_t index = top; index < bottom; ++index) grown->put(index, ring->get(index));
    ring_.store(grown, std::memory_order_release);
    return grown;
  }

  alignas(64) Atomic<std::int64_t> top_{0};
  alignas(64) Atomic<std::int64_t> bottom_{0};
  Atomic<Ring*> ring_{nullptr};
  std::vector<std::unique_ptr<Ring>> rings_;
};

}  // namespace weft::parcel
