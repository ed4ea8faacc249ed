// A list by which many threads pass items to one.
#pragma once

#include <atomic>

namespace weft::concurrent {

/// An intrusive list (through Item::next): any thread puts items; a thread that takes gets all of them at
/// once, oldest first. The atomic type is a parameter so that tests can drive schedules.
template <class Item, template <class> class Atomic = std::atomic>
class MpscList {
 public:
  void put(Item& item) noexcept {
    Item* top = top_.load(std::memory_order_relaxed);
    do {
      item.next = top;
      // Pairs with the acquire in take_all(): the item's fields are visible.
    } while (!top_.compare_exchange_weak(top, &item, std::memory_order_release, std::memory_order_relaxed));
  }

  /// Takes all items, linked oldest first; returns nullptr when there are none. An empty take only reads.
  [[nodiscard]] Item* take_all() noexcept {
    if (top_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    Item* item = top_.exchange(nullptr, std::memory_order_acquire);
    Item* oldest = nullptr;
    while (item != nullptr) {
      Item* below = item->next;
      item->next = oldest;
      oldest = item;
      item = below;
    }
    return oldest;
  }

  [[nodiscard]] bool empty() const noexcept { return top_.load(std::memory_order_relaxed) == nullptr; }

 private:
  Atomic<Item*> top_{nullptr};
};

}  // namespace weft::concurrent
