// What arrives meets posted receives, or waits for them.
#include "core/protocol/complete.hpp"
#include "core/protocol/send_receive.hpp"
#include "core/protocol/traffic.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::core {

using network::Outgoing;
using network::SendResult;
using network::TrafficClass;
namespace {

constexpr std::uint32_t kManyRecords = 512;  // fewer stay in the first-level cache
constexpr std::uint64_t kPrefetched = 8;     // messages whose receives are fetched at a time
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

void SendReceive::on_sends(network::SlotRun& all, detail::PayloadLender* lender, network::Sink& sink,
                           const Backlog& backlog) noexcept {
  // Fast is what nearly always happens: the usual policy, an engine that exists, a receive that waits first
  // in its bucket. Everything else is on_send()'s.
  static const std::atomic<MatchingEngine*> no_engine{nullptr};
  network::SlotRun run = all;  // in registers
  const int peer = run.peer();
  Message message;
  detail::MessageAccess::set_receive(message, peer);
  std::uint64_t known = ~std::uint64_t{0};                 // trailer of the last message
  const std::atomic<MatchingEngine*>* place = &no_engine;  // that it names
  std::uint32_t met = 0;                                   // messages with that trailer, not settled yet
  std::uint64_t fetched = 0;                               // receives of messages below are on their way
  std::uint64_t tag = 0;
  Bytes payload;
  while (run.look(tag, payload) && !backlog.over_limit()) {
    std::uint32_t trailer = ~std::uint32_t{0};
    if (payload.size() >= sizeof(MatchTrailer)) [[likely]]
      std::memcpy(&trailer, payload.data() + payload.size() - sizeof(MatchTrailer), sizeof trailer);
    if (trailer != known) [[unlikely]] {
      if (met != 0) settle_met(peer, static_cast<std::uint32_t>(known), met);
      met = 0;
      known = trailer;
      place = usual_engine(trailer);
      if (place == nullptr) {
        place = &no_engine;
        if (is_ordered(trailer)) {
          known = ~std::uint64_t{0};
          if (!on_ordered_sends(run, lender, sink, backlog)) break;
          continue;
        }
      }
    }
    // Looked up anew for each message, because a handler may open an engine.
    MatchingEngine* const engine = place->load(std::memory_order_acquire);
    MatchRecord* record = nullptr;
    if (engine != nullptr) [[likely]] {
      if (run.head() >= fetched) [[unlikely]]
        fetched = run.head() + prefetch(*engine, run);
      record = engine->take_first_receive({tag, static_cast<std::uint32_t>(peer), 0});
    }
    if (record == nullptr) [[unlikely]] {
      Message arrival;
      detail::MessageAccess::set_view(arrival, Operation::active_message, peer, tag, payload.data(),
                                      payload.size(), lender, 0);
      if (!on_send(tag, arrival, sink)) break;
      run.advance();
      continue;
    }
    ++met;
    complete(*engine, *record, message, tag, payload.first(payload.size() - sizeof(MatchTrailer)));
    if (!detail::MessageAccess::is_receive(message, peer)) [[unlikely]] {
      message = Message();
      detail::MessageAccess::set_receive(message, peer);
    }
    run.advance();
  }
  if (met != 0) settle_met(peer, static_cast<std::uint32_t>(known), met);
  all = run;
}

/// Whether a trailer names an ordered engine, and nothing in it is impossible.
bool SendReceive::is_ordered(std::uint32_t trailer) noexcept {
  const std::uint32_t engine_and_policy = trailer & 0xffffff;
  return engine_and_policy >= kMatchingEngines && engine_and_policy < kEngineIds;
}

/// The engine that a trailer names, nullptr when something in it is unusual.
const std::atomic<MatchingEngine*>* SendReceive::usual_engine(std::uint32_t trailer) const noexcept {
  // Engine and policy at once.
  static_assert(static_cast<int>(MatchingPolicy::rank_and_tag) == 0);
  return (trailer & 0xffffff) < MatchingEngines::kMaxEngines
             ? &engines_.place(static_cast<std::uint16_t>(trailer))
             : nullptr;
}

[[gnu::noinline]] void SendReceive::settle_met(int peer, std::uint32_t trailer,
                                               std::uint32_t messages) noexcept {
  // Only trailers of the class normal are counted together.
  settle(ledgers_.of(MessageClass::normal), peer, static_cast<std::uint8_t>(trailer >> 24), messages,
         exclusive_.load(std::memory_order_relaxed));
}

/// By the record, so that the loops that call it need not keep its buffer.
[[gnu::noinline]] void SendReceive::fill(const MatchRecord& record, const std::byte* from,
                                         std::size_t size) noexcept {
  copy(record.buffer, from, size);
}

/// `size` is that of the payload, or of the buffer if that has less room.
void SendReceive::copy(MutableBytes buffer, const std::byte* from, std::size_t size) noexcept {
  if (ScatteredReceive* receive = ScatteredReceive::of(buffer); receive != nullptr) [[unlikely]]
    receive->fill({from, size});
  else if (size <= detail::kSlotPayload)
    detail::copy_small(buffer.data(), from, size);
  else
    std::memcpy(buffer.data(), from, size);
}

/// Fetches the receives that the next messages will probably meet, where there are so many that they may lie
/// far away. Returns for how many messages that was done, or need not be done.
[[gnu::noinline]] std::uint64_t SendReceive::prefetch(MatchingEngine& engine, network::SlotRun run) noexcept {
  if (engine.records().made() < kManyRecords) return 16 * kPrefetched;
  MatchKey key{0, static_cast<std::uint32_t>(run.peer()), 0};
  std::array<MatchKey, kPrefetched> keys;
  std::array<const MatchRecord*, kPrefetched> records;
  Bytes payload;
  // The last one first: with fewer, the sender is near, and its lines are left alone.
  if (!run.look_ahead(kPrefetched - 1, key.tag, payload)) return kPrefetched;
  for (std::uint64_t place = 0; place < kPrefetched; ++place) {
    if (!run.look_ahead(place, key.tag, payload)) return kPrefetched;
    keys[place] = key;
    engine.table().prefetch(key);
  }
  // Each step needs what the one before has fetched; several messages at a time wait together.
  for (std::uint64_t place = 0; place < kPrefetched; ++place) {
    records[place] = engine.table().peek(keys[place]);
    if (records[place] == nullptr) continue;
    __builtin_prefetch(records[place], 1);
    __builtin_prefetch(reinterpret_cast<const std::byte*>(records[place]) + 64, 1);
  }
  for (const MatchRecord* record : records)
    if (record != nullptr) __builtin_prefetch(record->buffer.data(), 1);
  return kPrefetched;
}

bool SendReceive::on_send(std::uint64_t tag, Message& arrival, network::Sink& sink) noexcept {
  MatchTrailer trailer;
  if (!read_trailer(arrival, trailer, sink)) return true;
  const int peer = arrival.peer();
  MatchingEngine& engine = *engines_.find(trailer.engine);
  if (trailer.engine >= kMatchingEngines) return on_ordered_send(engine, tag, arrival, trailer, sink);
  const MatchKey key = MatchingEngine::arrived_key(peer, tag, policy_of(trailer));
  CreditLedger& ledger = ledgers_.of(class_of(trailer));
  bool may_keep = true;
  const auto [answer, record] = engine.table().pair(Table::Side::unexpected, key, [&]() -> MatchRecord* {
    may_keep = ledger.admit(peer, trailer.device);
    return may_keep ? keep(engine, tag, arrival, trailer) : nullptr;
  });
  switch (answer) {
    case Table::Answer::matched: {
      Message message;
      detail::MessageAccess::set_receive(message, peer);
      complete(engine, *record, message, tag, arrival.bytes().first(arrival.size() - sizeof trailer));
      context_.trace(TraceEvent::Phase::instant, "receive ended", peer, arrival.size() - sizeof trailer, 0);
      settle(ledger, peer, trailer.device, 1, exclusive_.load(std::memory_order_relaxed));
      return true;
    }
    case Table::Answer::kept:
      return true;
    case Table::Answer::contended:
      return false;
    case Table::Answer::exhausted:
      break;
  }
  if (may_keep) return false;
  sink.reject(peer, "more messages without receives than there are credits", tag);
  return true;
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
  arrived.peer = arrival.peer();
  arrived.length = arrival.size() - sizeof trailer;
  arrived.message = arrival.take();
  arrived.is_announced = false;
  arrived.sender_device = trailer.device;
  arrived.tag = tag;
  arrived.ledger = &ledgers_.of(class_of(trailer));
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
  static_assert(sizeof announcement == sizeof note->announcement);
  std::memcpy(note->announcement.data(), &announcement, sizeof announcement);
  note->is_announced = true;
  note->sender_device = trailer.device;
  note->peer = arrival.peer();
  note->tag = tag;
  note->length = announcement.size;
  note->ledger = nullptr;
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
