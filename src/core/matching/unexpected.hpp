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
};

struct Unexpected : PooledRecord, Arrived {
  [[nodiscard]] Arrived& content() noexcept { return *this; }
};

}  // namespace weft::core
