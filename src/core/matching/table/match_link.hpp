// The part of a record by which it waits in a match table.
#pragma once

#include "core/matching/table/match_key.hpp"

#include <atomic>
#include <cstdint>

namespace weft::core {

enum class MatchSide : std::uint8_t { posted, unexpected };

template <class Record, template <class> class Atomic, class Threads>
class MatchTable;

/// Base of records. The atomic type is a parameter so that tests can drive schedules.
template <template <class> class Atomic = std::atomic>
class BasicMatchLink {
 public:
  /// The key under which the record is, or was last, linked. Only for the owner of the record.
  [[nodiscard]] MatchKey key() const noexcept {
    const std::uint64_t origin = origin_.load(std::memory_order_relaxed);
    return {tag_.load(std::memory_order_relaxed), static_cast<std::uint32_t>(origin),
            static_cast<std::uint32_t>(origin >> 32)};
  }
  /// Sets the key of a record that waits elsewhere than in a table.
  void set_key(const MatchKey& key) noexcept {
    tag_.store(key.tag, std::memory_order_relaxed);
    origin_.store(key.origin(), std::memory_order_relaxed);
  }
  /// Returns true when the record is in a table. Only for a caller that keeps other threads from linking or
  /// unlinking it.
  [[nodiscard]] bool is_linked() const noexcept { return linked_.load(std::memory_order_relaxed) != 0; }
  /// Whether it waits elsewhere than in a table; as is_linked().
  [[nodiscard]] bool waits_elsewhere() const noexcept {
    return waits_elsewhere_.load(std::memory_order_relaxed) != 0;
  }
  void set_waits_elsewhere(bool waits) noexcept {
    waits_elsewhere_.store(waits ? 1 : 0, std::memory_order_relaxed);
  }

 private:
  template <class Record, template <class> class, class Threads>
  friend class MatchTable;

  /// Linked under this key.
  [[gnu::always_inline]] void link_as(const MatchKey& key) noexcept {
    set_key(key);
    // Pairs with the acquire in MatchTable::unlink(): a thread that sees the record linked anew sees its
    // generation raised.
    linked_.store(1, std::memory_order_release);
  }

  // A ring of the records with one key: the oldest one's previous is the newest. Guarded by the bucket's
  // lock.
  BasicMatchLink* next_ = nullptr;
  BasicMatchLink* previous_ = nullptr;
  // Atomic because unlink() reads them before it knows which bucket to lock.
  Atomic<std::uint64_t> tag_{0};
  Atomic<std::uint64_t> origin_{0};
  Atomic<std::uint32_t> linked_{0};
  Atomic<std::uint32_t> waits_elsewhere_{0};
};

using MatchLink = BasicMatchLink<>;

}  // namespace weft::core
