// Messages that arrive one after the other before their receives.
#include "core/protocol/send_receive.hpp"
#include "core/protocol/take_early.hpp"

#include <cstring>

namespace weft::core {

namespace {

constexpr std::uint32_t kTogether = 8;  // messages that take their credits at once

}  // namespace

/// What happens as long as messages have this trailer and size, and those with their key that wait are the
/// first in their bucket, if any wait. Returns how many are kept; the next one is on_other_send()'s. Locking:
/// NoLock when the engine is serial, else TryLock.
template <class Locking, class Run>
std::uint32_t SendReceive::keep_early(Run& run, std::uint32_t trailer, MatchingEngine& engine,
                                      const Backlog& backlog) noexcept {
  const std::size_t size = run.size() - sizeof(MatchTrailer);
  if (size > EarlyBlock::kBytes) [[unlikely]]  // also where there is no trailer
    return 0;
  const int peer = run.peer();
  const auto device = static_cast<std::uint8_t>(trailer >> 24);
  CreditLedger& ledger = ledgers_.of(MessageClass::normal);
  std::uint64_t tag = 0;
  const std::uint32_t most = run.look_ahead(kTogether - 1, tag) ? kTogether : 1;
  if (!ledger.admit(peer, device, most)) [[unlikely]]
    return 0;
  const EarlyMessages early{engine, ledger, peer, device, size};
  std::uint32_t kept = 0;
  for (const std::byte* payload = nullptr; kept < most && run.look_for_alike(tag, payload); ++kept) {
    std::uint32_t found = 0;
    std::memcpy(&found, payload + size, sizeof found);
    if (found != trailer || backlog.over_limit()) [[unlikely]]
      break;
    if (!engine.table().add_first<Locking, MatchSide::unexpected>(
            {tag, static_cast<std::uint32_t>(peer), 0},
            [&] { return take_early<Locking::kExclusive, Run>(early, tag, payload); })) [[unlikely]]
      break;
    run.fetch_ahead();
    run.advance();
  }
  if (kept != most) ledger.forget(peer, device, most - kept);
  return kept;
}
template std::uint32_t SendReceive::keep_early<detail::TryLock>(detail::SlotRun&, std::uint32_t,
                                                                MatchingEngine&, const Backlog&) noexcept;
template std::uint32_t SendReceive::keep_early<detail::NoLock>(detail::SlotRun&, std::uint32_t,
                                                               MatchingEngine&, const Backlog&) noexcept;
template std::uint32_t SendReceive::keep_early<detail::TryLock>(detail::WideRun&, std::uint32_t,
                                                                MatchingEngine&, const Backlog&) noexcept;
template std::uint32_t SendReceive::keep_early<detail::NoLock>(detail::WideRun&, std::uint32_t,
                                                               MatchingEngine&, const Backlog&) noexcept;

}  // namespace weft::core
