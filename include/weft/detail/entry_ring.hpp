// A bounded ring of 64-byte message entries, the segment from which completion queues grow.
#pragma once

#include <weft/detail/copy.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/message_access.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace weft::detail {

/// A message in a queue. A payload of up to kEntryPayload bytes lies in `place`, and behind it the handle to
/// which the message was sent, if there is room (kWithHandle); else `place` holds an External.
struct alignas(64) QueueEntry {
  std::atomic<std::uint32_t> sequence;
  std::uint32_t tag;   // of an in-place payload
  std::uint64_t kind;  // the kind of the message; above it the size of an in-place payload, or kExternal...
  alignas(16) std::byte place[kEntryPayload];

  static constexpr std::size_t kWithHandle = kEntryPayload - sizeof(std::uint32_t);
  static constexpr std::uint64_t kExternal = 0xfe;
  static constexpr std::uint64_t kExternalWithHandle = 0xff;

  struct External {
    const std::byte* data;
    std::size_t size;
    void* user_data;
    PayloadOwner* owner;
    std::uint64_t cookie;
    std::uint64_t tag;  // of an arrival, above bit 32 the handle
  };
  static_assert(sizeof(External) <= kEntryPayload);

  /// A message to which an entry is_short() is loaded.
  struct Short {
    Message& message;
  };
  /// A message that is stored as an External, independent of its size.
  struct Apart {
    Message& message;
  };

  void store(Message& message) noexcept;
  void store(Apart& apart) noexcept { store_external(apart.message); }
  void load(Message& message) noexcept { is_short() ? load_short(message) : load_long(message); }
  [[gnu::always_inline]] void load(Short& item) noexcept { load_short(item.message); }
  /// Returns true when the payload lies in the entry, and the handle behind it.
  [[nodiscard]] bool is_short() const noexcept { return kind >> MessageAccess::kKindBits <= kWithHandle; }
  /// Returns true when store() copies the message's payload into the entry, as store_in_place() does.
  [[nodiscard]] static bool fits(const Message& message) noexcept {
    return MessageAccess::is_plain_arrival(message) && message.size() <= kEntryPayload;
  }
  void store_in_place(const Message& message) noexcept;

 private:
  void load_short(Message& message) noexcept;
  WEFT_API void store_external(Message& message) noexcept;
  WEFT_API void load_long(Message& message) noexcept;
};
static_assert(sizeof(QueueEntry) == 64);

inline void QueueEntry::store_in_place(const Message& message) noexcept {
  const std::size_t size = message.size();
  tag = static_cast<std::uint32_t>(message.tag());
  kind = MessageAccess::kind_in_place(message) | static_cast<std::uint64_t>(size) << MessageAccess::kKindBits;
  const std::uint32_t handle = MessageAccess::handle(message);
  std::memcpy(place + kWithHandle, &handle, sizeof handle);  // overwritten by a payload that needs its room
  copy_small(place, message.data(), size);
}

inline void QueueEntry::store(Message& message) noexcept {
  if (fits(message)) [[likely]]
    store_in_place(message);
  else
    store_external(message);
}

[[gnu::always_inline]] inline void QueueEntry::load_short(Message& message) noexcept {
  const std::uint64_t stored = kind;
  const std::size_t size = stored >> MessageAccess::kKindBits;
  MessageAccess::set_kind(message, stored & MessageAccess::kKind);
  std::uint32_t handle = 0;
  std::memcpy(&handle, place + kWithHandle, sizeof handle);
  copy_small(MessageAccess::set_arrived_in_place(message, tag, size, handle), place, size);
}

/// Bounded first-in-first-out ring. The sequence number of each entry is `position` when the entry is empty,
/// `position + 1` when it is full. A thread that is `alone`, the only one that pushes or pops during its
/// call, needs no locked instruction. The atomic type is a parameter so that tests can drive schedules;
/// `Entry` needs `sequence`, `store` and `load`.
template <class Entry = QueueEntry, template <class> class Atomic = std::atomic>
class EntryRing {
 public:
  enum class Push : std::uint8_t { pushed, full, closed };
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 63;

  /// `capacity` is a power of two, at least 2: with a single entry, "full" for one position would read as
  /// "empty" for the next.
  explicit EntryRing(std::uint32_t capacity) : mask_(capacity - 1), entries_(new Entry[capacity]) {
    for (std::uint32_t index = 0; index < capacity; ++index)
      entries_[index].sequence.store(index, std::memory_order_relaxed);
  }

