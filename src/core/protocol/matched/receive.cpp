// Posting receives, and completing them from unexpected messages.
#include "concurrent/backoff.hpp"
#include "core/protocol/matched/complete_receive.hpp"
#include "core/protocol/matched/matched_receiver.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace weft::core {

using Table = MatchingEngine::Table;

namespace {

/// Returns a record for a receive, or nullptr.
MatchRecord* take_posted(MatchingEngine& engine, std::span<std::byte> buffer,
                         const ReceiveOptions& options) noexcept {
  MatchRecord* posted = engine.storage().records().take();
  if (posted == nullptr) return nullptr;
  posted->buffer = buffer;
  posted->completion = options.completion;
  detail::NamedCompletion::note(options.completion);
  posted->user_data = options.user_data;
  if (options.handle != nullptr) *options.handle = engine.handle(*posted);
  return posted;
}

}  // namespace

Status MatchedReceiver::attempt(MatchingEngine& engine, int source, std::uint64_t tag,
                                std::span<std::byte> buffer, const ReceiveOptions& options) noexcept {
  const MatchKey key = engine.keys().of(source, tag, options.policy);
  // Retries while another thread holds the bucket: the caller cannot change that, and a receive that it does
  // not post again hangs the sender.
  for (concurrent::Backoff backoff;; backoff.wait()) {
    const auto [answer, record] =
        engine.pair(Table::Side::posted, key, [&] { return take_posted(engine, buffer, options); });
    switch (answer) {
      case Table::Answer::matched:
        return receive_probed(engine, *record, buffer, options);
      case Table::Answer::kept:
        return Status::posted();
      case Table::Answer::exhausted:
        return Status::retry(Reason::no_request);
      case Table::Answer::contended:
        break;
    }
  }
}

Status MatchedReceiver::attempt_ordered(MatchingEngine& engine, int source, std::uint64_t tag,
                                        std::span<std::byte> buffer, const ReceiveOptions& options,
                                        Caller caller) noexcept {
  OrderedMatching& order = *engine.order();
  if (!caller.again && order.queued_receives().load(std::memory_order_relaxed) != 0) [[unlikely]]
    return Status::retry(Reason::backlog);
  const OrderedMatching::Hold hold = order.enter();
  const auto [answer, record] = order.post(
      OrderedMatching::key_of(source, tag, options.tag_mask),
      [&] { return take_posted(engine, buffer, options); }, options.tag_mask);
  order.leave(hold);
  if (answer == Table::Answer::exhausted) return Status::retry(Reason::no_request);
  if (caller.again) order.queued_receives().fetch_sub(1, std::memory_order_relaxed);
  return answer == Table::Answer::matched ? receive_probed(engine, *record, buffer, options)
                                          : Status::posted();
}

/// Payloads that lie in the note of the message, or beside it, need nothing of what receive_probed() does for
/// packets, RTS messages, and receives that may complete at once.
template <class Locking>
[[gnu::always_inline]] inline void MatchedReceiver::complete_unexpected(MatchingEngine& engine,
                                                                        MatchRecord& record,
                                                                        std::span<std::byte> buffer,
                                                                        Completion* completion,
                                                                        void* user_data) noexcept {
  Unexpected& note = *record.unexpected;
  const std::size_t length = note.length;
  if (note.storage() > UnexpectedPayload::Storage::beside || buffer.size() < length ||
      context_.tracer != nullptr) [[unlikely]] {
    static_cast<void>(
        receive_probed(engine, record, buffer, {.completion = completion, .user_data = user_data}));
    return;
  }
  if (length == sizeof(std::uint64_t))
    std::memcpy(buffer.data(), note.payload(), sizeof(std::uint64_t));
  else
    copy_payload(buffer, note.payload(), length);
  const std::uint64_t tag = note.tag;
  const int peer = note.peer;
  const std::uint8_t device = note.sender_device;
  CreditLedger& ledger = *note.ledger;
  if (UnexpectedBlock* const block = note.take_block(); block != nullptr)
    engine.storage().blocks().release<Locking::kExclusive>(*block);
  engine.storage().unexpected().release<Locking::kExclusive>(note);
  record.unexpected = nullptr;
  engine.storage().records().release<Locking::kExclusive>(record);
  if (const std::uint32_t credits = ledger.consume_waiting(peer, device); credits != 0) [[unlikely]]
    returns_.return_batch(ledger, peer, device, credits, {.exclusive = false});
  if (completion->counts_only()) {
    completion->signal_count(1);
    return;
  }
  Message message;
  detail::MessageAccess::set_receive(message, peer, context_.device);
  detail::MessageAccess::set_received(message, tag, buffer.data(), length, length, user_data);
  context_.ends.signal(*completion, message);
}
template void MatchedReceiver::complete_unexpected<detail::TryLock>(MatchingEngine&, MatchRecord&,
                                                                    std::span<std::byte>, Completion*,
                                                                    void*) noexcept;
