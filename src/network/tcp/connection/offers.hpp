// Memory of this rank that peers may access: payloads that they fetch, regions that they put into and get
// from.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft::network::tcp {

/// Memory by keys. What a peer asks for is looked up at every piece, so that it reaches nothing that is not
/// open. Visits wait for nobody. Any thread.
class NamedMemory {
 public:
  /// Keys have an index from 1 to `most` in their lower half, and a generation that is not 0 in the upper
  /// one.
  explicit NamedMemory(std::uint32_t most) : entries_(std::size_t{most} + 1) {}

  /// The index has no open key.
  void open(std::uint64_t key, std::span<std::byte> memory) noexcept {
    Entry& entry = entries_[index_of(key)];
    entry.memory = memory;
    // Pairs with visit(): who sees the generation sees the memory.
    entry.generation.store(generation_of(key), std::memory_order_seq_cst);
  }
  /// Returns once no visit is under way, which takes as long as one piece at most. Returns false when the key
  /// is not open.
  bool close(std::uint64_t key) noexcept {
    const std::uint32_t index = index_of(key);
    if (index == 0 || index >= entries_.size()) return false;
    Entry& entry = entries_[index];
    std::uint32_t generation = generation_of(key);
    // Ordered before the loads of the visitors, as these count themselves before they look at the generation.
    if (generation == 0 || !entry.generation.compare_exchange_strong(generation, 0)) return false;
    while (entry.visitors.load(std::memory_order_seq_cst) != 0) ::sched_yield();
    return true;
  }
  /// Calls use(memory) while the memory stays open; returns false when there is no such key.
  template <class Use>
  bool visit(std::uint64_t key, const Use& use) noexcept {
    const std::uint32_t index = index_of(key);
    if (index == 0 || index >= entries_.size()) return false;
    Entry& entry = entries_[index];
    entry.visitors.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t generation = entry.generation.load(std::memory_order_seq_cst);
    const bool is_open = generation != 0 && generation == generation_of(key);
    if (is_open) use(entry.memory);
    // The access is over for close().
    entry.visitors.fetch_sub(1, std::memory_order_release);
    return is_open;
  }

 private:
  struct Entry {
    std::span<std::byte> memory;
    std::atomic<std::uint32_t> generation{0};  // 0: not open
    std::atomic<std::uint32_t> visitors{0};
  };
  static std::uint32_t index_of(std::uint64_t key) noexcept { return static_cast<std::uint32_t>(key); }
  static std::uint32_t generation_of(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>(key >> 32);
  }

  std::vector<Entry> entries_;
};

/// Chooses keys, each of which names one offer for ever. Any thread.
class Offers {
 public:
  static constexpr std::uint32_t kMost = 4096;

  Offers() : slots_(std::size_t{kMost} + 1) {}

  /// Returns the key; 0 when there are too many offers.
  [[nodiscard]] std::uint64_t add(std::span<std::byte> memory) noexcept {
    std::uint64_t key = 0;
    {
      const Hold hold(lock_);
      const std::uint32_t index = free_ != 0 ? free_ : used_ < kMost ? ++used_ : 0;
      if (index == 0) return 0;
      if (free_ == index) free_ = slots_[index].next_free;
      if (++slots_[index].generation == 0) ++slots_[index].generation;
      key = std::uint64_t{slots_[index].generation} << 32 | index;
    }
    memory_.open(key, memory);
    return key;
  }
  void end(std::uint64_t key) noexcept {
    if (!memory_.close(key)) return;
    const Hold hold(lock_);
    const auto index = static_cast<std::uint32_t>(key);
    slots_[index].next_free = free_;
    free_ = index;
  }
  [[nodiscard]] NamedMemory& memory() noexcept { return memory_; }

 private:
  struct Slot {
    std::uint32_t generation = 0;  // of the last key
    std::uint32_t next_free = 0;
  };
  /// Held for a few instructions.
  class Hold {
   public:
    explicit Hold(std::atomic_flag& lock) noexcept : lock_(lock) {
      while (lock_.test_and_set(std::memory_order_acquire)) ::sched_yield();
    }
    ~Hold() { lock_.clear(std::memory_order_release); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    std::atomic_flag& lock_;
  };

  NamedMemory memory_{kMost};
  std::atomic_flag lock_;
  std::vector<Slot> slots_;
  std::uint32_t used_ = 0;
  std::uint32_t free_ = 0;  // the first of a list; 0: none
};

}  // namespace weft::network::tcp
