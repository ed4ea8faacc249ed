// Completion queues: statuses at rest, first in, first out.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <weft/completion/arrivals.hpp>
#include <weft/detail/copy.hpp>
#include <weft/detail/empty_polls.hpp>
#include <weft/detail/entry_ring.hpp>
#include <weft/detail/queue_end.hpp>

#include "completions.hpp"

namespace lci {

/// An active message of up to kInPlace bytes, or a status.
struct alignas(64) StatusEntry {
  static constexpr std::size_t kInPlace = 48;
  static constexpr std::uint32_t kStatus = 0xfe;            // `place` holds a status
  static constexpr std::uint32_t kStatusWithBuffer = 0xff;  // of an active message: nobody else frees it

  std::atomic<std::uint32_t> sequence;
  std::uint32_t kind;  // kStatus, kStatusWithBuffer, or the size of a message in `place`
  std::int32_t rank;
  std::uint32_t tag;
  alignas(16) std::byte place[kInPlace];

  /// What an entry holds, outside of the queue.
  struct Content {
    std::uint32_t kind;
    std::int32_t rank;
    std::uint32_t tag;
    alignas(16) std::byte place[kInPlace];
  };
  struct Item {
    const status_t& status;
    bool owns_buffer;
  };
  void store(const Item& item) noexcept {
    kind = item.owns_buffer ? kStatusWithBuffer : kStatus;
    std::memcpy(place, &item.status, sizeof item.status);
  }
  [[nodiscard]] static bool fits(const weft::Message& message) noexcept { return message.size() <= kInPlace; }
  void store(const weft::Message& message) noexcept {
    const std::size_t size = message.size();
    kind = static_cast<std::uint32_t>(size);
    rank = message.peer();
    tag = static_cast<std::uint32_t>(message.tag());
    weft::detail::copy_small(place, message.data(), size);
  }
  void load(Content& content) const noexcept {
    content.kind = kind;
    content.rank = rank;
    content.tag = tag;
    std::memcpy(content.place, place, sizeof place);
  }
};
static_assert(sizeof(StatusEntry) == 64 && sizeof(status_t) <= StatusEntry::kInPlace);

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

  /// Returns false when the queue is empty; such a pop only reads.
  [[nodiscard, gnu::always_inline]] inline bool pop(status_t& to) noexcept {
    Ring* const ring = head_ring_.load(std::memory_order_acquire);
    const Ring::Front front = ring->front();
    if (!front.is_full) {
      if (ring->next.load(std::memory_order_acquire) != nullptr ||
          is_stopped_.load(std::memory_order_relaxed))
        return pop_slowly(to);
      weft::detail::note_empty_poll();
      return false;
    }
    if (!consumers_.enter_alone()) [[unlikely]]
      return pop_slowly(to);
    StatusEntry::Content content;
    ring->pop_alone(front, content);
    consumers_.leave_alone();
    if (is_stopped_.load(std::memory_order_relaxed)) [[unlikely]]
      resume_if_drained();
    to = status_of(content);
    return true;
  }

 private:
  using Ring = weft::detail::EntryRing<StatusEntry>;
  using End = weft::detail::QueueEnd<weft::detail::ManyThreads>;
  static constexpr std::uint32_t kFirstLength = 256;

  /// For what does not fit an entry. Statuses at rest do not hold all packets: what arrives while many are at
  /// rest is copied to memory of the allocator.
  [[nodiscard]] Delivery delivery_at_rest() const noexcept;
  [[nodiscard, gnu::always_inline]] inline status_t status_of(
      const StatusEntry::Content& content) const noexcept {
    if (content.kind <= StatusEntry::kInPlace) [[likely]]
      return make_status(errorcode_t::done, content.rank,
                         delivery().own_copy(content.rank, content.place, content.kind), content.kind,
                         content.tag, nullptr);
    status_t status;
    std::memcpy(static_cast<void*>(&status), content.place, sizeof status);
    return status;
  }
  template <class Item>
  [[gnu::always_inline]] inline void push(const Item& item) noexcept;
  template <class Item>
  [[gnu::always_inline]] inline void push_one(const Item& item, bool is_alone) noexcept;
  template <class Item>
  [[gnu::noinline]] void push_slowly(const Item& item, bool is_alone) noexcept;
  [[gnu::noinline]] void push_large(weft::Message& message, bool is_alone) noexcept;
  bool pop_any(StatusEntry::Content& content) noexcept;
  [[gnu::noinline]] bool pop_slowly(status_t& to) noexcept;
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
