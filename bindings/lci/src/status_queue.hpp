// Completion queues: statuses at rest, first in, first out.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <weft/completion/arrivals.hpp>
#include <weft/detail/copy.hpp>
#include <weft/detail/empty_polls.hpp>
#include <weft/detail/entry_ring.hpp>
#include <weft/detail/queue_end.hpp>

#include "completions.hpp"

namespace lci {

/// An active message of up to kStorageBytes bytes, or a status.
struct alignas(64) StatusEntry {
  static constexpr std::size_t kStorageBytes = 48;
  static constexpr std::uint32_t kStatus = 0xfe;            // `storage` holds a status
  static constexpr std::uint32_t kStatusWithBuffer = 0xff;  // of an active message: nobody else frees it

  std::atomic<std::uint32_t> sequence;
  std::uint32_t kind;  // kStatus, kStatusWithBuffer, or the size of a message in `storage`
  std::int32_t rank;
  std::uint32_t tag;
  alignas(16) std::byte storage[kStorageBytes];

  /// What an entry holds, outside of the queue.
  struct Content {
    std::uint32_t kind;
    std::int32_t rank;
    std::uint32_t tag;
    alignas(16) std::byte storage[kStorageBytes];
  };
  /// What an entry of kind sizeof(std::uint64_t) holds: small enough for registers.
  struct Word {
    std::int32_t rank;
    std::uint32_t tag;
    std::uint64_t payload;
  };
  struct Item {
    const status_t& status;
    bool owns_buffer;
  };
  void store(const Item& item) noexcept {
    kind = item.owns_buffer ? kStatusWithBuffer : kStatus;
    std::memcpy(storage, &item.status, sizeof item.status);
  }
  [[nodiscard]] static bool fits(const weft::Message& message) noexcept {
    return message.size() <= kStorageBytes;
  }
  void store(const weft::Message& message) noexcept {
    const std::size_t size = message.size();
    kind = static_cast<std::uint32_t>(size);
    rank = message.peer();
    tag = static_cast<std::uint32_t>(message.tag());
    weft::detail::copy_small(storage, message.data(), size);
  }
  void load(Content& content) const noexcept {
    content.kind = kind;
    content.rank = rank;
    content.tag = tag;
    std::memcpy(content.storage, storage, sizeof storage);
  }
  [[nodiscard]] bool holds_status() const noexcept { return kind > kStorageBytes; }
  /// The words of the status that the entry holds.
  using StatusWords = std::array<std::uint64_t, sizeof(status_t) / sizeof(std::uint64_t)>;
  void load(StatusWords& words) const noexcept { std::memcpy(words.data(), storage, sizeof words); }
  void load(Word& word) const noexcept {
    word.rank = rank;
    word.tag = tag;
    std::memcpy(&word.payload, storage, sizeof word.payload);
  }
};
static_assert(sizeof(StatusEntry) == 64 && sizeof(status_t) <= StatusEntry::kStorageBytes);

/// Statuses lie in the queue as the program gets them, and small active messages until they are popped: the
/// program frees memory and packets soon after it has got them, and so the next pop finds them in the cache.
/// The rings and their ends are those of weft's queues (docs/internals/completion/queue.md). Any number of
/// threads signal and pop.
class QueueCompletion final : public OwnCompletion, public weft::Completion {
 public:
  explicit QueueCompletion(const comp_attr_t& attributes);
  ~QueueCompletion() override;

  void signal(status_t status) override;
  void signal(weft::Message& message) noexcept override;
  void signal_batch(weft::Arrivals& arrivals) noexcept override;
  [[nodiscard]] bool ready() const noexcept override;
  [[nodiscard]] AtRest at_rest() const noexcept override;

  /// Answers retry when the queue is empty; such a pop only reads.
  [[nodiscard, gnu::always_inline]] inline status_t pop() noexcept {
    Ring* const ring = head_ring_.load(std::memory_order_acquire);
    const Ring::Front front = ring->front();
    if (!front.is_full) {
      if (ring->next.load(std::memory_order_acquire) != nullptr ||
          is_stopped_.load(std::memory_order_relaxed))
        return pop_slowly();
      weft::detail::note_empty_poll();
      return status_t(errorcode_t::retry);
    }
    if (!consumers_.enter_alone()) [[unlikely]]
      return pop_slowly();
    if (front.entry->kind == sizeof(std::uint64_t)) {
      StatusEntry::Word word;
      end_pop_alone(*ring, front, word);
      return make_status(errorcode_t::done, word.rank, delivery().own_copy(word.rank, word.payload),
                         sizeof word.payload, word.tag, nullptr);
    }
    if (!front.entry->holds_status()) return pop_other_alone(*ring);
    StatusEntry::StatusWords words;
    end_pop_alone(*ring, front, words);
    return std::bit_cast<status_t>(words);
  }

 private:
  using Ring = weft::detail::EntryRing<StatusEntry>;
  using End = weft::detail::QueueEnd<weft::detail::ManyThreads>;
  static constexpr std::uint32_t kFirstLength = 256;

  /// For what does not fit an entry. Statuses at rest do not hold all packets: what arrives while many are at
  /// rest is copied to memory of the allocator.
  [[nodiscard]] Delivery delivery_at_rest() const noexcept;
  [[nodiscard]] status_t status_of(const StatusEntry::Content& content) const noexcept {
    if (content.kind <= StatusEntry::kStorageBytes) [[likely]]
      return make_status(errorcode_t::done, content.rank,
                         delivery().own_copy(content.rank, content.storage, content.kind), content.kind,
                         content.tag, nullptr);
    StatusEntry::StatusWords words;
    std::memcpy(words.data(), content.storage, sizeof words);
    return std::bit_cast<status_t>(words);
  }
  template <class Item>
  [[gnu::always_inline]] inline void push(const Item& item) noexcept;
  template <class Item>
  [[gnu::always_inline]] inline void push_one(const Item& item, bool is_alone) noexcept;
  template <class Item>
  [[gnu::noinline]] void push_slowly(const Item& item, bool is_alone) noexcept;
  [[gnu::noinline]] void push_large(weft::Message& message, bool is_alone) noexcept;
  bool pop_any(StatusEntry::Content& content) noexcept;
  /// The rest of a pop that is alone.
  template <class To>
  [[gnu::always_inline]] inline void end_pop_alone(Ring& ring, const Ring::Front& front, To& to) noexcept {
    ring.pop_alone(front, to);
    consumers_.leave_alone();
    if (is_stopped_.load(std::memory_order_relaxed)) [[unlikely]]
      resume_if_drained();
  }
  /// The same for messages of other sizes than a word.
  [[gnu::noinline]] status_t pop_other_alone(Ring& ring) noexcept;
  [[gnu::noinline]] status_t pop_slowly() noexcept;
  static void grow(Ring& full);
  [[nodiscard]] std::uint64_t size_guess() const noexcept { return at_rest().messages; }
  void stop_if_full() noexcept;
  [[gnu::noinline]] void resume_if_drained() noexcept;

  const std::uint64_t capacity_;
  // The number at rest is compared with the capacity at every position that has none of these bits.
  const std::uint64_t check_mask_;
  Ring* const first_;
  alignas(64) std::atomic<Ring*> head_ring_;
  std::atomic<bool> is_stopped_{false};
  alignas(64) std::atomic<Ring*> tail_ring_;
  End producers_;
  End consumers_;
};

}  // namespace lci