template void MatchedReceiver::complete_unexpected<detail::NoLock>(MatchingEngine&, MatchRecord&,
                                                                   std::span<std::byte>, Completion*,
                                                                   void*) noexcept;

template <class Locking>
[[gnu::always_inline]] inline bool MatchedReceiver::try_receive_unexpected(
    MatchingEngine& engine, std::uint64_t tag, std::uint32_t source, std::span<std::byte> buffer,
    Completion* completion, void* user_data) noexcept {
  MatchRecord* record = nullptr;
  if (OrderedMatching* const order = engine.order(); order == nullptr) {
    record = engine.table().try_take<Locking, Table::Side::posted>({tag, source, 0});
  } else if (const OrderedMatching::Hold hold = order->try_enter_decided<Locking>(); hold != nullptr) {
    record = order->try_take_message({tag, source, 0});
    order->leave<Locking>(hold);
  }
  if (record == nullptr) return false;
  complete_unexpected<Locking>(engine, *record, buffer, completion, user_data);
  return true;
}
template bool MatchedReceiver::try_receive_unexpected<detail::TryLock>(MatchingEngine&, std::uint64_t,
                                                                       std::uint32_t, std::span<std::byte>,
                                                                       Completion*, void*) noexcept;
template bool MatchedReceiver::try_receive_unexpected<detail::NoLock>(MatchingEngine&, std::uint64_t,
                                                                      std::uint32_t, std::span<std::byte>,
                                                                      Completion*, void*) noexcept;

namespace {

/// Out of line, so that receive_unexpected_or_post() keeps little for it.
template <MatchOrder kOrder, class Locking>
[[gnu::noinline]] bool post_after_all(MatchingEngine& engine, std::uint64_t tag, std::uint32_t source,
                                      std::span<std::byte> buffer, Completion* completion,
                                      void* user_data) noexcept {
  const MatchKey key{tag, source, 0};
  const bool is_posted = kOrder == MatchOrder::ordered
                             ? engine.try_post_in_order<Locking>(key, buffer, completion, user_data)
                             : engine.try_post<Locking>(key, buffer, completion, user_data);
  if (is_posted) engine.expectation().learn_unexpected(false);
  return is_posted;
}

}  // namespace

template <MatchOrder kOrder, class Locking, class... UserData>
bool MatchedReceiver::receive_unexpected_or_post(std::uint64_t engine_and_source, std::uint64_t tag,
                                                 std::byte* data, std::size_t size, Completion* completion,
                                                 UserData... user_data) noexcept {
  // An index of one byte, where that is enough.
  using Id = std::conditional_t<kOrder == MatchOrder::ordered, std::uint16_t, std::uint8_t>;
  MatchingEngine& engine =
      *engines_.slot(static_cast<Id>(engine_and_source >> 32)).load(std::memory_order_acquire);
  const auto source = static_cast<std::uint32_t>(engine_and_source);
  void* given = nullptr;
  ((given = user_data), ...);
  if (try_receive_unexpected<Locking>(engine, tag, source, {data, size}, completion, given)) [[likely]]
    return true;
  return post_after_all<kOrder, Locking>(engine, tag, source, {data, size}, completion, given);
}
template bool MatchedReceiver::receive_unexpected_or_post<MatchOrder::unordered, detail::TryLock>(
    std::uint64_t, std::uint64_t, std::byte*, std::size_t, Completion*) noexcept;
template bool MatchedReceiver::receive_unexpected_or_post<MatchOrder::unordered, detail::TryLock>(
    std::uint64_t, std::uint64_t, std::byte*, std::size_t, Completion*, void*) noexcept;
template bool MatchedReceiver::receive_unexpected_or_post<MatchOrder::unordered, detail::NoLock>(
    std::uint64_t, std::uint64_t, std::byte*, std::size_t, Completion*) noexcept;
template bool MatchedReceiver::receive_unexpected_or_post<MatchOrder::unordered, detail::NoLock>(
    std::uint64_t, std::uint64_t, std::byte*, std::size_t, Completion*, void*) noexcept;
template bool MatchedReceiver::receive_unexpected_or_post<MatchOrder::ordered, detail::TryLock>(
    std::uint64_t, std::uint64_t, std::byte*, std::size_t, Completion*) noexcept;
template bool MatchedReceiver::receive_unexpected_or_post<MatchOrder::ordered, detail::TryLock>(
    std::uint64_t, std::uint64_t, std::byte*, std::size_t, Completion*, void*) noexcept;
template bool MatchedReceiver::receive_unexpected_or_post<MatchOrder::ordered, detail::NoLock>(
    std::uint64_t, std::uint64_t, std::byte*, std::size_t, Completion*) noexcept;
template bool MatchedReceiver::receive_unexpected_or_post<MatchOrder::ordered, detail::NoLock>(
    std::uint64_t, std::uint64_t, std::byte*, std::size_t, Completion*, void*) noexcept;

