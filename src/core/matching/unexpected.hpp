// A message that came before its receive, and where its payload waits.
#pragma once

#include "core/matching/record_pool.hpp"

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

/// Room for a payload that arrives in slots and is too long for its note.
struct alignas(64) EarlyBlock : PooledRecord {
  static constexpr std::size_t kBytes = 2096;  // what inlined sends carry by default
  std::array<std::byte, kBytes> bytes;
};
static_assert(sizeof(EarlyBlock) % 128 == 64, "an odd number of lines, which spreads blocks over the cache");

class Arrived {
 public:
  /// Payloads up to here are copied into their note.
  static constexpr std::size_t kInside = 144;

  enum class Kept : std::uint8_t {
    inside,    ///< in the note itself
    beside,    ///< in an EarlyBlock
    held,      ///< by a message that owns it: in a packet, or on the heap
    announced  ///< not here: the sender has it, and the note the protocol's announcement
  };

  std::uint64_t tag = 0;
  std::size_t length = 0;          // what the sender sent
  CreditLedger* ledger = nullptr;  // that returns its credit; null: it came without one
  std::int32_t peer = 0;

 private:
  Kept kept_ = Kept::inside;

 public:
  std::uint8_t sender_device = 0;

  Arrived() noexcept {}
  Arrived(const Arrived&) = delete;
  Arrived& operator=(const Arrived&) = delete;
  ~Arrived() { drop_held(); }

  [[nodiscard]] Kept kept() const noexcept { return kept_; }
  [[nodiscard]] bool is_announced() const noexcept { return kept_ == Kept::announced; }
  /// The `length` bytes that were sent, unless they are still there.
  [[nodiscard]] const std::byte* payload() const noexcept {
    return kept_ == Kept::inside   ? place_.data()
           : kept_ == Kept::beside ? block_->bytes.data()
                                   : message_.data();
  }

  // What follows is for a note that has no payload.

  /// All but the payload.
  void describe(int from, std::uint64_t its_tag, std::size_t its_length, std::uint8_t from_device,
                CreditLedger* its_ledger) noexcept {
    tag = its_tag;
    length = its_length;
    ledger = its_ledger;
    peer = from;
    sender_device = from_device;
  }
  /// Says that the payload is inside, where the caller writes it.
  [[nodiscard]] std::byte* set_inside() noexcept {
    kept_ = Kept::inside;
    return place_.data();
  }
  /// The same of a block, which is the note's until take_block().
  [[nodiscard]] std::byte* set_beside(EarlyBlock& block) noexcept {
    kept_ = Kept::beside;
    block_ = &block;
    return block.bytes.data();
  }
  /// Holds what make() returns, a Message; made where it is kept: to move one that has just been written
  /// costs more than to write it.
  template <class Make>
  void hold(const Make& make) noexcept {
    ::new (static_cast<void*>(&message_)) Message(make());
    kept_ = Kept::held;
  }
  template <class Announcement>
  void announce(const Announcement& announcement) noexcept {
    static_assert(sizeof announcement <= kInside);
    std::memcpy(place_.data(), &announcement, sizeof announcement);
    kept_ = Kept::announced;
  }
  template <class Announcement>
  [[nodiscard]] Announcement announcement() const noexcept {
    Announcement announcement;
    std::memcpy(&announcement, place_.data(), sizeof announcement);
    return announcement;
  }

  // And these for one that has.

  /// The block is the caller's; null: there is none. The note has no payload then.
  [[nodiscard]] EarlyBlock* take_block() noexcept {
    if (kept_ != Kept::beside) return nullptr;
    kept_ = Kept::inside;
    return block_;
  }
  void drop_held() noexcept {
    if (kept_ != Kept::held) return;
    std::destroy_at(&message_);
    kept_ = Kept::inside;
  }
  /// Becomes what `other` is, which has no payload then; of another engine's block `own` takes the contents.
  void take_over(Arrived& other, EarlyBlock* own) noexcept {
    describe(other.peer, other.tag, other.length, other.sender_device, other.ledger);
    switch (other.kept_) {
      case Kept::inside:
      case Kept::announced:
        place_ = other.place_;
        kept_ = other.kept_;
        break;
      case Kept::beside:
        std::memcpy(set_beside(*own), other.block_->bytes.data(), length);
        break;
      case Kept::held:
        hold([&] { return std::move(other.message_); });
        other.drop_held();
        break;
    }
  }

 private:
  union {
    std::array<std::byte, kInside> place_;
    EarlyBlock* block_;
    Message message_;
  };
};

/// What is asked for first, and payloads up to 16 bytes, lie in one line.
struct alignas(64) Unexpected : PooledRecord, Arrived {
  [[nodiscard]] Arrived& content() noexcept { return *this; }
};
static_assert(sizeof(Unexpected) == 192);

}  // namespace weft::core
