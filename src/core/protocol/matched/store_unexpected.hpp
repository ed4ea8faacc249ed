// Stores one unexpected message of a batch; a header, because it is inlined where messages arrive.
#pragma once

#include "base/memory/bulk_copy.hpp"
#include "core/matching/matching_engine.hpp"

#include <weft/detail/copy.hpp>
#include <weft/detail/slot_batch.hpp>

#include <cstring>
#include <type_traits>

namespace weft::core {

/// What the unexpected messages of a batch have in common. `size`: payload bytes without the trailer, at most
/// UnexpectedBlock::kBytes.
struct UnexpectedSends {
  MatchingEngine& engine;
  CreditLedger& ledger;
  int peer;
  std::uint8_t device;  // of the sender
  std::size_t size;
};

/// Returns a record that holds the message, for the caller to link; nullptr, without effect, when there is no
/// room at once. Batch: the batch in which the message arrived. kSerial: the engine is serial.
template <bool kSerial, class Batch>
[[gnu::always_inline]] inline MatchRecord* take_unexpected(const UnexpectedSends& sends, std::uint64_t tag,
                                                           const std::byte* payload) noexcept {
  MatchingEngine& engine = sends.engine;
  constexpr bool kInSlot = std::is_same_v<Batch, detail::SlotBatch>;
  const bool needs_block = !kInSlot && sends.size > UnexpectedPayload::kInside;
  Unexpected* const stored = engine.unexpected().try_take<kSerial>();
  if (stored == nullptr) [[unlikely]]
    return nullptr;
  MatchRecord* const record = engine.records().try_take<kSerial>();
  UnexpectedBlock* block = nullptr;
  if (record != nullptr && needs_block) block = engine.blocks().try_take<kSerial>();
  if (record == nullptr || (needs_block && block == nullptr)) [[unlikely]] {
    if (record != nullptr) engine.records().put_back<kSerial>();
    engine.unexpected().put_back<kSerial>();
    return nullptr;
  }
  stored->describe(sends.peer, tag, sends.size, sends.device, &sends.ledger);
  if (kInSlot)
    detail::copy_small(stored->set_inside(), payload, sends.size);
  else if (!needs_block)
    std::memcpy(stored->set_inside(), payload, sends.size);
  else
    base::copy_bulk(stored->set_beside(*block), payload, sends.size);
  MatchingEngine::set_unexpected(*record, *stored);
  return record;
}

}  // namespace weft::core
