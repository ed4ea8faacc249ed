// The table in which sends and receives wait for each other.
#pragma once

#include "concurrent/backoff.hpp"
#include "concurrent/racy_read.hpp"
#include "core/matching/table/match_link.hpp"
#include "core/memory/zeroed_memory.hpp"

#include <weft/detail/bias.hpp>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace weft::core {

/// Pairs records of two sides by key: the oldest first under each key, unordered between keys. Records derive
/// from MatchLink and belong to the table while they are linked; the thread of the other side that matches
/// them becomes their owner.
///
/// A hash table of cache lines, each with a try-lock: a call that finds another thread in a bucket returns
/// contended and never waits. Nothing is allocated after construction, and only memory that was used is
/// resident.
template <class Record, template <class> class Atomic = std::atomic, class Threads = detail::ProcessThreads>
class MatchTable {
  using Link = BasicMatchLink<Atomic>;
  using Hold = Atomic<std::uint32_t>*;
  struct Bucket;

 public:
  using Side = MatchSide;
  enum class Answer : std::uint8_t {
    matched,    ///< record: the oldest of the other side, which is the caller's now
    kept,       ///< record: what make() returned; it belongs to the table, and may have been matched already
    contended,  ///< another thread is in the bucket; without effect
    exhausted,  ///< make() returned nullptr, or there is no room for one more key; without effect
  };
  struct Result {
    Answer answer;
    Record* record;
  };

  /// `buckets`: a power of two; three keys fit in each, further keys go to `overflow` additional ones (by
  /// default 16 for each bucket, and 65536 at least). `serial`: by contract one thread at a time uses the
  /// table, so it executes no locked instruction. Throws weft::Error when there is no address space.
  MatchTable(std::uint32_t buckets, bool serial, std::uint32_t overflow = 0);
  ~MatchTable();
  MatchTable(const MatchTable&) = delete;
  MatchTable& operator=(const MatchTable&) = delete;

  /// Unlinks the oldest record of the other side under `key`; when there is none, links the record that
  /// make() returns. make() runs under the bucket's lock: it must be short and must not use the table.
  template <class Make>
  [[nodiscard]] Result pair(Side side, const MatchKey& key, Make&& make) noexcept;

  /// pair() that also adds the number of keys it has compared to `depth`.
  template <class Make>
  [[nodiscard]] Result pair(Side side, const MatchKey& key, Make&& make, std::uint32_t& depth) noexcept;
  /// Returns the number of keys that a search for this one compares. Only for a caller that keeps other
  /// threads from using the table.
  [[nodiscard]] std::uint32_t compared(const MatchKey& key) const noexcept {
    return compared(home_of(key), key);
  }

  /// Finds the buckets of keys of one origin, of which many may have one tag.
  class Finder {
   public:
    Finder(const MatchTable& table, std::uint64_t origin, std::uint64_t tag) noexcept
        : part_(bucket_part(origin)), tag_(tag), bucket_(&table.home_of(tag, part_)) {}

   private:
    friend class MatchTable;
    [[nodiscard, gnu::always_inline]] Bucket& find(const MatchTable& table, std::uint64_t tag) noexcept {
      if (tag != tag_) {
        tag_ = tag;
        bucket_ = &table.home_of(tag, part_);
      }
      return *bucket_;
    }
    std::uint64_t part_;
    std::uint64_t tag_;
    Bucket* bucket_;
  };

  // Fast paths of pair(), small so that they are inlined. Locking: NoLock for a serial table, else TryLock.