Status MatchedReceiver::receive_probed(MatchingEngine& engine, MatchRecord& record,
                                       std::span<std::byte> buffer, const ReceiveOptions& options) noexcept {
  const UnexpectedPayload& arrived = *record.unexpected;
  if (arrived.is_announced()) {
    record.buffer = buffer;
    record.completion = options.completion;
    record.user_data = options.user_data;
    fetch(engine, record);
    return Status::posted();
  }
  const std::size_t size = std::min(arrived.length, buffer.size());
  if (size != 0) copy_payload(buffer, arrived.payload(), size);
  Message message;
  detail::MessageAccess::set_view(message, Operation::receive, arrived.peer, arrived.tag, buffer.data(), size,
                                  nullptr, arrived.length);
  detail::MessageAccess::set_device(message, context_.device);
  detail::MessageAccess::set_user_data(message, options.user_data);
  context_.trace(TraceEvent::Phase::instant, "receive ended", arrived.peer, size, 0, "had arrived before");
  const std::size_t arrived_length = arrived.length;
  if (size < arrived_length) detail::MessageAccess::set_outcome(message, Outcome::truncated);
  CreditLedger& ledger = *arrived.ledger;
  const std::uint32_t credits = ledger.consume_waiting(arrived.peer, arrived.sender_device);
  if (credits != 0)
    returns_.return_batch(ledger, arrived.peer, arrived.sender_device, credits, {.exclusive = false});
  engine.storage().release(record);
  if (options.may_complete_now && (options.arrived != nullptr || size == arrived_length)) {
    if (options.arrived != nullptr) *options.arrived = std::move(message);
    return Status::done();
  }
  context_.ends.signal(*options.completion, message);
  return Status::posted();
}

void MatchedReceiver::drop_probed(MatchingEngine& engine, MatchRecord& record) noexcept {
  const UnexpectedPayload& arrived = *record.unexpected;
  context_.counters.refused_messages.fetch_add(1, std::memory_order_relaxed);
  if (arrived.is_announced()) {
    record.buffer = {};
    record.completion = nullptr;
    fetch(engine, record);
    return;
  }
  // step() returns the credits: the caller may be any thread, even beside the one that has the device for
  // itself.
  CreditLedger& ledger = *arrived.ledger;
  const std::uint32_t count = ledger.consume_waiting(arrived.peer, arrived.sender_device);
  if (count != 0) ledger.keep(arrived.peer, arrived.sender_device, count);
  engine.storage().release(record);
}

void MatchedReceiver::drop_late(MatchingEngine& engine) noexcept {
  const auto is_late = [&](const MatchRecord& record) {
    return engine.waits(record) && !record.is_receive() && comes_late(engine, record.key().tag);
  };
  engine.unlink_where(is_late, [&](MatchRecord& record) { drop_probed(engine, record); });
}

void MatchedReceiver::forget_announced(int peer, const Cancel& cancel) noexcept {
  MatchingEngine* const engine = engines_.find_existing(cancel.engine);
  if (engine == nullptr) return;
  const auto is_meant = [&](const MatchRecord& record) {
    // Otherwise another thread may be using the record.
    if (!engine->waits(record) || record.is_receive() || !record.unexpected->is_announced() ||
        record.unexpected->peer != peer)
      return false;
    const auto rts = record.unexpected->rts<Rts>();
    return rts.request.index == cancel.request.index && rts.request.generation == cancel.request.generation;
  };
  rendezvous_.receiver().forget_queued(peer, cancel, [&] {
    bool is_found = false;
    engine->unlink_where(is_meant, [&](MatchRecord& record) {
      engine->storage().release(record);
      is_found = true;
    });
    return is_found;
  });
}

void MatchedReceiver::fetch(MatchingEngine& engine, MatchRecord& record) noexcept {
  record.engine = &engine;
  if (try_fetch(record)) return;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  announced_.put(record);
}

bool MatchedReceiver::try_fetch(MatchRecord& record) noexcept {
  const auto rts = record.unexpected->rts<Rts>();
  Rendezvous::Claim claim{record.unexpected->peer, rts,
                          record.unexpected->tag,  record.buffer,
                          record.completion,       record.user_data};
  claim.is_dropped = record.completion == nullptr;  // by drop_probed(): every receive has one
  if (ScatteredReceive* scattered = ScatteredReceive::of(record.buffer); scattered != nullptr) {
    claim.buffer = {static_cast<std::byte*>(nullptr), scattered->total()};
    claim.parts = scattered->parts_from(rts.address);
  }
  if (!rendezvous_.fetch_payload(claim)) return false;
  record.engine->storage().release(record);
  return true;
}

std::size_t MatchedReceiver::step() noexcept {
  std::size_t moved = 0;
  for (MatchRecord* record = announced_.take_all(); record != nullptr;) {
    MatchRecord* next = record->next;
    if (try_fetch(*record)) {
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      ++moved;
    } else {
      announced_.put(*record);
    }
    record = next;
  }
  return moved;
}

}  // namespace weft::core
