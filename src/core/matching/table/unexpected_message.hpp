// An unexpected message, and the buffers in which its payload waits.
#pragma once

#include "core/matching/table/record_pool.hpp"

#include <weft/message.hpp>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace weft::core {

class CreditLedger;

/// Memory for a payload that arrives in slots and is too long for its note.
struct alignas(64) UnexpectedBlock : PooledRecord {
  static constexpr std::size_t kBytes = 2096;  // the most that inlined sends carry by default
  std::array<std::byte, kBytes> bytes;
};
static_assert(sizeof(UnexpectedBlock) % 128 == 64,
              "an odd number of lines, which spreads blocks over the cache");

class UnexpectedPayload {
 public:
  /// Payloads up to here are copied into their note.
  static constexpr std::size_t kInside = 144;

  enum class Storage : std::uint8_t {
    inside,    ///< in the note itself
    beside,    ///< in an UnexpectedBlock
    held,      ///< by a message that owns it: in a packet, or on the heap
    announced  ///< still with the sender; the note holds the protocol's RTS
  };

  std::uint64_t tag = 0;
  std::size_t length = 0;          // size of the payload
  CreditLedger* ledger = nullptr;  // returns its credit; null: it came without one
  std::int32_t peer = 0;

 private:
  Storage storage_ = Storage::inside;

 public:
  std::uint8_t sender_device = 0;

  UnexpectedPayload() noexcept {}
  UnexpectedPayload(const UnexpectedPayload&) = delete;
  UnexpectedPayload& operator=(const UnexpectedPayload&) = delete;
  ~UnexpectedPayload() { drop_held(); }

  [[nodiscard]] Storage storage() const noexcept { return storage_; }
  [[nodiscard]] bool is_announced() const noexcept { return storage_ == Storage::announced; }
  /// The `length` bytes of the payload, unless they are still with the sender.
  [[nodiscard]] const std::byte* payload() const noexcept {
    return storage_ == Storage::inside   ? inside_.data()
           : storage_ == Storage::beside ? block_->bytes.data()
                                         : message_.data();
  }

  // The functions below are for a note that has no payload.

  /// Sets all but the payload.
  void describe(int from, std::uint64_t its_tag, std::size_t its_length, std::uint8_t from_device,
                CreditLedger* its_ledger) noexcept {
    tag = its_tag;
    length = its_length;
    ledger = its_ledger;
    peer = from;
    sender_device = from_device;
  }
  /// Declares that the payload lies inside, and returns where the caller writes it.
  [[nodiscard]] std::byte* set_inside() noexcept {
    storage_ = Storage::inside;
    return inside_.data();
  }
  /// Declares that the payload lies in a block, which belongs to the note until take_block(), and returns
  /// where the caller writes it.
  [[nodiscard]] std::byte* set_beside(UnexpectedBlock& block) noexcept {
    storage_ = Storage::beside;
    block_ = &block;
    return block.bytes.data();
  }
  /// Holds the Message that make() returns, constructed in place: moving one that has just been written costs
  /// more than writing it.
  template <class Make>
  void hold(const Make& make) noexcept {
    ::new (static_cast<void*>(&message_)) Message(make());
    storage_ = Storage::held;
  }
  template <class Announcement>
  void announce(const Announcement& rts) noexcept {
    static_assert(sizeof rts <= kInside);
    std::memcpy(inside_.data(), &rts, sizeof rts);
    storage_ = Storage::announced;
  }
  template <class Announcement>
  [[nodiscard]] Announcement rts() const noexcept {
    Announcement rts;
    std::memcpy(&rts, inside_.data(), sizeof rts);
    return rts;
  }

  // The functions below are for a note that has a payload.

  /// Returns the block, which then belongs to the caller; null: there is none. The note has no payload then.
  [[nodiscard]] UnexpectedBlock* take_block() noexcept {
    if (storage_ != Storage::beside) return nullptr;
    storage_ = Storage::inside;
    return block_;
  }
  void drop_held() noexcept {
    if (storage_ != Storage::held) return;
    std::destroy_at(&message_);
    storage_ = Storage::inside;
  }
  /// Takes over the contents of `other`, which has no payload then; `own` takes the contents of another
  /// engine's block.
  void take_over(UnexpectedPayload& other, UnexpectedBlock* own) noexcept {
    describe(other.peer, other.tag, other.length, other.sender_device, other.ledger);
    switch (other.storage_) {
      case Storage::inside:
      case Storage::announced:
        inside_ = other.inside_;
        storage_ = other.storage_;
        break;
      case Storage::beside:
        std::memcpy(set_beside(*own), other.block_->bytes.data(), length);
        break;
      case Storage::held:
        hold([&] { return std::move(other.message_); });
        other.drop_held();
        break;
    }
  }

 private:
  union {
    std::array<std::byte, kInside> inside_;
    UnexpectedBlock* block_;
    Message message_;
  };
};

/// The members that are read first, and payloads up to 16 bytes, lie in one cache line.
struct alignas(64) Unexpected : PooledRecord, UnexpectedPayload {
  [[nodiscard]] UnexpectedPayload& content() noexcept { return *this; }
};
static_assert(sizeof(Unexpected) == 192);

}  // namespace weft::core
