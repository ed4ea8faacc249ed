// A single incoming send is matched with a posted receive, or stored as an unexpected message.
#include "core/protocol/matched/complete_receive.hpp"
#include "core/protocol/matched/matched_arrivals.hpp"
#include "core/protocol/matched/store_unexpected.hpp"
#include "core/protocol/matched/trailer.hpp"
#include "core/protocol/message_class.hpp"

#include <weft/detail/message_access.hpp>

#include <cstring>

namespace weft::core {

bool MatchedArrivals::on_send(std::uint64_t tag, Message& arrival, network::Sink& sink) noexcept {
  return match_one(tag, arrival) || on_send_slow(tag, arrival, sink) != Match::refused;
}

/// Slow path of an incoming send that does not match the receive that waits first in its bucket.
MatchedArrivals::Match MatchedArrivals::on_send_slow(std::uint64_t tag, Message& arrival,
                                                     network::Sink& sink) noexcept {
  MatchTrailer trailer;
  if (!read_trailer(arrival, trailer, sink)) return Match::nothing;
  const int peer = arrival.peer();
  MatchingEngine& engine = *engines_.find(trailer.engine);
  if (trailer.engine >= kMatchingEngines)
    return ordered_.match_one(engine, tag, arrival, trailer)       ? Match::receive
           : ordered_.on_send(engine, tag, arrival, trailer, sink) ? Match::nothing
                                                                   : Match::refused;
  const MatchKey key = engine.keys().arrived(peer, tag, policy_of(trailer));
  CreditLedger& ledger = returns_.ledger(class_of(trailer));
  const std::uint32_t ended = ended_contexts(engine);
  if (comes_late(engine, tag)) [[unlikely]] {
    context_.counters.refused_messages.fetch_add(1, std::memory_order_relaxed);
    returns_.consume(ledger, peer, trailer.device, 1);
    return Match::nothing;
  }
  bool may_keep = true;
  const auto [answer, record] = engine.pair(Table::Side::unexpected, key, [&]() -> MatchRecord* {
    may_keep = ledger.admit(peer, trailer.device);
    return may_keep ? core::store_unexpected(engine, ledger, tag, arrival, trailer) : nullptr;
  });
  switch (answer) {
    case Table::Answer::matched: {
      const std::size_t size = arrival.size() - sizeof trailer;
      Message message;
      detail::MessageAccess::set_receive(message, peer, context_.device);
      complete_receive(engine, *record, message, tag, arrival.bytes().first(size), &arrival);
      context_.trace(TraceEvent::Phase::instant, "receive ended", peer, size, 0);
      returns_.consume(ledger, peer, trailer.device, 1);
      return Match::receive;
    }
    case Table::Answer::kept:
      if (has_ended_more(engine, ended)) [[unlikely]]
        receiver_.drop_late(engine);
      return Match::nothing;
    case Table::Answer::contended:
      return Match::refused;
    case Table::Answer::exhausted:
      break;
  }
  if (may_keep) return Match::refused;
  sink.reject(peer, "more messages without receives than there are credits", tag);
  return Match::nothing;
}

bool MatchedArrivals::on_send_rts(std::uint64_t tag, const Message& arrival, network::Sink& sink) noexcept {
  MatchTrailer trailer;
  if (!read_trailer(arrival, trailer, sink)) return true;
  Rts rts;
  if (arrival.size() != sizeof rts + sizeof trailer) {
    sink.reject(arrival.peer(), "RTS of a wrong length", arrival.size());
    return true;
  }
  std::memcpy(&rts, arrival.data(), sizeof rts);
  if (rts.size > kLargestMessage || rts.device >= detail::DevicePath::kMaxDevices ||
      !is_message_class(rts.message_class)) {
    sink.reject(arrival.peer(), "RTS of an impossible size, device or class", rts.size);
    return true;
  }
  MatchingEngine& engine = *engines_.find(trailer.engine);
  Unexpected* const stored = engine.storage().unexpected().take();
  if (stored == nullptr) return false;
  stored->describe(arrival.peer(), tag, rts.size, trailer.device, nullptr);
  stored->announce(rts);
  if (engine.order() != nullptr) return ordered_.on_send_rts(engine, trailer, *stored, sink);
  const std::uint32_t ended = ended_contexts(engine);
  if (comes_late(engine, tag)) [[unlikely]] {
    MatchRecord* const late = engine.storage().records().take();
    if (late == nullptr) {
      engine.storage().unexpected().release(*stored);
      return false;
    }
    MatchStorage::set_unexpected(*late, *stored);
    receiver_.drop_probed(engine, *late);
    return true;
  }
  const auto [answer, record] =
      engine.pair(Table::Side::unexpected, engine.keys().arrived(arrival.peer(), tag, policy_of(trailer)),
                  [&]() -> MatchRecord* {
                    MatchRecord* kept = engine.storage().records().take();
                    if (kept != nullptr) MatchStorage::set_unexpected(*kept, *stored);
                    return kept;
                  });
  if (answer == Table::Answer::kept) {
    if (has_ended_more(engine, ended)) [[unlikely]]
      receiver_.drop_late(engine);
    return true;
  }
  if (answer != Table::Answer::matched) {
    engine.storage().unexpected().release(*stored);
    return false;
  }
  record->unexpected = stored;
  receiver_.fetch(engine, *record);
  return true;
}

}  // namespace weft::core
