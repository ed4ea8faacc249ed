// Fast path of incoming sends: a batch of messages from one peer is matched with posted receives.
#include "core/protocol/matched/complete_receive.hpp"
#include "core/protocol/matched/matched_arrivals.hpp"
#include "core/protocol/matched/prefetch_receives.hpp"

#include <weft/detail/message_access.hpp>

#include <array>
#include <cstring>
#include <type_traits>

namespace weft::core {

namespace {

// Most messages, beside the first, that are counted under one hold of their bucket, which other threads
// cannot enter meanwhile. Longer messages are fewer: the number of bytes that are copied is bounded as well.
constexpr std::uint32_t kCountedTogether = 32;
constexpr std::uint32_t kCountedBytes = kCountedTogether * detail::kSlotPayload;

/// Returns engine, policy and device of a send; an impossible value when its payload is too short for a
/// trailer.
std::uint32_t trailer_of(Bytes payload) noexcept {
  std::uint32_t trailer = ~std::uint32_t{0};
  if (payload.size() >= sizeof(MatchTrailer)) [[likely]]
    std::memcpy(&trailer, payload.data() + payload.size() - sizeof(MatchTrailer), sizeof trailer);
  return trailer;
}

/// The message at the head of a batch has matched a receive whose completion object only counts; matches
/// those that follow it with its tag and do likewise, under one hold of their bucket. No Message is made for
/// them, and no code runs in between that could use the table.
template <class Locking, class Batch>
[[gnu::always_inline]] inline void match_counted(Batch& batch, MatchRecord& first, std::uint64_t tag,
                                                 std::uint32_t trailer, MatchingEngine& engine,
                                                 MatchingEngine::Table::Finder& finder,
                                                 std::uint32_t* free_records) noexcept {
  const std::size_t size = batch.size() - sizeof(MatchTrailer);
  const std::size_t most =
      std::is_same_v<Batch, detail::SlotBatch> ? std::size_t{kCountedTogether} : kCountedBytes / (size + 1);
  Completion* const completion = first.completion;
  std::uint32_t count = 0;
  std::uint64_t found_tag = tag;
  const std::byte* payload = nullptr;
  const auto is_next = [&](const MatchRecord& receive) {
    if (receive.completion != completion || count > most || !batch.peek_alike(found_tag, payload) ||
        found_tag != tag)
      return false;
    std::uint32_t found = 0;
    std::memcpy(&found, payload + size, sizeof found);
    return found == trailer;
  };
  const auto match = [&](MatchRecord& receive) {
    fill_counted(receive, {payload, size});
    engine.storage().records().release<Locking::kExclusive>(receive, free_records);
    batch.fetch_ahead();
    batch.advance();
    ++count;
  };
  static_cast<void>(batch.peek_alike(found_tag, payload));
  match(first);
  static_cast<void>(engine.table().try_take_while<Locking, MatchSide::unexpected>(
      {tag, static_cast<std::uint32_t>(batch.peer()), 0}, finder, is_next, match));
  completion->signal_count(count);
}

}  // namespace

template <class Batch>
void MatchedArrivals::on_sends(Batch& batch, detail::PayloadLender* lender, network::Sink& sink,
                               const Backlog& backlog) noexcept {
  std::uint64_t tag = 0;
  Bytes payload;
  bool is_unexpected = false;  // the last message found no receive, so the next one probably finds none
  while (batch.look(tag, payload) && !backlog.over_limit()) {
    const std::uint32_t trailer = trailer_of(payload);
    const std::atomic<MatchingEngine*>* const engine_slot = fast_path_engine(trailer);
    if (engine_slot != nullptr) [[likely]] {
      // Pairs with the release in MatchingEngines::make().
      MatchingEngine* const engine = engine_slot->load(std::memory_order_acquire);
      if (is_unexpected) {
        if (engine != nullptr &&
            (engine->is_serial() ? store_unexpected<detail::NoLock>(batch, trailer, *engine, backlog)
                                 : store_unexpected<detail::TryLock>(batch, trailer, *engine, backlog)) != 0)
          continue;
      } else if (engine != nullptr) [[likely]] {
        const std::uint32_t most = prefetch_receives(*engine, batch);
        const std::uint32_t matched = engine->is_serial()
                                          ? match<detail::NoLock>(batch, most, trailer, *engine, backlog)
                                          : match<detail::TryLock>(batch, most, trailer, *engine, backlog);
        if (matched != 0) {
          credit_matched(batch.peer(), trailer, matched);
          continue;
        }
      }
    } else if (OrderedArrivals::is_meant(trailer) && engines_.has_fast_path(trailer & 0xffff)) {
      if (!ordered_.on_sends(batch, lender, sink, backlog)) break;
      continue;
    }
    Message arrival;
    detail::MessageAccess::set_view(arrival, Operation::active_message, batch.peer(), tag, payload.data(),
                                    payload.size(), lender, 0);
    const Match matched = on_send_slow(tag, arrival, sink);
    if (matched == Match::refused) break;
    is_unexpected = matched == Match::nothing;
    batch.advance();
  }
}
template void MatchedArrivals::on_sends(detail::SlotBatch&, detail::PayloadLender*, network::Sink&,
                                        const Backlog&) noexcept;
template void MatchedArrivals::on_sends(detail::MultiSlotBatch&, detail::PayloadLender*, network::Sink&,
                                        const Backlog&) noexcept;

/// Fast path of a batch: matches messages as long as they have this trailer and size, and match the receive
/// that waits first in their bucket. Returns the number of messages matched. Locking: NoLock when the engine
/// is serial, else TryLock.
template <class Locking, class Batch>
std::uint32_t MatchedArrivals::match(Batch& all, std::size_t most, std::uint32_t trailer,
                                     MatchingEngine& engine, const Backlog& backlog) noexcept {
  Batch batch = all.first(most);  // a copy, to stay in registers
  const std::uint64_t begin = batch.head();
  const auto peer = static_cast<std::uint32_t>(batch.peer());
  const std::size_t size = batch.size() - sizeof(MatchTrailer);
  Table::Finder finder(engine.table(), MatchKey{0, peer, 0}.origin(), 0);
  std::uint32_t* const free_records = engine.storage().records().own_magazine<Locking::kExclusive>();
  std::uint64_t tag = 0;
  const std::byte* payload = nullptr;
  const std::uint32_t device = context_.device;
  Message message;
  detail::MessageAccess::set_receive(message, batch.peer(), device);
  while (batch.peek_alike(tag, payload)) {
    std::uint32_t found = 0;
    std::memcpy(&found, payload + size, sizeof found);
    if (found != trailer || backlog.over_limit()) [[unlikely]]
      break;
    // When a handler has opened the engine meanwhile, this old one is empty from then on.
    MatchRecord* const record =
        engine.table().try_take<Locking, MatchSide::unexpected>({tag, peer, 0}, finder);
    if (record == nullptr) [[unlikely]]
      break;
    if (record->completion->counts_only()) {
      match_counted<Locking>(batch, *record, tag, trailer, engine, finder, free_records);
      continue;
    }
    complete_receive(*record, message, tag, {payload, size},
                     [&] { engine.storage().records().release<Locking::kExclusive>(*record, free_records); });
    if (!detail::MessageAccess::is_receive(message, static_cast<int>(peer), device)) [[unlikely]] {
      message = Message();
      detail::MessageAccess::set_receive(message, static_cast<int>(peer), device);
    }
    batch.fetch_ahead();
    batch.advance();
  }
  all.resume_behind(batch);
  return static_cast<std::uint32_t>((batch.head() - begin) / batch.slots());
}

/// Fast path of a single message, for which a thread probably waits. Returns false, without effect, when it
/// does not apply; the caller then falls back to on_send().
bool MatchedArrivals::match_one(std::uint64_t tag, Message& arrival) noexcept {
  const std::uint32_t trailer = trailer_of(arrival.bytes());
  const std::atomic<MatchingEngine*>* const engine_slot = fast_path_engine(trailer);
  if (engine_slot == nullptr || context_.tracer != nullptr) [[unlikely]]
    return false;
  // Pairs with the release in MatchingEngines::make().
  MatchingEngine* const engine = engine_slot->load(std::memory_order_acquire);
  if (engine == nullptr) [[unlikely]]
    return false;
  return engine->is_serial() ? match_one<detail::NoLock>(tag, arrival, trailer, *engine)
                             : match_one<detail::TryLock>(tag, arrival, trailer, *engine);
}

template <class Locking>
[[gnu::always_inline]] inline bool MatchedArrivals::match_one(std::uint64_t tag, Message& arrival,
                                                              std::uint32_t trailer,
                                                              MatchingEngine& engine) noexcept {
  const int peer = arrival.peer();
  const MatchKey key{tag, static_cast<std::uint32_t>(peer), 0};
  Table::Finder finder(engine.table(), key.origin(), tag);
  MatchRecord* const record = engine.table().try_take<Locking, MatchSide::unexpected>(key, finder);
  if (record == nullptr) return false;
  const Bytes payload = arrival.bytes().first(arrival.size() - sizeof(MatchTrailer));
  const auto release = [&] { engine.storage().records().release<Locking::kExclusive>(*record); };
  if (Completion* const completion = record->completion; completion->counts_only()) {
    fill_counted(*record, payload, &arrival);
    release();
    completion->signal_count(1);
  } else {
    Message message;
    detail::MessageAccess::set_receive(message, peer, context_.device);
    complete_receive(*record, message, tag, payload, release, &arrival);
  }
  credit_matched(peer, trailer, 1);
  return true;
}

/// Returns the slot of the engine that a trailer names, or nullptr when the fast path does not apply to the
/// trailer.
const std::atomic<MatchingEngine*>* MatchedArrivals::fast_path_engine(std::uint32_t trailer) const noexcept {
  // Compares engine and policy at once.
  static_assert(static_cast<int>(MatchingPolicy::rank_and_tag) == 0);
  return (trailer & 0xffffff) < MatchingEngines::kMaxEngines
             ? &engines_.slot(static_cast<std::uint16_t>(trailer))
             : nullptr;
}

[[gnu::noinline]] void MatchedArrivals::credit_matched(int peer, std::uint32_t trailer,
                                                       std::uint32_t messages) noexcept {
  // Only trailers of the class normal are counted together.
  returns_.consume(returns_.ledger(MessageClass::normal), peer, static_cast<std::uint8_t>(trailer >> 24),
                   messages);
}

}  // namespace weft::core
