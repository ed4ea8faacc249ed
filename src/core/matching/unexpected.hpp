// A message that came before its receive.
#pragma once

#include "core/matching/record_pool.hpp"

#include <weft/message.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::core {

class CreditLedger;

struct Arrived {
  /// Payloads up to here are copied into their note; what is longer is held in a packet, or on the heap.
  static constexpr std::size_t kInside = 480;

  enum class Kept : std::uint8_t {
    inside,    ///< in `place`
    held,      ///< by `message`
    announced  ///< at the sender: `place` begins with the protocol's announcement
  };

  std::uint64_t tag = 0;
  std::size_t length = 0;          // what the sender sent
  CreditLedger* ledger = nullptr;  // that returns its credit; null: it came without one
  std::int32_t peer = 0;
  Kept kept = Kept::inside;
  std::uint8_t sender_device = 0;
  alignas(8) std::array<std::byte, kInside> place;
  Message message;  // empty unless held

  [[nodiscard]] bool is_announced() const noexcept { return kept == Kept::announced; }
  /// The `length` bytes that were sent, unless they are still there.
  [[nodiscard]] const std::byte* payload() const noexcept {
    return kept == Kept::held ? message.data() : place.data();
  }
  /// All but the payload.
  void describe(int from, std::uint64_t its_tag, std::size_t its_length, std::uint8_t from_device,
                CreditLedger* its_ledger, Kept how) noexcept {
    tag = its_tag;
    length = its_length;
    ledger = its_ledger;
    peer = from;
    kept = how;
    sender_device = from_device;
  }
  /// Nobody needs the payload any more.
  void drop_payload() noexcept {
    if (kept == Kept::held) message = Message();
    kept = Kept::inside;
  }
};

/// What is asked for first, and payloads up to 16 bytes, lie in one line.
struct alignas(64) Unexpected : PooledRecord, Arrived {
  [[nodiscard]] Arrived& content() noexcept { return *this; }
};
static_assert(sizeof(Unexpected) == 640);

}  // namespace weft::core
