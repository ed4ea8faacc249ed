// Messages that arrive one after the other meet posted receives.
#include "core/protocol/complete.hpp"
#include "core/protocol/send_receive.hpp"

#include <weft/detail/message_access.hpp>

#include <array>
#include <cstring>
#include <type_traits>

namespace weft::core {

namespace {

constexpr std::uint32_t kManyRecords = 512;  // fewer stay in the first-level cache
constexpr std::uint32_t kPrefetched = 8;     // messages whose receives are fetched at a time
// Messages that are counted, beside the first, with one hold of their bucket, which others miss meanwhile.
// Longer ones are fewer: as many bytes are copied.
constexpr std::uint32_t kCountedTogether = 32;
constexpr std::uint32_t kCountedBytes = kCountedTogether * detail::kSlotPayload;

/// Engine, policy and device of a send; something impossible when its payload has no room for them.
std::uint32_t trailer_of(Bytes payload) noexcept {
  std::uint32_t trailer = ~std::uint32_t{0};
  if (payload.size() >= sizeof(MatchTrailer)) [[likely]]
    std::memcpy(&trailer, payload.data() + payload.size() - sizeof(MatchTrailer), sizeof trailer);
  return trailer;
}

}  // namespace

template <class Run>
void SendReceive::on_sends(Run& run, detail::PayloadLender* lender, network::Sink& sink,
                           const Backlog& backlog) noexcept {
  std::uint64_t tag = 0;
  Bytes payload;
  bool is_early = false;  // the last message found no receive, so the next one probably finds none
  while (run.look(tag, payload) && !backlog.over_limit()) {
    const std::uint32_t trailer = trailer_of(payload);
    const std::atomic<MatchingEngine*>* const place = usual_engine(trailer);
    if (place != nullptr) [[likely]] {
      // Pairs with the release in MatchingEngines::make().
      MatchingEngine* const engine = place->load(std::memory_order_acquire);
      if (is_early) {
        if (engine != nullptr &&
            (engine->is_serial() ? keep_early<detail::NoLock>(run, trailer, *engine, backlog)
                                 : keep_early<detail::TryLock>(run, trailer, *engine, backlog)) != 0)
          continue;
      } else if (engine != nullptr) [[likely]] {
        const std::uint32_t most = prefetch(*engine, run);
        const std::uint32_t met = engine->is_serial()
                                      ? meet<detail::NoLock>(run, most, trailer, *engine, backlog)
                                      : meet<detail::TryLock>(run, most, trailer, *engine, backlog);
        if (met != 0) {
          settle_met(run.peer(), trailer, met);
          continue;
        }
      }
    } else if constexpr (std::is_same_v<Run, detail::SlotRun>) {
      if (is_ordered(trailer)) {
        if (!on_ordered_sends(run, lender, sink, backlog)) break;
        continue;
      }
    }
    Message arrival;
    detail::MessageAccess::set_view(arrival, Operation::active_message, run.peer(), tag, payload.data(),
                                    payload.size(), lender, 0);
    const Met met = on_other_send(tag, arrival, sink);
    if (met == Met::refused) break;
    is_early = met == Met::nothing;
    run.advance();
  }
}
template void SendReceive::on_sends(detail::SlotRun&, detail::PayloadLender*, network::Sink&,
                                    const Backlog&) noexcept;
template void SendReceive::on_sends(detail::WideRun&, detail::PayloadLender*, network::Sink&,
                                    const Backlog&) noexcept;

/// What nearly always happens: as long as messages have this trailer and size, and meet the receive that
/// waits first in its bucket. Returns how many have. Locking: NoLock when the engine is serial, else TryLock.
template <class Locking, class Run>
std::uint32_t SendReceive::meet(Run& all, std::size_t most, std::uint32_t trailer, MatchingEngine& engine,
                                const Backlog& backlog) noexcept {
  Run run = all.first(most);  // in registers
  const std::uint64_t begin = run.head();
  const auto peer = static_cast<std::uint32_t>(run.peer());
  const std::size_t size = run.size() - sizeof(MatchTrailer);
  Table::Finder finder(engine.table(), MatchKey{0, peer, 0}.origin(), 0);
  std::uint32_t* const free_records = engine.records().own_magazine<Locking::kExclusive>();
  std::uint64_t tag = 0;
  const std::byte* payload = nullptr;
  Message message;
  detail::MessageAccess::set_receive(message, run.peer());
  while (run.look_for_alike(tag, payload)) {
    std::uint32_t found = 0;
    std::memcpy(&found, payload + size, sizeof found);
    if (found != trailer || backlog.over_limit()) [[unlikely]]
      break;
    // When a handler has opened the engine, this one is empty from then on.
    MatchRecord* const record = engine.take_first_receive<Locking>({tag, peer, 0}, finder);
    if (record == nullptr) [[unlikely]]
      break;
    if (record->completion->counts_only()) {
      meet_counted<Locking>(run, *record, tag, trailer, engine, finder, free_records);
      continue;
    }
    complete(*record, message, tag, {payload, size},
             [&] { engine.records().give_back<Locking::kExclusive>(*record, free_records); });
    if (!detail::MessageAccess::is_receive(message, static_cast<int>(peer))) [[unlikely]] {
      message = Message();
      detail::MessageAccess::set_receive(message, static_cast<int>(peer));
    }
    run.fetch_ahead();
    run.advance();
  }
  all.go_on_behind(run);
  return static_cast<std::uint32_t>((run.head() - begin) / run.slots());
}

/// The message at the head of a run has met a receive that only counts, and so, with one hold of their
/// bucket, may those that follow it with its tag: nothing of a Message is asked for, and nothing runs in
/// between that could use the table.
template <class Locking, class Run>
[[gnu::always_inline]] inline void SendReceive::meet_counted(Run& run, MatchRecord& first, std::uint64_t tag,
                                                             std::uint32_t trailer, MatchingEngine& engine,
                                                             Table::Finder& finder,
                                                             std::uint32_t* free_records) noexcept {
  const std::size_t size = run.size() - sizeof(MatchTrailer);
  const std::size_t most =
      std::is_same_v<Run, detail::SlotRun> ? std::size_t{kCountedTogether} : kCountedBytes / (size + 1);
  Completion* const completion = first.completion;
  std::uint32_t count = 0;
  std::uint64_t found_tag = tag;
  const std::byte* payload = nullptr;
  const auto is_next = [&](const MatchRecord& receive) {
    if (receive.completion != completion || count > most || !run.look_for_alike(found_tag, payload) ||
        found_tag != tag)
      return false;
    std::uint32_t found = 0;
    std::memcpy(&found, payload + size, sizeof found);
    return found == trailer;
  };
  const auto meet = [&](MatchRecord& receive) {
    fill_receive(receive, {payload, size});
    engine.records().give_back<Locking::kExclusive>(receive, free_records);
    run.fetch_ahead();
    run.advance();
    ++count;
  };
  static_cast<void>(run.look_for_alike(found_tag, payload));
  meet(first);
  static_cast<void>(engine.take_first_receives<Locking>({tag, static_cast<std::uint32_t>(run.peer()), 0},
                                                        finder, is_next, meet));
  completion->signal_count(count);
}

/// The same for one message, which somebody is probably waiting for. False, without effect: on_send() knows.
bool SendReceive::meet_one(std::uint64_t tag, Message& arrival) noexcept {
  const std::uint32_t trailer = trailer_of(arrival.bytes());
  const std::atomic<MatchingEngine*>* const place = usual_engine(trailer);
  if (place == nullptr || context_.tracer != nullptr) [[unlikely]]
    return false;
  // Pairs with the release in MatchingEngines::make().
  MatchingEngine* const engine = place->load(std::memory_order_acquire);
  if (engine == nullptr) [[unlikely]]
    return false;
  return engine->is_serial() ? meet_one<detail::NoLock>(tag, arrival, trailer, *engine)
                             : meet_one<detail::TryLock>(tag, arrival, trailer, *engine);
}

template <class Locking>
[[gnu::always_inline]] inline bool SendReceive::meet_one(std::uint64_t tag, Message& arrival,
                                                         std::uint32_t trailer,
                                                         MatchingEngine& engine) noexcept {
  const int peer = arrival.peer();
  const MatchKey key{tag, static_cast<std::uint32_t>(peer), 0};
  Table::Finder finder(engine.table(), key.origin(), tag);
  MatchRecord* const record = engine.take_first_receive<Locking>(key, finder);
  if (record == nullptr) return false;
  const Bytes payload = arrival.bytes().first(arrival.size() - sizeof(MatchTrailer));
  const auto give_back = [&] { engine.records().give_back<Locking::kExclusive>(*record); };
  if (Completion* const completion = record->completion; completion->counts_only()) {
    fill_receive(*record, payload, &arrival);
    give_back();
    completion->signal_count(1);
  } else {
    Message message;
    detail::MessageAccess::set_receive(message, peer);
    complete(*record, message, tag, payload, give_back, &arrival);
  }
  settle_met(peer, trailer, 1);
  return true;
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

/// Fetches the receives that the next messages will probably meet, where there are so many that they may lie
/// far away. Returns for how many messages that was done, or need not be done.
template <class Run>
[[gnu::noinline]] std::uint32_t SendReceive::prefetch(MatchingEngine& engine, const Run& run) noexcept {
  if (engine.records().made() < kManyRecords) return 16 * kPrefetched;
  MatchKey key{0, static_cast<std::uint32_t>(run.peer()), 0};
  std::array<MatchKey, kPrefetched> keys;
  std::array<const MatchRecord*, kPrefetched> records;
  // The last one first: with fewer, the sender is near, and its lines are left alone.
  if (!run.look_ahead(kPrefetched - 1, key.tag)) return kPrefetched;
  for (std::uint32_t place = 0; place < kPrefetched; ++place) {
    if (!run.look_ahead(place, key.tag)) return kPrefetched;
    keys[place] = key;
    engine.table().prefetch(key);
  }
  // Each step needs what the one before has fetched; several messages at a time wait together.
  for (std::uint32_t place = 0; place < kPrefetched; ++place) {
    records[place] = engine.table().peek(keys[place]);
    if (records[place] == nullptr) continue;
    __builtin_prefetch(records[place], 1);
    __builtin_prefetch(reinterpret_cast<const std::byte*>(records[place]) + 64, 1);
  }
  for (const MatchRecord* record : records)
    if (record != nullptr) __builtin_prefetch(record->buffer.data(), 1);
  return kPrefetched;
}
template std::uint32_t SendReceive::prefetch(MatchingEngine&, const detail::SlotRun&) noexcept;

}  // namespace weft::core
