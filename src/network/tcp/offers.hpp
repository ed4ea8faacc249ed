// Memory of this rank that peers may access: payloads that they fetch, regions that they put into and get
// from.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace weft::network::tcp {

/// A key names an offer until it ends; what a peer asks for is compared with it at every piece, so that it
/// reaches nothing else. Any thread.
class Offers {
 public:
  explicit Offers(std::uint32_t most) : most_(most), entries_(new Entry[most + std::size_t{1}]) {}

  /// Returns the key; 0 when there are too many offers.
  [[nodiscard]] std::uint64_t add(std::span<std::byte> memory) noexcept {
    const Hold hold(lock_);
    const std::uint32_t index = free_ != 0 ? free_ : used_ < most_ ? ++used_ : 0;
    if (index == 0) return 0;
    Entry& entry = entries_[index];
    if (free_ == index) free_ = entry.next_free;
    entry.memory = memory;
    entry.is_open = true;
    return std::uint64_t{entry.generation} << 32 | index;
  }
  /// Opens an entry under a name that both sides know, instead of a key from add(): tables have entries of
  /// one kind only.
  void open(std::uint64_t key, std::span<std::byte> memory) noexcept {
    const Hold hold(lock_);
    const auto index = static_cast<std::uint32_t>(key);
    if (index == 0 || index > most_) return;
    used_ = most_;
    Entry& entry = entries_[index];
    entry.memory = memory;
    entry.generation = static_cast<std::uint32_t>(key >> 32);
    entry.is_open = true;
  }
  void end(std::uint64_t key) noexcept {
    const Hold hold(lock_);
    Entry* const entry = find(key);
    if (entry == nullptr) return;
    entry->is_open = false;
    entry->memory = {};
    ++entry->generation;
    entry->next_free = free_;
    free_ = static_cast<std::uint32_t>(key);
  }
  /// Calls use(memory) while the offer cannot end; returns false when there is no such offer.
  template <class Use>
  bool visit(std::uint64_t key, const Use& use) noexcept {
    const Hold hold(lock_);
    const Entry* const entry = find(key);
    if (entry == nullptr) return false;
    use(entry->memory);
    return true;
  }

 private:
  struct Entry {
    std::span<std::byte> memory;
    std::uint32_t generation = 1;
    std::uint32_t next_free = 0;
    bool is_open = false;
  };
  /// Held for a piece that is written at most.
  class Hold {
   public:
    explicit Hold(std::atomic_flag& lock) noexcept : lock_(lock) {
      while (lock_.test_and_set(std::memory_order_acquire)) lock_.wait(true, std::memory_order_relaxed);
    }
    ~Hold() {
      lock_.clear(std::memory_order_release);
      lock_.notify_one();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    std::atomic_flag& lock_;
  };

  [[nodiscard]] Entry* find(std::uint64_t key) noexcept {
    const auto index = static_cast<std::uint32_t>(key);
    if (index == 0 || index > used_) return nullptr;
    Entry& entry = entries_[index];
    return entry.is_open && entry.generation == key >> 32 ? &entry : nullptr;
  }

  std::atomic_flag lock_;
  const std::uint32_t most_;
  const std::unique_ptr<Entry[]> entries_;  // from 1 on
  std::uint32_t used_ = 0;
  std::uint32_t free_ = 0;  // the first of a list; 0: none
};

}  // namespace weft::network::tcp
