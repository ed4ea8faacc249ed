// Fast path of incoming sends of an ordered matching engine: a batch of messages from one peer.
#include "core/protocol/matched/complete_receive.hpp"
#include "core/protocol/matched/ordered_arrivals.hpp"
#include "core/protocol/matched/prefetch_receives.hpp"
#include "core/protocol/matched/store_unexpected.hpp"
#include "core/protocol/matched/trailer.hpp"

#include <weft/detail/message_access.hpp>

#include <bit>
#include <cstring>
#include <type_traits>

namespace weft::core {

namespace {

// Most messages, beside the first, that are counted in one hold of the order; longer ones are fewer, so that
// the number of bytes that are copied meanwhile is bounded as well.
constexpr std::uint32_t kMostInOneHold = 32;
constexpr std::size_t kBytesInOneHold = kMostInOneHold * detail::kSlotPayload;
constexpr std::uint32_t kMostTogether = 8;  // messages that take their credits at once

/// The message at the head of a batch has matched a receive whose completion object only counts; matches
/// those that follow it with its tag and do likewise, and signals the completion object. Returns the number
/// of messages matched. Called with the lock of the order, which it releases.
template <class Batch>
[[gnu::noinline]] std::uint32_t match_counted_in_order(Batch& all, MatchRecord& first, std::uint64_t tag,
                                                       std::uint32_t kind, MatchingEngine& engine,
                                                       ArrivalSequence& stream,
                                                       OrderedMatching::Hold hold) noexcept {
  Batch batch = all;  // in registers
  const std::size_t size = batch.size() - sizeof(MatchTrailer);
  const std::size_t most =
      std::is_same_v<Batch, detail::SlotBatch> ? std::size_t{kMostInOneHold} : kBytesInOneHold / (size + 1);
  Completion* const completion = first.completion;
  std::uint32_t count = 0;
  std::uint64_t found_tag = tag;
  const std::byte* payload = nullptr;
  const auto is_next = [&](const MatchRecord& receive, std::uint32_t number) {
    if (receive.completion != completion || count > most || !batch.peek_alike(found_tag, payload) ||
        found_tag != tag)
      return false;
    std::uint64_t found = 0;
    std::memcpy(&found, payload + size, sizeof found);
    return found == (static_cast<std::uint64_t>(number) << 32 | kind);
  };
  const auto match = [&](MatchRecord& receive) {
    fill_counted(receive, {payload, size});
    engine.storage().release_receive(receive);
    batch.fetch_ahead();
    batch.advance();
    ++count;
  };
  static_cast<void>(batch.peek_alike(found_tag, payload));
  match(first);
  OrderedMatching& order = *engine.order();
  order.try_take_receives(stream, {tag, static_cast<std::uint32_t>(batch.peer()), 0}, is_next, match);
  order.leave(hold);
  all.resume_behind(batch);
  completion->signal_count(count);
  return count;
}

}  // namespace

/// Stores unexpected messages from the head of a batch while it is their turn, their kind and size are those
/// of the first, and only unexpected messages wait with their key. Returns the number of messages stored;
/// on_send() handles the next one. Called with the lock of the order. Locking: NoLock when the engine is
/// serial, else TryLock.
template <class Locking, class Batch>
[[gnu::noinline]] std::uint32_t OrderedArrivals::store_unexpected(Batch& batch, std::uint64_t trailer,
                                                                  MatchingEngine& engine,
                                                                  ArrivalSequence& stream) noexcept {
  const auto first = std::bit_cast<MatchTrailer>(trailer);
  OrderedMatching& order = *engine.order();
  const std::size_t size = batch.size() - sizeof(MatchTrailer);
  if (!OrderedMatching::is_plain_turn(stream, first.order) || size > UnexpectedBlock::kBytes) return 0;
  const auto peer = static_cast<std::uint32_t>(batch.peer());
  CreditLedger& ledger = returns_.ledger(MessageClass::normal);
  std::uint64_t tag = 0;
  const std::uint32_t most = batch.peek_ahead(kMostTogether - 1, tag) ? kMostTogether : 1;
  if (!ledger.admit(batch.peer(), first.device, most)) [[unlikely]]
    return 0;
  const UnexpectedSends sends{engine, ledger, batch.peer(), first.device, size};
  const MatchingContexts* const contexts = engine.contexts();
  MatchTrailer next = first;
  std::uint32_t stored = 0;
  for (const std::byte* payload = nullptr; stored < most && batch.peek_alike(tag, payload); ++stored) {
    if (std::memcmp(payload + size, &next, sizeof next) != 0) [[unlikely]]
      break;
    if (contexts != nullptr && contexts->gone().may_have(context_of(tag))) [[unlikely]]
      break;
    if (!order.try_store(
            stream, {tag, peer, 0}, [&]() __attribute__((always_inline)) {
              return take_unexpected<Locking::kExclusive, Batch>(sends, tag, payload);
            })) [[unlikely]]
      break;
    ++next.order;
    batch.fetch_ahead();
    batch.advance();
  }
  if (stored != most) ledger.forget(batch.peer(), first.device, most - stored);
  return stored;
}

/// Handles the messages of a batch that are for the same ordered engine as its first. Returns false when one
/// of them cannot be accepted now.
template <class Batch>
bool OrderedArrivals::on_sends(Batch& all, detail::PayloadLender* lender, network::Sink& sink,
                               const Backlog& backlog) noexcept {
  // Fast path, as in MatchedArrivals::on_sends(): the message's turn has come, and the receive is one with
  // wildcards, or waits first in its bucket. on_send() handles everything else.
  Batch batch = all;  // a copy, to stay in registers
  const int peer = batch.peer();
  const std::uint32_t device = context_.device;
  Message message;
  detail::MessageAccess::set_receive(message, peer, device);
  MatchingEngine* engine = nullptr;
  ArrivalSequence* stream = nullptr;
  std::uint32_t known = 0;    // trailer of the first message, without its number
  std::uint32_t matched = 0;  // credits not returned yet
  std::uint64_t fetched = 0;
  std::uint64_t tag = 0;
  Bytes payload;
  bool can_resume = true;
  while (batch.look(tag, payload) && !backlog.over_limit() && payload.size() >= sizeof(MatchTrailer)) {
    MatchTrailer trailer;
    std::memcpy(&trailer, payload.data() + payload.size() - sizeof trailer, sizeof trailer);
    const auto bits = std::bit_cast<std::uint64_t>(trailer);
    const auto kind = static_cast<std::uint32_t>(bits);
    // Looked up anew for each message, because a handler may open an engine.
    if (MatchingEngine* now = engines_.find(trailer.engine); now != engine) [[unlikely]] {
      if (engine == nullptr) known = kind;
      if (kind != known || !now->has_fast_path()) break;
      engine = now;
      stream = &engine->order()->arrivals(peer, trailer.device);
    }
    if (kind != known) [[unlikely]]
      break;
    OrderedMatching& order = *engine->order();
    const OrderedMatching::Hold hold = order.try_enter();
    if (hold == nullptr) [[unlikely]] {
      can_resume = false;
      break;
    }
    if (batch.head() >= fetched) [[unlikely]]
      fetched = batch.head() + prefetch_receives(*engine, batch) * batch.slots();
    MatchRecord* const record =
        order.try_take_receive(*stream, trailer.order, {tag, static_cast<std::uint32_t>(peer), 0});
    if (record != nullptr && record->completion->counts_only()) {
      all.resume_behind(batch);
      matched += match_counted_in_order(all, *record, tag, known, *engine, *stream, hold);
      batch.resume_behind(all);
      continue;
    }
    if (record == nullptr) [[unlikely]] {
      all.resume_behind(batch);
      const std::uint32_t stored = engine->is_serial()
                                       ? store_unexpected<detail::NoLock>(all, bits, *engine, *stream)
                                       : store_unexpected<detail::TryLock>(all, bits, *engine, *stream);
      batch.resume_behind(all);
      order.leave(hold);
      if (stored != 0) continue;
      Message arrival;
      detail::MessageAccess::set_view(arrival, Operation::active_message, peer, tag, payload.data(),
                                      payload.size(), lender, 0);
      MatchTrailer valid;
      can_resume = !read_trailer(arrival, valid, sink) ||
                   on_send(*engines_.find(valid.engine), tag, arrival, valid, sink);
      if (!can_resume) break;
      batch.advance();
      continue;
    }
    order.leave(hold);
    ++matched;
    complete_receive(*engine, *record, message, tag, payload.first(payload.size() - sizeof trailer));
    if (!detail::MessageAccess::is_receive(message, peer, device)) [[unlikely]] {
      message = Message();
      detail::MessageAccess::set_receive(message, peer, device);
    }
    batch.fetch_ahead();
    batch.advance();
  }
  // Only trailers of the class normal have a fast path.
  if (matched != 0)
    returns_.consume(returns_.ledger(MessageClass::normal), peer, static_cast<std::uint8_t>(known >> 24),
                     matched);
  all.resume_behind(batch);
  return can_resume;
}
template bool OrderedArrivals::on_sends(detail::SlotBatch&, detail::PayloadLender*, network::Sink&,
                                        const Backlog&) noexcept;
template bool OrderedArrivals::on_sends(detail::MultiSlotBatch&, detail::PayloadLender*, network::Sink&,
                                        const Backlog&) noexcept;

}  // namespace weft::core
