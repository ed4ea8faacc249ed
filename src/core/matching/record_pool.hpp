// Records of operations, by index and generation: who takes one owns it.
#pragma once

#include "concurrent/thread_number.hpp"
#include "core/matching/zeroed_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

namespace weft::core {

template <class Record, template <class> class Atomic>
class RecordPool;

/// Base of records. The atomic type is a parameter so that tests can drive schedules.
template <template <class> class Atomic = std::atomic>
class BasicPooledRecord {
 public:
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  /// Counts the uses of the index, from 1. Any thread.
  [[nodiscard]] std::uint32_t generation() const noexcept {
    // Pairs with the release in give_back(): a new generation means that the former use has ended.
    return generation_.load(std::memory_order_acquire);
  }

 private:
  template <class Record, template <class> class>
  friend class RecordPool;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::uint32_t index_ = 0;
  Atomic<std::uint32_t> generation_{1};
  Atomic<std::uint32_t> below_{kNone};  // first record of the batch below this one's in the stack
  std::uint32_t next_ = kNone;          // next record of the same batch
};

using PooledRecord = BasicPooledRecord<>;

/// Up to `limit` records, made when they are needed first and kept until the pool is destroyed, so that an
/// index stays valid. Each thread has a private magazine that no other thread touches; what exceeds it goes
/// to a lock-free stack of batches. Any thread; by contract one at a time when serial.
///
/// Record derives from PooledRecord. It is constructed once, and comes back from take() as its last owner
/// left it. Records in the magazine of one thread are out of reach of others: those may find the pool empty
/// up to 254 records (and no more than an eighth of the limit) early for each thread that gives back.
template <class Record, template <class> class Atomic = std::atomic>
class RecordPool {
  using Base = BasicPooledRecord<Atomic>;
  static_assert(std::is_base_of_v<Base, Record>, "records derive from PooledRecord");

 public:
  /// Throws weft::Error without address space for `limit` records, 1 to 2^31.
  RecordPool(std::uint32_t limit, bool serial);
  ~RecordPool();
  RecordPool(const RecordPool&) = delete;
  RecordPool& operator=(const RecordPool&) = delete;

  /// nullptr: all are in use.
  [[nodiscard]] Record* take() noexcept { return take(number()); }

  // The parts of take() and give_back() that are nearly always enough. kSerial: whether the pool is.

  /// nullptr: the magazine of this thread is empty, take() knows.
  template <bool kSerial>
  [[nodiscard]] Record* take_first() noexcept {
    std::uint32_t* const magazine = own_magazine<kSerial>();
    if (!kSerial && magazine == nullptr) [[unlikely]]
      return nullptr;
    const std::uint32_t count = magazine[0];
    if (count == 0) [[unlikely]]
      return nullptr;
    magazine[0] = count - 1;
    Record* const record = std::addressof(records_[magazine[count]]);
    if (record == nullptr) __builtin_unreachable();  // which the compiler does not see
    return record;
  }
  /// Undoes this thread's last take_first(), as if the record had not been used.
  template <bool kSerial>
  void put_back() noexcept {
    ++own_magazine<kSerial>()[0];
  }

  /// `thread`: the caller's concurrent::thread_number(), when it is known already.
  [[nodiscard]] Record* take(std::uint32_t thread) noexcept {
    std::uint32_t* const magazine = magazine_of(thread);
    if (magazine != nullptr && magazine[0] > 0) [[likely]]
      return &records_[magazine[magazine[0]--]];
    return take_slowly(magazine);
  }

  /// Ends the record's use: whoever asks for its generation from now on finds another one.
  void give_back(Record& record) noexcept { serial_ ? give_back<true>(record) : give_back<false>(record); }
  /// `thread`: as with take(). Not of a serial pool.
  void give_back(Record& record, std::uint32_t thread) noexcept { put<false>(magazine_of(thread), record); }
  template <bool kSerial>
  void give_back(Record& record) noexcept {
    put<kSerial>(own_magazine<kSerial>(), record);
  }
  /// Where this thread keeps free records, for give_back() to it; nullptr: it has no such place.
  template <bool kSerial>
  [[nodiscard]] std::uint32_t* own_magazine() const noexcept {
    const std::uint32_t thread = kSerial ? 0 : concurrent::known_thread_number();
    if (!kSerial && thread >= kMagazines) [[unlikely]]
      return nullptr;
    std::uint32_t* const magazine = magazines_ + thread * std::size_t{kMagazineWords};
    if (magazine == nullptr) __builtin_unreachable();  // which the compiler does not see
    return magazine;
  }
  template <bool kSerial>
  void give_back(Record& record, std::uint32_t* magazine) noexcept {
    put<kSerial>(magazine, record);
  }

