// Records of operations under way, which messages name by index.
#pragma once

#include "concurrent/high_water.hpp"
#include "concurrent/index_pool.hpp"
#include "core/memory/zeroed_memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>

namespace weft::core {

/// A bounded pool of records with a member `index`. Each record is made when it is first taken, in memory of
/// which only the addresses are reserved before, and stays until the pool ends; take() returns it as its last
/// owner left it. So a large capacity costs nothing until it is used: no memory, no time at the start, and no
/// time where all records are looked at. Any thread.
template <class Record>
class IndexedRecords {
  struct Slot {
    alignas(Record) std::byte memory[sizeof(Record)];
    std::uint32_t is_made;  // accessed by has_record() and make()
  };

 public:
  /// Throws weft::Error, which names `purpose`, when there are not enough addresses.
  IndexedRecords(std::uint32_t capacity, const char* purpose)
      : free_(capacity), memory_(std::size_t{capacity} * sizeof(Slot), purpose) {}
  ~IndexedRecords() {
    for (Record& record : *this) std::destroy_at(&record);
  }
  IndexedRecords(const IndexedRecords&) = delete;
  IndexedRecords& operator=(const IndexedRecords&) = delete;

  /// A record for the caller alone until it calls put(), or nullptr when all are in use.
  [[nodiscard]] Record* take() noexcept {
    const std::uint32_t index = free_.take();
    if (index == concurrent::IndexPool<>::kNone) [[unlikely]]
      return nullptr;
    Slot& slot = slots()[index];
    if (!has_record(slot)) [[unlikely]]
      make(slot, index);
    return record_in(slot);
  }
  void put(Record& record) noexcept { free_.put(record.index); }

  /// The record of an index that has been taken before.
  [[nodiscard]] Record& operator[](std::uint32_t index) const noexcept { return *record_in(slots()[index]); }
  /// The record of an index that somebody else names; nullptr when there is none.
  [[nodiscard]] Record* find(std::uint32_t index) const noexcept {
    return index < capacity() && has_record(slots()[index]) ? record_in(slots()[index]) : nullptr;
  }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return free_.capacity(); }

  /// Visits all records that were made before, in use or not, by index.
  class Iterator {
   public:
    Iterator(Slot* slot, Slot* end) noexcept : slot_(slot), end_(end) { skip_unmade(); }
    [[nodiscard]] Record& operator*() const noexcept { return *record_in(*slot_); }
    Iterator& operator++() noexcept {
      ++slot_;
      skip_unmade();
      return *this;
    }
    [[nodiscard]] bool operator==(std::default_sentinel_t) const noexcept { return slot_ == end_; }

   private:
    void skip_unmade() noexcept {
      while (slot_ != end_ && !has_record(*slot_)) ++slot_;
    }
    Slot* slot_;
    Slot* end_;
  };
  [[nodiscard]] Iterator begin() const noexcept { return {slots(), slots() + made_.value()}; }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

 private:
  [[nodiscard]] Slot* slots() const noexcept { return static_cast<Slot*>(memory_.data()); }
  [[nodiscard]] static Record* record_in(Slot& slot) noexcept {
    return std::launder(reinterpret_cast<Record*>(slot.memory));
  }
  /// Pairs with the release in make(): a thread that looks at all records sees those that are made.
  [[nodiscard]] static bool has_record(Slot& slot) noexcept {
    return std::atomic_ref(slot.is_made).load(std::memory_order_acquire) != 0;
  }
  [[gnu::noinline]] void make(Slot& slot, std::uint32_t index) noexcept {
    std::construct_at(reinterpret_cast<Record*>(slot.memory))->index = index;
    std::atomic_ref(slot.is_made).store(1, std::memory_order_release);
    made_.note(index);
  }

  concurrent::IndexPool<> free_;
  concurrent::HighWater made_;
  ZeroedMemory memory_;
};

}  // namespace weft::core
