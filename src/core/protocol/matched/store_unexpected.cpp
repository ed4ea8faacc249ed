// Unexpected messages are stored until receives are posted: one, and by a fast path a batch of them.
#include "core/protocol/matched/store_unexpected.hpp"

#include "base/memory/bulk_copy.hpp"
#include "core/protocol/matched/matched_arrivals.hpp"

#include <cstring>

namespace weft::core {

namespace {

constexpr std::uint32_t kTogether = 8;  // messages that take their credits at once

}  // namespace

[[gnu::noinline]] MatchRecord* store_unexpected(MatchingEngine& engine, CreditLedger& ledger,
                                                std::uint64_t tag, Message& arrival,
                                                const MatchTrailer& trailer) noexcept {
  MatchRecord* record = engine.storage().take_unexpected();
  if (record == nullptr) {
    ledger.forget(arrival.peer(), trailer.device);
    return nullptr;
  }
  UnexpectedPayload& arrived = *record->unexpected;
  const std::size_t size = arrival.size() - sizeof trailer;
  arrived.describe(arrival.peer(), tag, size, trailer.device, &ledger);
  UnexpectedBlock* block = nullptr;
  if (size <= UnexpectedPayload::kInside)
    std::memcpy(arrived.set_inside(), arrival.data(), size);
  else if (size <= UnexpectedBlock::kBytes && (block = engine.storage().blocks().take()) != nullptr)
    base::copy_bulk(arrived.set_beside(*block), arrival.data(), size);
  else
    arrived.hold([&] { return arrival.take(); });
  return record;
}

/// Stores unexpected messages as long as they have this trailer and size, and the unexpected messages with
/// their key, if any, are first in their bucket. Returns the number of messages stored; on_send_slow()
/// handles the next one. Locking: NoLock when the engine is serial, else TryLock.
template <class Locking, class Batch>
std::uint32_t MatchedArrivals::store_unexpected(Batch& batch, std::uint32_t trailer, MatchingEngine& engine,
                                                const Backlog& backlog) noexcept {
  const std::size_t size = batch.size() - sizeof(MatchTrailer);
  if (size > UnexpectedBlock::kBytes) [[unlikely]]  // also where there is no trailer
    return 0;
  const int peer = batch.peer();
  const auto device = static_cast<std::uint8_t>(trailer >> 24);
  CreditLedger& ledger = returns_.ledger(MessageClass::normal);
  std::uint64_t tag = 0;
  const std::uint32_t most = batch.peek_ahead(kTogether - 1, tag) ? kTogether : 1;
  if (!ledger.admit(peer, device, most)) [[unlikely]]
    return 0;
  const UnexpectedSends sends{engine, ledger, peer, device, size};
  const MatchingContexts* const contexts = engine.contexts();
  const std::uint32_t ended = ended_contexts(engine);
  std::uint32_t kept = 0;
  for (const std::byte* payload = nullptr; kept < most && batch.peek_alike(tag, payload); ++kept) {
    std::uint32_t found = 0;
    std::memcpy(&found, payload + size, sizeof found);
    if (found != trailer || backlog.over_limit()) [[unlikely]]
      break;
    if (contexts != nullptr && contexts->gone().may_have(context_of(tag))) [[unlikely]]
      break;
    if (!engine.table().try_add<Locking, MatchSide::unexpected>(
            {tag, static_cast<std::uint32_t>(peer), 0},
            [&] { return take_unexpected<Locking::kExclusive, Batch>(sends, tag, payload); })) [[unlikely]]
      break;
    batch.fetch_ahead();
    batch.advance();
  }
  if (has_ended_more(engine, ended)) [[unlikely]]
    receiver_.drop_late(engine);
  if (kept != most) ledger.forget(peer, device, most - kept);
  return kept;
}
template std::uint32_t MatchedArrivals::store_unexpected<detail::TryLock>(detail::SlotBatch&, std::uint32_t,
                                                                          MatchingEngine&,
                                                                          const Backlog&) noexcept;
template std::uint32_t MatchedArrivals::store_unexpected<detail::NoLock>(detail::SlotBatch&, std::uint32_t,
                                                                         MatchingEngine&,
                                                                         const Backlog&) noexcept;
template std::uint32_t MatchedArrivals::store_unexpected<detail::TryLock>(detail::MultiSlotBatch&,
                                                                          std::uint32_t, MatchingEngine&,
                                                                          const Backlog&) noexcept;
template std::uint32_t MatchedArrivals::store_unexpected<detail::NoLock>(detail::MultiSlotBatch&,
                                                                         std::uint32_t, MatchingEngine&,
                                                                         const Backlog&) noexcept;

}  // namespace weft::core