  /// Unlinks the oldest record of the side that is not `kSide`, when the first slot of its bucket holds it.
  /// Returns nullptr, without effect, when it does not; the caller then falls back to pair(). `finder`: of
  /// this table and the key's origin.
  template <class Locking, Side kSide>
  [[nodiscard]] Record* try_take(const MatchKey& key, Finder& finder) noexcept;
  template <class Locking, Side kSide>
  [[nodiscard, gnu::always_inline]] inline Record* try_take(const MatchKey& key) noexcept {
    Finder finder(*this, key.origin(), key.tag);
    return try_take<Locking, kSide>(key, finder);
  }
  /// try_take() for several records under one hold of the bucket: unlinks the oldest ones, as long as
  /// wants(record) returns true, and passes each to take(record), which may already pass it on to another
  /// thread. Both run under the bucket's lock: they must be short and must not use the table. Returns the
  /// number of records taken; it may be 0 although pair() would find one.
  template <class Locking, Side kSide, class Wants, class Take>
  [[nodiscard]] std::uint32_t try_take_while(const MatchKey& key, Finder& finder, const Wants& wants,
                                             const Take& take) noexcept;
  /// Links the record that make() returns, when the key's bucket is empty or its first slot holds records of
  /// the same key and side. Returns false, without effect, when it does not, or when make() returned nullptr;
  /// the caller then falls back to pair(). make() is called only when there is room, under the bucket's lock:
  /// it must be short and must not use the table.
  template <class Locking, Side kSide, class Make>
  [[nodiscard]] bool try_add(const MatchKey& key, const Make& make) noexcept;

  /// Prefetches the cache line that pair() will read.
  void prefetch(const MatchKey& key) const noexcept { __builtin_prefetch(&home_of(key), 1); }

  /// Returns a record that pair() will probably read, as a hint for prefetching only; nullptr when there is
  /// none. Another thread may be in the bucket: the record may be in another use by now, so the caller
  /// follows no pointer of it.
  [[nodiscard]] WEFT_READS_RACILY const Record* peek(const MatchKey& key) const noexcept {
    const Bucket& home = home_of(key);
    for (const Slot& slot : home.slots)
      if (concurrent::racy_read(slot.tag) == key.tag)
        if (const Link* const oldest = concurrent::racy_read(slot.oldest); oldest != nullptr)
          return static_cast<const Record*>(oldest);
    return nullptr;
  }

  // The functions below are for rare calls; they wait for threads in the bucket, a few instructions each.

  /// Unlinks the record; returns false when it is not linked any more. `still()` returns true, under the
  /// bucket's lock, when the record is in the use that the caller means (its generation, checked first; then
  /// what else belongs to it), because it may have been matched and linked again meanwhile.
  template <class Still>
  [[nodiscard]] bool unlink(Record& record, Still&& still) noexcept;
  /// Unlinks and returns the oldest record of `side`, or returns nullptr.
  [[nodiscard]] Record* take(Side side, const MatchKey& key) noexcept;
  /// Calls visit(record) for the oldest record of `side` under the bucket's lock; returns false when there is
  /// none.
  template <class Visit>
  bool visit_oldest(Side side, const MatchKey& key, Visit&& visit) noexcept;
  /// Returns the oldest record of `side`, or nullptr. Only for a caller that keeps other threads from using
  /// the table.
  [[nodiscard]] Record* find_oldest(Side side, const MatchKey& key) noexcept;
  /// Calls visit(record, side) for every record, under the lock of its bucket: records that are linked or
  /// unlinked meanwhile may be missed. For a serial table only when no other thread uses it.
  template <class Visit>
  void for_each(Visit&& visit) noexcept;
  /// Unlinks everything and calls each(record, side). No other thread may use the table.
  template <class Each>
  void clear(Each&& each) noexcept;

