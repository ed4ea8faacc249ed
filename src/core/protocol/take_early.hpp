// How a message that has come before its receive is put where it waits; a header, because it is inlined where
// messages arrive.
#pragma once

#include "base/bulk_copy.hpp"
#include "core/matching/matching_engine.hpp"

#include <weft/detail/copy.hpp>
#include <weft/detail/slot_run.hpp>

#include <cstring>
#include <type_traits>

namespace weft::core {

/// What runs of such messages have in common. `size`: payload bytes without the trailer, at most
/// EarlyBlock::kBytes.
struct EarlyMessages {
  MatchingEngine& engine;
  CreditLedger& ledger;
  int peer;
  std::uint8_t device;  // of the sender
  std::size_t size;
};

/// A record that holds the message, which is the caller's to link; nullptr, without effect: there is no room
/// at once. Run: in which the message came. kSerial: whether the engine is.
template <bool kSerial, class Run>
[[gnu::always_inline]] inline MatchRecord* take_early(const EarlyMessages& early, std::uint64_t tag,
                                                      const std::byte* payload) noexcept {
  MatchingEngine& engine = early.engine;
  constexpr bool kInSlot = std::is_same_v<Run, detail::SlotRun>;
  const bool needs_block = !kInSlot && early.size > Arrived::kInside;
  Unexpected* const note = engine.unexpected().take_first<kSerial>();
  if (note == nullptr) [[unlikely]]
    return nullptr;
  MatchRecord* const record = engine.records().take_first<kSerial>();
  EarlyBlock* block = nullptr;
  if (record != nullptr && needs_block) block = engine.blocks().take_first<kSerial>();
  if (record == nullptr || (needs_block && block == nullptr)) [[unlikely]] {
    if (record != nullptr) engine.records().put_back<kSerial>();
    engine.unexpected().put_back<kSerial>();
    return nullptr;
  }
  note->describe(early.peer, tag, early.size, early.device, &early.ledger);
  if (kInSlot)
    detail::copy_small(note->set_inside(), payload, early.size);
  else if (!needs_block)
    std::memcpy(note->set_inside(), payload, early.size);
  else
    base::copy_bulk(note->set_beside(*block), payload, early.size);
  MatchingEngine::set_unexpected(*record, *note);
  return record;
}

}  // namespace weft::core
