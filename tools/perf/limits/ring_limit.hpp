#pragma once

#include <weft/detail/processor.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::tools::perf {

/// The limit of the message rate: a ring of 64-byte slots between one sender and one receiver, and nothing
/// else. The work of a message library comes on top.
///
/// A slot's header, its position + 1, is written last and cleared by the receiver, which costs the sender
/// less than a header that it has to fetch again. The receiver returns credit every quarter of the ring.
struct Ring {
  static constexpr std::uint64_t kSlots = 1024;
  static constexpr std::uint64_t kMask = kSlots - 1;
  static constexpr std::size_t kPayload = 56;
  static constexpr std::uint64_t kPrefetch = 8;  // slots ahead of the sender

  struct alignas(64) Slot {
    std::atomic<std::uint64_t> header;
    std::byte payload[kPayload];
  };
  static_assert(sizeof(Slot) == 64);

  Slot slots[kSlots];
  alignas(64) std::atomic<std::uint64_t> credit;  // slots read so far; written by the receiver
  alignas(64) std::atomic<std::uint64_t> total;   // messages that were sent, + 1; 0: not known yet
};

class RingSender {
 public:
  explicit RingSender(Ring& ring) : ring_(ring) {}

  void send(const std::byte* payload, std::size_t size) {
    if (tail_ == limit_) [[unlikely]]
      wait_for_credit();
    Ring::Slot& slot = ring_.slots[tail_ & Ring::kMask];
    detail::prefetch_for_write(&ring_.slots[(tail_ + Ring::kPrefetch) & Ring::kMask]);
    std::memcpy(slot.payload, payload, size);
    // Pairs with the acquire in RingReceiver::receive.
    slot.header.store(++tail_, std::memory_order_release);
  }
  /// Tells the receiver when to stop.
  void finish() { ring_.total.store(tail_ + 1, std::memory_order_release); }
  [[nodiscard]] std::uint64_t sent() const { return tail_; }

 private:
  void wait_for_credit() {
    // Pairs with the release in RingReceiver::receive: the slots have been read.
    while ((limit_ = ring_.credit.load(std::memory_order_acquire) + Ring::kSlots) == tail_)
      detail::cpu_pause();
  }

  Ring& ring_;
  std::uint64_t tail_ = 0;
  std::uint64_t limit_ = Ring::kSlots;
};

class RingReceiver {
 public:
  explicit RingReceiver(Ring& ring) : ring_(ring) {}

  /// Hands the messages in the ring, up to a quarter of it, to consume(header, payload); returns their
  /// number.
  template <class Consume>
  std::uint64_t receive(const Consume& consume) {
    const std::uint64_t begin = head_;
    std::uint64_t head = head_;
    for (const std::uint64_t end = begin + Ring::kSlots / 4; head != end; ++head) {
      Ring::Slot& slot = ring_.slots[head & Ring::kMask];
      // Pairs with the release in RingSender::send.
      const std::uint64_t header = slot.header.load(std::memory_order_acquire);
      if (header == 0) break;
      consume(header, slot.payload);
      slot.header.store(0, std::memory_order_relaxed);
    }
    head_ = head;
    if (head - credited_ >= Ring::kSlots / 4) {
      ring_.credit.store(head, std::memory_order_release);
      credited_ = head;
    }
    return head - begin;
  }
  [[nodiscard]] std::uint64_t received() const { return head_; }
  /// Returns true when everything has been received.
  [[nodiscard]] bool finished() const { return ring_.total.load(std::memory_order_acquire) == head_ + 1; }

 private:
  Ring& ring_;
  std::uint64_t head_ = 0;
  std::uint64_t credited_ = 0;
};

}  // namespace weft::tools::perf
