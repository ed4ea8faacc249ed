// An incoming send is matched with a posted receive, or stored as an unexpected message.
#include "base/memory/bulk_copy.hpp"
#include "core/memory/copy_and_release.hpp"
#include "core/protocol/matched/complete_receive.hpp"
#include "core/protocol/matched/matched_messages.hpp"
#include "core/protocol/message_class.hpp"
#include "network/long_ways.hpp"

#include <weft/detail/message_access.hpp>

#include <cstring>

namespace weft::core {

using network::Outgoing;
using network::SendResult;
using network::TrafficClass;
namespace {

constexpr auto kPolicies = static_cast<std::uint8_t>(MatchingPolicy::user) + 1;

}  // namespace

bool MatchedMessages::read_trailer(const Message& arrival, MatchTrailer& trailer,
                                   network::Sink& sink) noexcept {
  if (arrival.size() < sizeof trailer) {
    sink.reject(arrival.peer(), "send of a wrong length", arrival.size());
    return false;
  }
  std::memcpy(&trailer, arrival.data() + arrival.size() - sizeof trailer, sizeof trailer);
  const auto policy = static_cast<std::uint8_t>(policy_of(trailer));
  if (is_message_class(static_cast<std::uint32_t>(class_of(trailer))) &&
      (trailer.engine < kMatchingEngines ? policy < kPolicies
                                         : trailer.engine < MatchingEngines::kAllIds && policy == 0))
    return true;
  sink.reject(arrival.peer(), "send for an impossible engine, policy or class",
              static_cast<std::uint64_t>(trailer.engine) << 8 | trailer.policy);
  return false;
}

/// Copies a payload into a receive's buffer. Takes the record, so that the loops that call it need not keep
/// the buffer in registers.
[[gnu::noinline]] void MatchedMessages::fill(const MatchRecord& record, const std::byte* from,
                                             std::size_t size) noexcept {
  copy(record.buffer, from, size);
}

/// Copies the payload of a message that is not needed afterwards, and releases the message.
[[gnu::noinline]] void MatchedMessages::fill(const MatchRecord& record, Message& arrival,
                                             std::size_t size) noexcept {
  if (ScatteredReceive::of(record.buffer) == nullptr)
    copy_and_release(record.buffer.data(), arrival, arrival.bytes().first(size));
  else
    copy(record.buffer, arrival.data(), size);
}

/// Copies a payload into a buffer; `size` is the smaller of the two sizes.
void MatchedMessages::copy(MutableBytes buffer, const std::byte* from, std::size_t size) noexcept {
  if (ScatteredReceive* receive = ScatteredReceive::of(buffer); receive != nullptr) [[unlikely]]
    receive->fill({from, size});
  else if (size <= detail::kSlotPayload)
    detail::copy_small(buffer.data(), from, size);
  else
    base::copy_bulk(buffer.data(), from, size);
}

bool MatchedMessages::on_send(std::uint64_t tag, Message& arrival, network::Sink& sink) noexcept {
  return match_one(tag, arrival) || on_send_slow(tag, arrival, sink) != Match::refused;
}

/// Slow path of an incoming send that does not match the receive that waits first in its bucket.
MatchedMessages::Match MatchedMessages::on_send_slow(std::uint64_t tag, Message& arrival,
                                                     network::Sink& sink) noexcept {
  MatchTrailer trailer;
  if (!read_trailer(arrival, trailer, sink)) return Match::nothing;
  const int peer = arrival.peer();
  MatchingEngine& engine = *engines_.find(trailer.engine);
  if (trailer.engine >= kMatchingEngines)
    return on_ordered_send(engine, tag, arrival, trailer, sink) ? Match::nothing : Match::refused;
  const MatchKey key = MatchingEngine::arrived_key(peer, tag, policy_of(trailer));
  CreditLedger& ledger = ledgers_.of(class_of(trailer));
  bool may_keep = true;
  const auto [answer, record] = engine.pair(Table::Side::unexpected, key, [&]() -> MatchRecord* {
    may_keep = ledger.admit(peer, trailer.device);
    return may_keep ? keep(engine, tag, arrival, trailer) : nullptr;
  });
  switch (answer) {
    case Table::Answer::matched: {
      const std::size_t size = arrival.size() - sizeof trailer;
      Message message;
      detail::MessageAccess::set_receive(message, peer, context_.device);
      complete(engine, *record, message, tag, arrival.bytes().first(size), &arrival);
      context_.trace(TraceEvent::Phase::instant, "receive ended", peer, size, 0);
      consume(ledger, peer, trailer.device, 1, exclusive_.load(std::memory_order_relaxed));
      return Match::receive;
    }
    case Table::Answer::kept:
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

/// Stores an unexpected message; returns nullptr when there is no room.
[[gnu::noinline]] MatchRecord* MatchedMessages::keep(MatchingEngine& engine, std::uint64_t tag,
                                                     Message& arrival, const MatchTrailer& trailer) noexcept {
  MatchRecord* record = engine.take_unexpected();
  if (record == nullptr) {
    ledgers_.of(class_of(trailer)).forget(arrival.peer(), trailer.device);
    return nullptr;
  }
  UnexpectedPayload& arrived = *record->unexpected;
  const std::size_t size = arrival.size() - sizeof trailer;
  arrived.describe(arrival.peer(), tag, size, trailer.device, &ledgers_.of(class_of(trailer)));
  UnexpectedBlock* block = nullptr;
  if (size <= UnexpectedPayload::kInside)
    std::memcpy(arrived.set_inside(), arrival.data(), size);
  else if (size <= UnexpectedBlock::kBytes && (block = engine.blocks().take()) != nullptr)
    base::copy_bulk(arrived.set_beside(*block), arrival.data(), size);
  else
    arrived.hold([&] { return arrival.take(); });
  return record;
}

bool MatchedMessages::on_send_rts(std::uint64_t tag, const Message& arrival, network::Sink& sink) noexcept {
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
  Unexpected* const stored = engine.unexpected().take();
  if (stored == nullptr) return false;
  stored->describe(arrival.peer(), tag, rts.size, trailer.device, nullptr);
  stored->announce(rts);
  if (engine.order() != nullptr) return announce_in_order(engine, trailer, *stored, sink);
  const auto [answer, record] = engine.pair(
      Table::Side::unexpected, MatchingEngine::arrived_key(arrival.peer(), tag, policy_of(trailer)),
      [&]() -> MatchRecord* {
        MatchRecord* kept = engine.records().take();
        if (kept != nullptr) MatchingEngine::set_unexpected(*kept, *stored);
        return kept;
      });
  if (answer == Table::Answer::kept) return true;
  if (answer != Table::Answer::matched) {
    engine.unexpected().release(*stored);
    return false;
  }
  record->unexpected = stored;
  fetch(engine, *record);
  return true;
}

bool MatchedMessages::return_credits(CreditLedger& ledger, int peer, std::uint8_t device, std::uint32_t count,
                                     bool exclusive) noexcept {
  const std::uint32_t more = grant_more(ledger, peer, device, count);
  Outgoing outgoing{peer,
                    device,
                    TrafficClass::control,
                    static_cast<std::uint8_t>(Channel::credit),
                    false,
                    static_cast<std::uint64_t>(more) << 48 |
                        static_cast<std::uint64_t>(ledger.message_class()) << 40 |
                        static_cast<std::uint64_t>(ledger.device()) << 32 | count};
  outgoing.is_notice = true;
  const SendResult result = context_.port->send(outgoing, {}, exclusive);
  if (result == SendResult::sent || result == SendResult::peer_left) return true;
  if (more != 0) ledger.lower(peer, device, more);
  return false;
}

/// Over a long way the peer gets as many credits again as it gets back, so that the messages under way double
/// with each round trip until the network itself limits them.
std::uint32_t MatchedMessages::grant_more(CreditLedger& ledger, int peer, std::uint8_t device,
                                          std::uint32_t by) noexcept {
  if (!context_.port->capabilities().stages) return 0;  // a network of short ways
  auto* const ways = context_.port.as<network::KnowsLongWays>();
  const std::uint32_t most = ways == nullptr ? 0 : ways->most_under_way(peer, device);
  constexpr std::uint32_t kTold = 0xffff;
  return most == 0 ? 0 : ledger.raise(peer, device, by < kTold ? by : kTold, most);
}

}  // namespace weft::core
