// What arrives meets posted receives, or waits for them.
#include "base/bulk_copy.hpp"
#include "core/protocol/complete.hpp"
#include "core/protocol/move_out.hpp"
#include "core/protocol/send_receive.hpp"
#include "core/protocol/traffic.hpp"

#include <weft/detail/message_access.hpp>

#include <cstring>

namespace weft::core {

using network::Outgoing;
using network::SendResult;
using network::TrafficClass;
namespace {

constexpr auto kPolicies = static_cast<std::uint8_t>(MatchingPolicy::user) + 1;

}  // namespace

bool SendReceive::read_trailer(const Message& arrival, MatchTrailer& trailer, network::Sink& sink) noexcept {
  if (arrival.size() < sizeof trailer) {
    sink.reject(arrival.peer(), "send of a wrong length", arrival.size());
    return false;
  }
  std::memcpy(&trailer, arrival.data() + arrival.size() - sizeof trailer, sizeof trailer);
  const auto policy = static_cast<std::uint8_t>(policy_of(trailer));
  if (is_message_class(static_cast<std::uint32_t>(class_of(trailer))) &&
      (trailer.engine < kMatchingEngines ? policy < kPolicies : trailer.engine < kEngineIds && policy == 0))
    return true;
  sink.reject(arrival.peer(), "send for an impossible engine, policy or class",
              static_cast<std::uint64_t>(trailer.engine) << 8 | trailer.policy);
  return false;
}

/// By the record, so that the loops that call it need not keep its buffer.
[[gnu::noinline]] void SendReceive::fill(const MatchRecord& record, const std::byte* from,
                                         std::size_t size) noexcept {
  copy(record.buffer, from, size);
}

/// The same for what nobody reads again.
[[gnu::noinline]] void SendReceive::fill(const MatchRecord& record, Message& arrival,
                                         std::size_t size) noexcept {
  if (ScatteredReceive::of(record.buffer) == nullptr)
    move_out(record.buffer.data(), arrival, arrival.bytes().first(size));
  else
    copy(record.buffer, arrival.data(), size);
}

/// `size` is that of the payload, or of the buffer if that has less room.
void SendReceive::copy(MutableBytes buffer, const std::byte* from, std::size_t size) noexcept {
  if (ScatteredReceive* receive = ScatteredReceive::of(buffer); receive != nullptr) [[unlikely]]
    receive->fill({from, size});
  else if (size <= detail::kSlotPayload)
    detail::copy_small(buffer.data(), from, size);
  else
    base::copy_bulk(buffer.data(), from, size);
}

bool SendReceive::on_send(std::uint64_t tag, Message& arrival, network::Sink& sink) noexcept {
  return meet_one(tag, arrival) || on_other_send(tag, arrival, sink) != Met::refused;
}

/// The same for one that did not meet the receive that waits first in its bucket.
SendReceive::Met SendReceive::on_other_send(std::uint64_t tag, Message& arrival,
                                            network::Sink& sink) noexcept {
  MatchTrailer trailer;
  if (!read_trailer(arrival, trailer, sink)) return Met::nothing;
  const int peer = arrival.peer();
  MatchingEngine& engine = *engines_.find(trailer.engine);
  if (trailer.engine >= kMatchingEngines)
    return on_ordered_send(engine, tag, arrival, trailer, sink) ? Met::nothing : Met::refused;
  const MatchKey key = MatchingEngine::arrived_key(peer, tag, policy_of(trailer));
  CreditLedger& ledger = ledgers_.of(class_of(trailer));
  bool may_keep = true;
  const auto [answer, record] = engine.table().pair(Table::Side::unexpected, key, [&]() -> MatchRecord* {
    may_keep = ledger.admit(peer, trailer.device);
    return may_keep ? keep(engine, tag, arrival, trailer) : nullptr;
  });
  switch (answer) {
    case Table::Answer::matched: {
      const std::size_t size = arrival.size() - sizeof trailer;
      Message message;
      detail::MessageAccess::set_receive(message, peer);
      complete(engine, *record, message, tag, arrival.bytes().first(size), &arrival);
      context_.trace(TraceEvent::Phase::instant, "receive ended", peer, size, 0);
      settle(ledger, peer, trailer.device, 1, exclusive_.load(std::memory_order_relaxed));
      return Met::receive;
    }
    case Table::Answer::kept:
      return Met::nothing;
    case Table::Answer::contended:
      return Met::refused;
    case Table::Answer::exhausted:
      break;
  }
  if (may_keep) return Met::refused;
  sink.reject(peer, "more messages without receives than there are credits", tag);
  return Met::nothing;
}

/// Keeps a message that has come before its receive; nullptr: there is no room.
[[gnu::noinline]] MatchRecord* SendReceive::keep(MatchingEngine& engine, std::uint64_t tag, Message& arrival,
                                                 const MatchTrailer& trailer) noexcept {
  MatchRecord* record = engine.take_unexpected();
  if (record == nullptr) {
    ledgers_.of(class_of(trailer)).forget(arrival.peer(), trailer.device);
    return nullptr;
  }
  Arrived& arrived = *record->unexpected;
  const std::size_t size = arrival.size() - sizeof trailer;
  arrived.describe(arrival.peer(), tag, size, trailer.device, &ledgers_.of(class_of(trailer)));
  EarlyBlock* block = nullptr;
  if (size <= Arrived::kInside)
    std::memcpy(arrived.set_inside(), arrival.data(), size);
  else if (size <= EarlyBlock::kBytes && (block = engine.blocks().take()) != nullptr)
    base::copy_bulk(arrived.set_beside(*block), arrival.data(), size);
  else
    arrived.hold([&] { return arrival.take(); });
  return record;
}

bool SendReceive::on_large_send(std::uint64_t tag, const Message& arrival, network::Sink& sink) noexcept {
  MatchTrailer trailer;
  if (!read_trailer(arrival, trailer, sink)) return true;
  LargeMessage announcement;
  if (arrival.size() != sizeof announcement + sizeof trailer) {
    sink.reject(arrival.peer(), "announcement of a wrong length", arrival.size());
    return true;
  }
  std::memcpy(&announcement, arrival.data(), sizeof announcement);
  if (announcement.size > kLargestMessage || announcement.device >= detail::DevicePath::kMaxDevices ||
      !is_message_class(announcement.message_class)) {
    sink.reject(arrival.peer(), "announcement of an impossible size, device or class", announcement.size);
    return true;
  }
  MatchingEngine& engine = *engines_.find(trailer.engine);
  Unexpected* const note = engine.unexpected().take();
  if (note == nullptr) return false;
  note->describe(arrival.peer(), tag, announcement.size, trailer.device, nullptr);
  note->announce(announcement);
  if (engine.order() != nullptr) return announce_in_order(engine, trailer, *note, sink);
  const auto [answer, record] = engine.table().pair(
      Table::Side::unexpected, MatchingEngine::arrived_key(arrival.peer(), tag, policy_of(trailer)),
      [&]() -> MatchRecord* {
        MatchRecord* kept = engine.records().take();
        if (kept != nullptr) MatchingEngine::set_unexpected(*kept, *note);
        return kept;
      });
  if (answer == Table::Answer::kept) return true;
  if (answer != Table::Answer::matched) {
    engine.unexpected().give_back(*note);
    return false;
  }
  record->unexpected = note;
  fetch(engine, *record);
  return true;
}

bool SendReceive::return_credits(CreditLedger& ledger, int peer, std::uint8_t device, std::uint32_t count,
                                 bool exclusive) noexcept {
  const Outgoing outgoing{peer,
                          device,
                          TrafficClass::control,
                          static_cast<std::uint8_t>(Channel::credit),
                          false,
                          static_cast<std::uint64_t>(ledger.message_class()) << 40 |
                              static_cast<std::uint64_t>(ledger.device()) << 32 | count};
  const SendResult result = context_.port->send(outgoing, {}, exclusive);
  return result == SendResult::sent || result == SendResult::peer_gone;
}

}  // namespace weft::core