  /// The record at `index`, or nullptr when there has never been one. Any value is allowed, any thread, also
  /// while another one makes records.
  [[nodiscard]] Record* find(std::uint32_t index) const noexcept {
    // Pairs with the release in make(): numbers are given away before their records are there.
    return index < limit_ && is_there_[index].load(std::memory_order_acquire) ? &records_[index] : nullptr;
  }
  /// The same while its use is the one of this generation, otherwise nullptr.
  [[nodiscard]] Record* find(std::uint32_t index, std::uint32_t generation) const noexcept {
    Record* record = find(index);
    return record != nullptr && record->generation() == generation ? record : nullptr;
  }

  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
  /// How many have been in use at a time, at most; may exceed the limit.
  [[nodiscard]] std::uint32_t made() const noexcept { return made_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kNone = Base::kNone;
  static constexpr std::uint32_t kMagazines = 256;  // threads with higher numbers go to the stack
  // A window of receives, which a thread posts and then sees ending, is to stay inside.
  static constexpr std::uint32_t kMagazineWords = 256;
  static constexpr std::uint32_t kMadeTogether = 32;
  // The representation of false is zero, which fresh memory has already.
  static constexpr bool kZeroIsFalse = std::is_same_v<Atomic<bool>, std::atomic<bool>>;

  static constexpr std::uint64_t pack(std::uint32_t index, std::uint64_t tag) noexcept {
    return tag << 32 | index;
  }
  [[nodiscard]] std::uint32_t number() const noexcept { return serial_ ? 0 : concurrent::thread_number(); }
  /// The first word is the count, indices follow; nullptr for threads without one.
  [[nodiscard]] std::uint32_t* magazine_of(std::uint32_t thread) const noexcept {
    return thread < kMagazines ? magazines_ + thread * std::size_t{kMagazineWords} : nullptr;
  }
  template <bool kSerial>
  void put(std::uint32_t* magazine, Base& record) noexcept {
    // Pairs with the acquire in generation().
    record.generation_.store(record.generation_.load(std::memory_order_relaxed) + 1,
                             std::memory_order_release);
    if constexpr (!kSerial) {
      if (magazine == nullptr || magazine[0] == magazine_limit_) [[unlikely]] {
        spill(magazine, record);
        return;
      }
    }
    magazine[++magazine[0]] = record.index_;
  }
  [[nodiscard]] Record* take_slowly(std::uint32_t* magazine) noexcept;
  [[nodiscard]] Record* make(std::uint32_t* magazine) noexcept;
  void spill(std::uint32_t* magazine, Base& last) noexcept;
  [[nodiscard]] std::uint32_t pop_batch() noexcept;
  void push_batch(Base& first) noexcept;

  const std::uint32_t limit_;
  const bool serial_;
  const std::uint32_t magazine_limit_;
  ZeroedMemory record_memory_;
  ZeroedMemory magazine_memory_;
  ZeroedMemory presence_memory_;
  Record* const records_;
  std::uint32_t* const magazines_;
  Atomic<bool>* const is_there_;                           // by index: the record is whole
  alignas(64) Atomic<std::uint64_t> top_{pack(kNone, 0)};  // index and tag of the top batch
  alignas(64) Atomic<std::uint32_t> made_{0};              // records that exist; may exceed the limit
};

template <class Record, template <class> class Atomic>
RecordPool<Record, Atomic>::RecordPool(std::uint32_t limit, bool serial)
    : limit_(limit),
      serial_(serial),
      magazine_limit_(serial ? limit : std::clamp(limit / 8, 1U, kMagazineWords - 2)),
      record_memory_(limit * sizeof(Record), "the records of a matching engine"),
      magazine_memory_((serial ? limit + std::size_t{1} : std::size_t{kMagazines} * kMagazineWords) *
                           sizeof(std::uint32_t),
                       "the free records of a matching engine"),
      presence_memory_(limit * sizeof(Atomic<bool>), "the presence of records of a matching engine"),
      records_(static_cast<Record*>(record_memory_.data())),
      magazines_(static_cast<std::uint32_t*>(magazine_memory_.data())),
      is_there_(static_cast<Atomic<bool>*>(presence_memory_.data())) {
  static_assert(alignof(Record) <= 4096, "pages are aligned to no more");
  if constexpr (!kZeroIsFalse) std::uninitialized_default_construct_n(is_there_, limit);
}

template <class Record, template <class> class Atomic>
RecordPool<Record, Atomic>::~RecordPool() {
  if constexpr (!std::is_trivially_destructible_v<Record>)
    std::destroy_n(records_, std::min(limit_, made_.load(std::memory_order_relaxed)));
  if constexpr (!kZeroIsFalse) std::destroy_n(is_there_, limit_);
}

template <class Record, template <class> class Atomic>
[[gnu::noinline]] Record* RecordPool<Record, Atomic>::take_slowly(std::uint32_t* magazine) noexcept {
  if (serial_) return make(magazine);
  const std::uint32_t first = pop_batch();
  if (first == kNone) return make(magazine);
  Base& taken = records_[first];
  std::uint32_t rest = taken.next_;
  if (magazine == nullptr && rest != kNone) {
    push_batch(records_[rest]);
  } else {
    for (; rest != kNone; rest = static_cast<Base&>(records_[rest]).next_) magazine[++magazine[0]] = rest;
  }
  return &records_[first];
}

template <class Record, template <class> class Atomic>
Record* RecordPool<Record, Atomic>::make(std::uint32_t* magazine) noexcept {
  std::uint32_t first = made_.load(std::memory_order_relaxed);
  if (first >= limit_) return nullptr;
  std::uint32_t count =
      magazine != nullptr && !serial_ ? std::min((magazine_limit_ + 1) / 2, kMadeTogether) : 1;
  if (serial_) {
    made_.store(first + 1, std::memory_order_relaxed);
  } else {
    first = made_.fetch_add(count, std::memory_order_relaxed);
    if (first >= limit_) return nullptr;
    count = std::min(count, limit_ - first);
  }
  for (std::uint32_t place = count; place-- > 0;) {
    Base& base = *::new (&records_[first + place]) Record;
    base.index_ = first + place;
    is_there_[first + place].store(true, std::memory_order_release);
    if (place > 0) magazine[++magazine[0]] = base.index_;
  }
  return &records_[first];
}

template <class Record, template <class> class Atomic>
[[gnu::noinline]] void RecordPool<Record, Atomic>::spill(std::uint32_t* magazine, Base& last) noexcept {
  last.next_ = kNone;
  Base* first = &last;
  if (magazine != nullptr) {
    for (std::uint32_t keep = magazine_limit_ / 2; magazine[0] > keep;) {
      Base& base = records_[magazine[magazine[0]--]];
      base.next_ = first->index_;
      first = &base;
    }
  }
  push_batch(*first);
}

template <class Record, template <class> class Atomic>
std::uint32_t RecordPool<Record, Atomic>::pop_batch() noexcept {
  // Pairs with the release in push_batch(): what the last owners did is visible.
  std::uint64_t top = top_.load(std::memory_order_acquire);
  for (;;) {
    const auto index = static_cast<std::uint32_t>(top);
    if (index == kNone) return kNone;
    // The batch may have been popped meanwhile: the tag tells, and records are never unmapped.
    const std::uint32_t below = static_cast<Base&>(records_[index]).below_.load(std::memory_order_relaxed);
    if (top_.compare_exchange_weak(top, pack(below, (top >> 32) + 1), std::memory_order_acquire))
      return index;
  }
}

template <class Record, template <class> class Atomic>
void RecordPool<Record, Atomic>::push_batch(Base& first) noexcept {
  std::uint64_t top = top_.load(std::memory_order_relaxed);
  do {
    first.below_.store(static_cast<std::uint32_t>(top), std::memory_order_relaxed);
    // Pairs with the acquire in pop_batch().
  } while (!top_.compare_exchange_weak(top, pack(first.index_, (top >> 32) + 1), std::memory_order_release,
                                       std::memory_order_relaxed));
}

}  // namespace weft::core
