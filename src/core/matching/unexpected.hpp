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
  Message message;                         // what arrived, kept; empty when only announced
  std::array<std::byte, 32> announcement;  // the protocol's, when `is_announced`
  bool is_announced = false;
  std::uint8_t sender_device = 0;
  std::int32_t peer = 0;
  std::uint64_t tag = 0;
  std::size_t length = 0;          // what the sender sent
  CreditLedger* ledger = nullptr;  // that returns its credit; null: it came without one

  /// Of a message that is kept: all but itself.
  void describe(int from, std::uint64_t its_tag, std::size_t its_length, std::uint8_t from_device,
                CreditLedger& its_ledger) noexcept {
    is_announced = false;
    sender_device = from_device;
    peer = from;
    tag = its_tag;
    length = its_length;
    ledger = &its_ledger;
  }
};

struct Unexpected : PooledRecord, Arrived {
  [[nodiscard]] Arrived& content() noexcept { return *this; }
};

}  // namespace weft::core