  /// The number of searches that continued in an overflow bucket; approximate where several threads search.
  /// Any thread.
  [[nodiscard]] std::uint64_t long_searches() const noexcept {
    return long_searches_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t buckets() const noexcept { return static_cast<std::uint32_t>(mask_ + 1); }

 private:
  static constexpr std::uint32_t kSlots = 3;
  // Bits of a bucket's state, for slot 0; those of slot n lie n bits higher. An empty bucket has state 0.
  static constexpr std::uint32_t kOccupied = 1U << 0;
  static constexpr std::uint32_t kUnexpected = 1U << 4;
  static constexpr std::uint32_t kAllOccupied = 0b111;
  static constexpr std::uint32_t kContinued = 1U << 8;  // continues in an overflow bucket
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Slot {
    std::uint64_t tag = 0;
    Link* oldest = nullptr;  // of its key, whose origin tells keys with one tag apart
  };
  struct alignas(64) Bucket {
    Atomic<std::uint32_t> lock{0};
    std::uint32_t state = 0;
    std::uint32_t overflow = 0;  // the bucket that continues this one; in a free bucket: the next free one
    Slot slots[kSlots];

    /// A hint, read without the lock, that is acted upon only under it; the annotation tells ThreadSanitizer
    /// so.
    [[nodiscard]] __attribute__((no_sanitize("thread"))) bool may_be_used() const noexcept {
      return *const_cast<const volatile std::uint32_t*>(&state) != 0;
    }
  };
  // The representation of an empty bucket is all zeros, which fresh memory has already.
  static constexpr bool kZeroIsEmpty = std::is_same_v<Atomic<std::uint32_t>, std::atomic<std::uint32_t>>;
  static_assert(!kZeroIsEmpty || sizeof(Bucket) == 64, "one cache line");

  struct Position {
    Bucket* bucket;  // nullptr: there is no such slot
    std::uint32_t number;
    [[nodiscard]] Slot& slot() const noexcept { return bucket->slots[number]; }
    [[nodiscard]] bool occupied() const noexcept { return (bucket->state >> number & kOccupied) != 0; }
    [[nodiscard]] Side side() const noexcept {
      return (bucket->state >> number & kUnexpected) != 0 ? Side::unexpected : Side::posted;
    }
    [[nodiscard]] bool holds(const MatchKey& key) const noexcept;
  };

  [[nodiscard, gnu::always_inline]] Bucket& home_of(std::uint64_t tag, std::uint64_t part) const noexcept {
    Bucket* const home = home_ + bucket_of(tag, part, mask_, above_);
    if (home == nullptr) __builtin_unreachable();  // tells the compiler that it is not null
    return *home;
  }
  [[nodiscard]] Bucket& home_of(const MatchKey& key) const noexcept {
    return home_of(key.tag, bucket_part(key.origin()));
  }
  // Enters and leaves the lock of the list of spare buckets.
  [[nodiscard]] bool enter(Atomic<std::uint32_t>& lock) const noexcept {
    return serial_ ? detail::NoLock::acquire(lock) : detail::TryLock::acquire(lock);
  }
  void leave(Atomic<std::uint32_t>& lock) const noexcept {
    serial_ ? detail::NoLock::release(lock) : detail::TryLock::release(lock);
  }
  [[nodiscard]] Hold enter_waiting(Atomic<std::uint32_t>& lock) noexcept;

  [[nodiscard]] std::uint32_t compared(const Bucket& home, const MatchKey& key) const noexcept;
  template <class Make>
  Result pair_in(Bucket& home, Side side, const MatchKey& key, Make& make) noexcept;
  template <Side kSide>
  [[nodiscard]] static bool holds_first(const Bucket& home, const MatchKey& key) noexcept;
  [[nodiscard]] Position find(Bucket& home, MatchKey key) const noexcept;
  [[nodiscard]] Position find_room(Bucket& home, Answer& refusal) noexcept;
  static void link(const Position& position, Link* oldest, Link& added, Side side,
                   const MatchKey& key) noexcept;
  static void append(Link& oldest, Link& added) noexcept;
  [[nodiscard]] Record* take_oldest(Bucket& home, const Position& position) noexcept;
  [[nodiscard]] Record* take_further(Bucket& home, Position position) noexcept;
  void remove(Bucket& home, const Position& position, Link& link) noexcept;
  void drop(Bucket& home, Bucket& empty) noexcept;

  const std::uint64_t mask_;   // of bucket numbers
  const std::uint64_t above_;  // all other bits: a member costs no register
  const bool serial_;
  const std::uint32_t spare_count_;
  ZeroedMemory memory_;
  Bucket* const home_;
  Bucket* const spare_;                                  // the overflow buckets
  alignas(64) detail::BasicBias<Atomic, Threads> bias_;  // of the buckets' locks
  alignas(64) Atomic<std::uint32_t> spare_lock_{0};
  std::uint32_t spare_free_ = kNone;  // first of a list linked through Bucket::overflow
  std::uint32_t spare_used_ = 0;      // the buckets from this one on have never been used
  mutable std::atomic<std::uint64_t> long_searches_{0};
};

}  // namespace weft::core

#include "core/matching/table/match_table.inl.hpp"
#include "core/matching/table/match_table_slow.inl.hpp"
