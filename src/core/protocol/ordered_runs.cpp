// Messages to an ordered engine that arrive one after the other.
#include "core/protocol/complete.hpp"
#include "core/protocol/send_receive.hpp"
#include "core/protocol/take_early.hpp"

#include <weft/detail/message_access.hpp>

#include <bit>
#include <cstring>

namespace weft::core {

namespace {

constexpr std::uint32_t kCountedTogether = 32;  // beside the first, with one hold of the order
constexpr std::uint32_t kKeptTogether = 8;      // messages that take their credits at once

}  // namespace

/// The message at the head of a run has met a receive that only counts, and so may those that follow it with
/// its tag: tells its completion object of them. Returns how many. Inside the order, which it leaves.
[[gnu::noinline]] std::uint32_t SendReceive::meet_counted_in_order(detail::SlotRun& all, MatchRecord& first,
                                                                   std::uint64_t tag, std::uint32_t kind,
                                                                   MatchingEngine& engine,
                                                                   ArrivalStream& stream,
                                                                   OrderedMatching::Hold hold) noexcept {
  detail::SlotRun run = all;  // in registers
  const std::size_t size = run.size() - sizeof(MatchTrailer);
  Completion* const completion = first.completion;
  std::uint32_t count = 0;
  std::uint64_t found_tag = tag;
  const std::byte* payload = nullptr;
  const auto is_next = [&](const MatchRecord& receive, std::uint32_t number) {
    if (receive.completion != completion || count > kCountedTogether ||
        !run.look_for_alike(found_tag, payload) || found_tag != tag)
      return false;
    std::uint64_t found = 0;
    std::memcpy(&found, payload + size, sizeof found);
    return found == (static_cast<std::uint64_t>(number) << 32 | kind);
  };
  const auto meet = [&](MatchRecord& receive) {
    fill_receive(receive, {payload, size});
    engine.release_receive(receive);
    run.fetch_ahead();
    run.advance();
    ++count;
  };
  static_cast<void>(run.look_for_alike(found_tag, payload));
  meet(first);
  OrderedMatching& order = *engine.order();
  order.take_first_receives(stream, {tag, static_cast<std::uint32_t>(run.peer()), 0}, is_next, meet);
  order.leave(hold);
  all.go_on_behind(run);
  completion->signal_count(count);
  return count;
}

/// Messages from the head of a run on whose turn it is, whose kind and size are those of the first, and with
/// whose key nothing waits but such messages. Returns how many are kept; the next one is on_send()'s. Inside
/// the order. Locking: NoLock when the engine is serial, else TryLock.
template <class Locking>
[[gnu::noinline]] std::uint32_t SendReceive::keep_early_in_order(detail::SlotRun& run, std::uint64_t trailer,
                                                                 MatchingEngine& engine,
                                                                 ArrivalStream& stream) noexcept {
  const auto first = std::bit_cast<MatchTrailer>(trailer);
  OrderedMatching& order = *engine.order();
  if (!order.is_plain_turn(stream, first.order)) return 0;
  const std::size_t size = run.size() - sizeof(MatchTrailer);
  const auto peer = static_cast<std::uint32_t>(run.peer());
  CreditLedger& ledger = ledgers_.of(MessageClass::normal);
  std::uint64_t tag = 0;
  const std::uint32_t most = run.look_ahead(kKeptTogether - 1, tag) ? kKeptTogether : 1;
  if (!ledger.admit(run.peer(), first.device, most)) [[unlikely]]
    return 0;
  const EarlyMessages early{engine, ledger, run.peer(), first.device, size};
  MatchTrailer next = first;
  std::uint32_t kept = 0;
  for (const std::byte* payload = nullptr; kept < most && run.look_for_alike(tag, payload); ++kept) {
    if (std::memcmp(payload + size, &next, sizeof next) != 0) [[unlikely]]
      break;
    if (!order.keep_first(stream, {tag, peer, 0}, [&] {
          return take_early<Locking::kExclusive, detail::SlotRun>(early, tag, payload);
        })) [[unlikely]]
      break;
    ++next.order;
    run.fetch_ahead();
    run.advance();
  }
  if (kept != most) ledger.forget(run.peer(), first.device, most - kept);
  return kept;
}

/// The messages of a run that are for the same ordered engine as its first. False: one of them cannot be
/// taken now.
bool SendReceive::on_ordered_sends(detail::SlotRun& all, detail::PayloadLender* lender, network::Sink& sink,
                                   const Backlog& backlog) noexcept {
  // Fast is what nearly always happens, as in on_sends(): its turn, no wildcard, a receive that waits first
  // in its bucket. Everything else is on_send()'s.
  detail::SlotRun run = all;  // in registers
  const int peer = run.peer();
  Message message;
  detail::MessageAccess::set_receive(message, peer);
  MatchingEngine* engine = nullptr;
  ArrivalStream* stream = nullptr;
  std::uint32_t known = 0;  // trailer of the first message, without its number
  std::uint32_t met = 0;    // not settled yet
  std::uint64_t fetched = 0;
  std::uint64_t tag = 0;
  Bytes payload;
  bool can_go_on = true;
  while (run.look(tag, payload) && !backlog.over_limit() && payload.size() >= sizeof(MatchTrailer)) {
    MatchTrailer trailer;
    std::memcpy(&trailer, payload.data() + payload.size() - sizeof trailer, sizeof trailer);
    const auto bits = std::bit_cast<std::uint64_t>(trailer);
    const auto kind = static_cast<std::uint32_t>(bits);
    // Looked up anew for each message, because a handler may open an engine.
    if (MatchingEngine* now = engines_.find(trailer.engine); now != engine) [[unlikely]] {
      if (engine == nullptr) known = kind;
      if (kind != known) break;
      engine = now;
      stream = &engine->order()->arrivals(peer, trailer.device);
    }
    if (kind != known) [[unlikely]]
      break;
    if (run.head() >= fetched && engine->is_serial()) [[unlikely]]
      fetched = run.head() + prefetch(*engine, run);
    OrderedMatching& order = *engine->order();
    const OrderedMatching::Hold hold = order.try_enter();
    if (hold == nullptr) [[unlikely]] {
      can_go_on = false;
      break;
    }
    MatchRecord* const record =
        order.take_first_receive(*stream, trailer.order, {tag, static_cast<std::uint32_t>(peer), 0});
    if (record != nullptr && record->completion->counts_only()) {
      all.go_on_behind(run);
      met += meet_counted_in_order(all, *record, tag, known, *engine, *stream, hold);
      run.go_on_behind(all);
      continue;
    }
    if (record == nullptr) [[unlikely]] {
      all.go_on_behind(run);
      const std::uint32_t kept = engine->is_serial()
                                     ? keep_early_in_order<detail::NoLock>(all, bits, *engine, *stream)
                                     : keep_early_in_order<detail::TryLock>(all, bits, *engine, *stream);
      run.go_on_behind(all);
      order.leave(hold);
      if (kept != 0) continue;
      Message arrival;
      detail::MessageAccess::set_view(arrival, Operation::active_message, peer, tag, payload.data(),
                                      payload.size(), lender, 0);
      can_go_on = on_send(tag, arrival, sink);
      if (!can_go_on) break;
      run.advance();
      continue;
    }
    order.leave(hold);
    ++met;
    complete(*engine, *record, message, tag, payload.first(payload.size() - sizeof trailer));
    if (!detail::MessageAccess::is_receive(message, peer)) [[unlikely]] {
      message = Message();
      detail::MessageAccess::set_receive(message, peer);
    }
    run.fetch_ahead();
    run.advance();
  }
  if (met != 0) settle_met(peer, known, met);
  all.go_on_behind(run);
  return can_go_on;
}

}  // namespace weft::core
