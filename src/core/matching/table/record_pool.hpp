// A pool of records of operations, by index and generation: the thread that takes a record owns it.
#pragma once

#include "concurrent/thread_number.hpp"
#include "core/memory/zeroed_memory.hpp"

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
    // Pairs with the release in release(): a new generation means that the former use has ended.
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

/// A pool of records, which are made when they are first needed and kept until the pool is destroyed, so that
/// an index stays valid. Each thread has a private magazine that no other thread touches; records that exceed
/// it go to a lock-free stack of batches. Any thread; by contract one at a time when serial.
///
/// `limit` records may be in use at a time, wherever free ones lie: other threads cannot reach the magazine
/// of a thread, so when the other records run out, as many further records are made as it may hold: 255, and
/// no more than an eighth of the limit, for each thread that has used the pool. They come on top of the limit
/// when that thread uses its own records.
///
/// Record derives from PooledRecord. It is constructed once, and take() returns it as its last owner left it.
template <class Record, template <class> class Atomic = std::atomic>
class RecordPool {
  using Base = BasicPooledRecord<Atomic>;
  static_assert(std::is_base_of_v<Base, Record>, "records derive from PooledRecord");

 public:
  /// What happens about free records in magazines of other threads when the limit is reached.
  enum class Idle : std::uint8_t {
    replaced,    ///< they are replaced by further records
    unreachable  ///< they cannot be used, and the pool seems empty early
  };

  /// Throws weft::Error when there is no address space for `limit` records, 1 to 2^30, and for those that
  /// replace others.
  RecordPool(std::uint32_t limit, bool serial, Idle idle = Idle::replaced);
  ~RecordPool();
  RecordPool(const RecordPool&) = delete;
  RecordPool& operator=(const RecordPool&) = delete;

  /// Returns nullptr when `limit` records are in use.
  [[nodiscard]] Record* take() noexcept { return take(number()); }

  // Fast paths of take() and release(). kSerial: the pool is serial.

  /// Returns nullptr when the magazine of this thread is empty; the caller then falls back to take().
  template <bool kSerial>
  [[nodiscard]] Record* try_take() noexcept {
    std::uint32_t* const magazine = own_magazine<kSerial>();
    if (!kSerial && magazine == nullptr) [[unlikely]]
      return nullptr;
    const std::uint32_t count = magazine[0];
    if (count == 0) [[unlikely]]
      return nullptr;
    magazine[0] = count - 1;
    Record* const record = std::addressof(records_[magazine[count]]);
    if (record == nullptr) __builtin_unreachable();  // tells the compiler that it is not null
    return record;
  }
  /// Undoes this thread's last try_take(), as if the record had not been used.
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

  /// Ends the record's use: from now on its generation is another one.
  void release(Record& record) noexcept { serial_ ? release<true>(record) : release<false>(record); }
  /// `thread`: as in take(). Not for a serial pool.
  void release(Record& record, std::uint32_t thread) noexcept { put<false>(magazine_of(thread), record); }
  template <bool kSerial>
  void release(Record& record) noexcept {
    put<kSerial>(own_magazine<kSerial>(), record);
  }
  /// Returns the magazine of this thread, for release() to it; nullptr: the thread has none.
  template <bool kSerial>
  [[nodiscard]] std::uint32_t* own_magazine() const noexcept {
    const std::uint32_t thread = kSerial ? 0 : concurrent::known_thread_number();
    if (!kSerial && thread >= kMagazines) [[unlikely]]
      return nullptr;
    std::uint32_t* const magazine = magazines_ + thread * std::size_t{kMagazineWords};
    if (magazine == nullptr) __builtin_unreachable();  // tells the compiler that it is not null
    return magazine;
  }
  template <bool kSerial>
  void release(Record& record, std::uint32_t* magazine) noexcept {
    put<kSerial>(magazine, record);
  }

