// Stores an unexpected message; a header, because those of a batch are inlined where they arrive.
#pragma once

#include "base/memory/bulk_copy.hpp"
#include "core/matching/matching_engine.hpp"
#include "core/protocol/wire.hpp"

#include <weft/detail/copy.hpp>
#include <weft/detail/slot_batch.hpp>

#include <cstring>
#include <type_traits>

namespace weft::core {

/// Returns a record that holds the message, for the caller to link; nullptr when there is no room: then the
/// message's credit is the sender's again.
MatchRecord* store_unexpected(MatchingEngine& engine, CreditLedger& ledger, std::uint64_t tag,
                              Message& arrival, const MatchTrailer& trailer) noexcept;

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
  Unexpected* const stored = engine.storage().unexpected().try_take<kSerial>();
  if (stored == nullptr) [[unlikely]]
    return nullptr;
  MatchRecord* const record = engine.storage().records().try_take<kSerial>();
  UnexpectedBlock* block = nullptr;
  if (record != nullptr && needs_block) block = engine.storage().blocks().try_take<kSerial>();
  if (record == nullptr || (needs_block && block == nullptr)) [[unlikely]] {
    if (record != nullptr) engine.storage().records().put_back<kSerial>();
    engine.storage().unexpected().put_back<kSerial>();
    return nullptr;
  }
  stored->describe(sends.peer, tag, sends.size, sends.device, &sends.ledger);
  if (kInSlot)
    detail::copy_small(stored->set_inside(), payload, sends.size);
  else if (!needs_block)
    std::memcpy(stored->set_inside(), payload, sends.size);
  else
    base::copy_bulk(stored->set_beside(*block), payload, sends.size);
  MatchStorage::set_unexpected(*record, *stored);
  return record;
}

}  // namespace weft::core