  template <class Item>
  Push push(Item& item, bool alone) noexcept {
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    for (;;) {
      if ((tail & kClosed) != 0) return Push::closed;
      Entry& entry = entries_[tail & mask_];
      // Pairs with the release in pop(): the entry has been read before it is written again.
      const auto turn = static_cast<std::int32_t>(entry.sequence.load(std::memory_order_acquire) -
                                                  static_cast<std::uint32_t>(tail));
      if (turn < 0) return Push::full;
      if (turn > 0) {
        tail = tail_.load(std::memory_order_relaxed);
        continue;
      }
      if (alone) {
        tail_.store(tail + 1, std::memory_order_relaxed);
      } else if (!tail_.compare_exchange_weak(tail, tail + 1, std::memory_order_relaxed)) {
        continue;
      }
      entry.store(item);
      // Pairs with the acquire in pop() and empty().
      entry.sequence.store(static_cast<std::uint32_t>(tail + 1), std::memory_order_release);
      return Push::pushed;
    }
  }

  /// Fast path of push() for a thread that is alone: `fill(Entry&)` writes the entry. Returns false, without
  /// effect, when the ring is full or closed, or its next position has none of the bits of `mask`.
  template <class Fill>
  [[nodiscard, gnu::always_inline]] bool push_alone(std::uint64_t mask, Fill&& fill) noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if ((tail & mask) == 0 || (tail & kClosed) != 0) [[unlikely]]
      return false;
    const auto position = static_cast<std::uint32_t>(tail);
    Entry& entry = entries_[position & mask_];
    // The acquire and the release pair as in push().
    if (entry.sequence.load(std::memory_order_acquire) != position) [[unlikely]]
      return false;
    tail_.store(tail + 1, std::memory_order_relaxed);
    fill(entry);
    entry.sequence.store(position + 1, std::memory_order_release);
    return true;
  }

  /// The entry of the next pop. Valid while no other thread pops.
  struct Front {
    Entry* entry;
    std::uint64_t position;
    bool is_full;
  };
  [[nodiscard, gnu::always_inline]] Front front() const noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    Entry& entry = entries_[head & mask_];
    const auto turn = static_cast<std::int32_t>(entry.sequence.load(std::memory_order_acquire) -
                                                static_cast<std::uint32_t>(head));
    return {&entry, head, turn > 0};
  }
  /// pop() for a thread that has been alone since front() returned that entry as full.
  template <class Item>
  [[gnu::always_inline]] void pop_alone(const Front& front, Item& item) noexcept {
    head_.store(front.position + 1, std::memory_order_relaxed);
    take(*front.entry, front.position, item);
  }
  template <class Item>
  bool pop(Item& item, bool alone) noexcept {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    for (;;) {
      Entry& entry = entries_[head & mask_];
      // Pairs with the release in push().
      const auto turn = static_cast<std::int32_t>(entry.sequence.load(std::memory_order_acquire) -
                                                  static_cast<std::uint32_t>(head + 1));
      if (turn < 0) return false;
      if (turn > 0) {
        head = head_.load(std::memory_order_relaxed);
        continue;
      }
      if (alone) {
        head_.store(head + 1, std::memory_order_relaxed);
      } else if (!head_.compare_exchange_weak(head, head + 1, std::memory_order_relaxed)) {
        continue;
      }
      take(entry, head, item);
      return true;
    }
  }

  /// Returns true when the ring is empty. Only reads. Exact while no thread pushes or pops.
  [[nodiscard]] bool empty() const noexcept { return !front().is_full; }
  [[nodiscard]] std::uint64_t size_guess() const noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed) & ~kClosed;
    return tail > head ? tail - head : 0;
  }
  /// Position of the next pop, approximately.
  [[nodiscard]] std::uint64_t head_guess() const noexcept { return head_.load(std::memory_order_relaxed); }
  /// Position of the next push, approximately.
  [[nodiscard]] std::uint64_t tail_guess() const noexcept { return tail_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return mask_ + 1; }

  /// Closes the ring: no push succeeds afterwards. Called by a producer, by the only one if it is alone.
  void close() noexcept { tail_.fetch_or(kClosed, std::memory_order_relaxed); }
  /// Returns true when the ring is closed and every entry that was pushed has been claimed by a pop.
  [[nodiscard]] bool drained() const noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    return (tail & kClosed) != 0 && (tail & ~kClosed) == head_.load(std::memory_order_relaxed);
  }

  Atomic<EntryRing*> next{nullptr};  // the larger ring that replaces this one

 private:
  template <class Item>
  [[gnu::always_inline]] void take(Entry& entry, std::uint64_t head, Item& item) noexcept {
    entry.load(item);
    // Pairs with the acquire in push().
    entry.sequence.store(static_cast<std::uint32_t>(head) + mask_ + 1, std::memory_order_release);
  }

  const std::uint32_t mask_;
  const std::unique_ptr<Entry[]> entries_;
  alignas(64) Atomic<std::uint64_t> tail_{0};  // written by producers
  alignas(64) Atomic<std::uint64_t> head_{0};  // written by consumers
};

}  // namespace weft::detail