  /// Returns the record at `index`, or nullptr when there has never been one. Any index is allowed; any
  /// thread, also while another one makes records.
  [[nodiscard]] Record* find(std::uint32_t index) const noexcept {
    // Pairs with the release in make(): numbers are given away before their records exist.
    return index < capacity_ && is_there_[index].load(std::memory_order_acquire) ? &records_[index] : nullptr;
  }
  /// Returns the record while its use is that of this generation, otherwise nullptr.
  [[nodiscard]] Record* find(std::uint32_t index, std::uint32_t generation) const noexcept {
    Record* record = find(index);
    return record != nullptr && record->generation() == generation ? record : nullptr;
  }

  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
  /// Indices are below this.
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  /// The number of records that exist; may exceed the limit.
  [[nodiscard]] std::uint32_t made() const noexcept { return made_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kNone = Base::kNone;
  static constexpr std::uint32_t kMagazines = 256;  // threads with higher numbers go to the stack
  static_assert(kMagazines <= concurrent::kReusedNumbers, "magazines have one owner at a time");
  // A window of receives, which a thread posts and which then end on it, is to fit.
  static constexpr std::uint32_t kMagazineWords = 256;
  static constexpr std::uint32_t kMadeTogether = 32;
  // The representation of false is zero, which fresh memory has already.
  static constexpr bool kZeroIsFalse = std::is_same_v<Atomic<bool>, std::atomic<bool>>;

  static constexpr std::uint64_t pack(std::uint32_t index, std::uint64_t tag) noexcept {
    return tag << 32 | index;
  }
  [[nodiscard]] std::uint32_t number() const noexcept { return serial_ ? 0 : concurrent::thread_number(); }
  /// Returns the magazine of a thread: the first word is the count, indices follow; nullptr for threads
  /// without one.
  [[nodiscard]] std::uint32_t* magazine_of(std::uint32_t thread) const noexcept {
    return thread < kMagazines ? magazines_ + thread * std::size_t{kMagazineWords} : nullptr;
  }
  /// The most records that a thread may have in its magazine, and in its hands while that is full.
  [[nodiscard]] std::uint32_t out_of_reach() const noexcept { return magazine_limit_ + 1; }
  [[nodiscard]] std::uint32_t number_of(const std::uint32_t* magazine) const noexcept {
    return static_cast<std::uint32_t>(static_cast<std::size_t>(magazine - magazines_) / kMagazineWords);
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
  void replace_idle(const std::uint32_t* own) noexcept;
  /// A hint, which only decides whether more records are made than are needed; the annotation tells
  /// ThreadSanitizer so.
  __attribute__((no_sanitize("thread"))) static bool seems_filled(const std::uint32_t* magazine) noexcept {
    return *static_cast<const volatile std::uint32_t*>(magazine) != 0;
  }
  void spill(std::uint32_t* magazine, Base& last) noexcept;
  [[nodiscard]] std::uint32_t pop_batch() noexcept;
  void push_batch(Base& first) noexcept;

  const std::uint32_t limit_;
  const bool serial_;
  const std::uint32_t magazine_limit_;
  const std::uint32_t capacity_;
  ZeroedMemory record_memory_;
  ZeroedMemory magazine_memory_;
  ZeroedMemory presence_memory_;
  Record* const records_;
  std::uint32_t* const magazines_;
  Atomic<bool>* const is_there_;                           // by index: the record is whole
  alignas(64) Atomic<std::uint64_t> top_{pack(kNone, 0)};  // index and tag of the top batch
  alignas(64) Atomic<std::uint32_t> made_{0};              // records that exist
  Atomic<std::uint32_t> replaced_{0};                      // of these, at most this many beyond the limit
  std::atomic<bool> takes_[kMagazines] = {};  // by thread: it may have records on the way to its magazine
  std::atomic<bool> is_replaced_[kMagazines] = {};  // by thread: its magazine counts in replaced_
};

template <class Record, template <class> class Atomic>
RecordPool<Record, Atomic>::RecordPool(std::uint32_t limit, bool serial, Idle idle)
    : limit_(limit),
      serial_(serial),
      magazine_limit_(serial ? limit : std::clamp(limit / 8, 1U, kMagazineWords - 2)),
      capacity_(serial || idle == Idle::unreachable ? limit : limit + kMagazines * out_of_reach()),
      record_memory_(capacity_ * sizeof(Record), "the records of a matching engine"),
      magazine_memory_((serial ? limit + std::size_t{1} : std::size_t{kMagazines} * kMagazineWords) *
                           sizeof(std::uint32_t),
                       "the free records of a matching engine"),
      presence_memory_(capacity_ * sizeof(Atomic<bool>), "the presence of records of a matching engine"),
      records_(static_cast<Record*>(record_memory_.data())),
      magazines_(static_cast<std::uint32_t*>(magazine_memory_.data())),
      is_there_(static_cast<Atomic<bool>*>(presence_memory_.data())) {
  static_assert(alignof(Record) <= 4096, "pages are aligned to no more");
  if constexpr (!kZeroIsFalse) std::uninitialized_default_construct_n(is_there_, capacity_);
}

template <class Record, template <class> class Atomic>
RecordPool<Record, Atomic>::~RecordPool() {
  if constexpr (!std::is_trivially_destructible_v<Record>)
    std::destroy_n(records_, made_.load(std::memory_order_relaxed));
  if constexpr (!kZeroIsFalse) std::destroy_n(is_there_, capacity_);
}

template <class Record, template <class> class Atomic>
[[gnu::noinline]] Record* RecordPool<Record, Atomic>::take_slowly(std::uint32_t* magazine) noexcept {
  if (serial_) return make(magazine);
  if (magazine != nullptr) {
    std::atomic<bool>& takes = takes_[number_of(magazine)];
    if (!takes.load(std::memory_order_relaxed)) takes.store(true, std::memory_order_relaxed);
  }
  std::uint32_t first = kNone;
  for (;;) {
    const std::uint32_t made_before = made_.load(std::memory_order_relaxed);
    first = pop_batch();
    if (first != kNone) break;
    if (Record* const record = make(magazine); record != nullptr) return record;
    // Fails only when no record was made since the stack was empty; otherwise the loop tries again.
    if (made_.load(std::memory_order_relaxed) == made_before) return nullptr;
  }
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
  std::uint32_t count = 1;
  if (serial_) {
    if (first >= limit_) return nullptr;
    made_.store(first + 1, std::memory_order_relaxed);
  } else {
    const std::uint32_t wanted = magazine != nullptr ? std::min((magazine_limit_ + 1) / 2, kMadeTogether) : 1;
    do {
      std::uint32_t most = limit_ + replaced_.load(std::memory_order_relaxed);
      if (first >= most) {
        replace_idle(magazine);
        most = limit_ + replaced_.load(std::memory_order_relaxed);
        if (first >= most) return nullptr;
      }
      count = std::min(wanted, most - first);
    } while (!made_.compare_exchange_weak(first, first + count, std::memory_order_relaxed));
  }
  for (std::uint32_t index = count; index-- > 0;) {
    Base& base = *::new (&records_[first + index]) Record;
    base.index_ = first + index;
    is_there_[first + index].store(true, std::memory_order_release);
    if (index > 0) magazine[++magazine[0]] = base.index_;
  }
  return &records_[first];
}

/// Makes up for the records that other threads have in their magazines, or on the way to and from them. Every
/// record is in use, in the stack, or there: so when the stack is empty and all allowed records are made,
/// `limit` are in use.
template <class Record, template <class> class Atomic>
[[gnu::noinline]] void RecordPool<Record, Atomic>::replace_idle(const std::uint32_t* own) noexcept {
  if (capacity_ == limit_) return;
  const std::uint32_t end = std::min(concurrent::thread_numbers_used(), kMagazines);
  for (std::uint32_t thread = 0; thread < end; ++thread) {
    const std::uint32_t* const magazine = magazine_of(thread);
    const bool may_have_some = takes_[thread].load(std::memory_order_relaxed) || seems_filled(magazine);
    if (magazine != own && may_have_some && !is_replaced_[thread].load(std::memory_order_relaxed) &&
        !is_replaced_[thread].exchange(true, std::memory_order_relaxed))
      replaced_.fetch_add(out_of_reach(), std::memory_order_relaxed);
  }
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
    // The batch may have been popped meanwhile: the tag shows that, and records are never unmapped.
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
