// Posting sends: inject, eager or rendezvous, by size and credit.
#include "core/protocol/matched/matched_messages.hpp"

#include "core/completion/signal_end.hpp"
#include "core/protocol/message_class.hpp"
#include "core/protocol/to_status.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace weft::core {

using network::Outgoing;
using network::SendResult;

namespace {

constexpr std::uint32_t kLaneShare = 32;  // of the credits, at most
constexpr std::uint32_t kParts = 4;       // 1 / kParts of them may lie in the first lane ...
constexpr std::uint32_t kOtherParts = 2 * detail::DevicePath::kColumns;  // ... and in each other one
constexpr std::size_t kLargestInline = 4096;  // the attribute inline_max allows no more

Outgoing matched_message(int peer, std::uint64_t tag, const SendOptions& options, Caller caller) noexcept {
  return {peer,
          options.device,
          traffic_of(options.message_class),
          static_cast<std::uint8_t>(Channel::send),
          false,
          tag,
          caller.reserves_room,
          options.engine >= kMatchingEngines};
}

/// Returns the number of credits that the lane of a column may take at a time. Other threads cannot reach the
/// credits in one thread's lane, so these must not be all credits.
std::uint32_t share_of(std::uint32_t limit, std::uint32_t column, bool exclusive) noexcept {
  if (exclusive) return kLaneShare;
  const std::uint32_t parts = column == detail::DevicePath::kFirstColumn ? kParts : kOtherParts;
  return std::clamp(limit / parts, 1U, kLaneShare);
}

/// A hint, read without the lane's lock, that is acted upon only under it; the annotation tells
/// ThreadSanitizer so.
__attribute__((no_sanitize("thread"))) std::uint32_t unused_credits(const detail::SendLane& lane) noexcept {
  return *static_cast<const volatile std::uint32_t*>(&lane.credits);
}

}  // namespace

bool MatchedMessages::goes_without_packet(int peer, std::size_t size) const noexcept {
  const std::size_t whole = size + sizeof(MatchTrailer);
  return whole <= std::max(context_.limits_to(peer).inline_bytes, network::kSmallestSend) &&
         whole <= kLargestInline;
}

Status MatchedMessages::attempt_send(int peer, std::uint64_t tag, const SendPayload& payload,
                                     const SendOptions& options, Packet* packet, Caller caller) noexcept {
  const MatchTrailer trailer{options.engine, policy_and_class(options.policy, options.message_class),
                             static_cast<std::uint8_t>(context_.device), 0};
  if (!goes_at_once(peer, payload.size())) return announce(peer, tag, payload, trailer, options, caller);
  if (!take_credit(peer, options, caller.exclusive)) [[unlikely]] {
    // A peer that has left returns no credit.
    if (context_.port->has_left(peer)) return sent(SendResult::peer_left, peer, tag, payload.bytes, options);
    // The peer stores no more unexpected messages of this rank, or other lanes have the credits. The peer may
    // only be busy: a handshake costs it more than the message. But when no credit comes back the peer may
    // wait for this very message. Then it can fetch the message by a rendezvous, if a completion object can
    // tell when the buffer is free.
    if (!credits_of(options).has_waited_too_long(peer, options.device))
      return Status::retry(Reason::no_credit);
    if (!take_credit_of_others(peer, options, caller.exclusive)) {
      if (options.completion == nullptr || packet != nullptr) return Status::retry(Reason::no_credit);
      return announce(peer, tag, payload, trailer, options, caller);
    }
  }
  const Status status = send_at_once(peer, tag, payload, trailer, options, packet, caller);
  if (status.is_retry()) [[unlikely]]
    credits_of(options).undo(1, peer, options.device);
  return status;
}

/// Fills the share of a lane that was entered and has no credits. Returns false when there are none.
bool MatchedMessages::take_share(detail::SendLane& lane, int peer, std::uint8_t device, std::uint32_t column,
                                 bool exclusive) noexcept {
  Credits& credits = credits_.of(MessageClass::normal);
  lane.credits = credits.take_up_to(share_of(credits.limit(), column, exclusive), peer, device, exclusive);
  return lane.credits != 0;
}

template <class Locking>
bool MatchedMessages::refill(detail::SendLane& lane, int peer, std::uint8_t device) noexcept {
  auto* const hold = detail::enter<Locking>(lane.bias, lane.lock);
  if (hold == nullptr) return false;
  const bool has_more = lane.credits == 0 && take_share(lane, peer, device, detail::column_of_post<Locking>(),
                                                        Locking::kExclusive);
  detail::leave<Locking>(hold);
  return has_more;
}
template bool MatchedMessages::refill<detail::TryLock>(detail::SendLane&, int, std::uint8_t) noexcept;
template bool MatchedMessages::refill<detail::NoLock>(detail::SendLane&, int, std::uint8_t) noexcept;

/// Takes a credit from the lane's share, which inlined posts use; when that is empty, fills the share up.
bool MatchedMessages::take_credit(int peer, const SendOptions& options, bool exclusive) noexcept {
  const std::uint8_t device = options.device;
  Credits& credits = credits_of(options);
  // Inlined posts are of the class normal.
  const std::uint32_t column = exclusive || options.engine >= kMatchingEngines
                                   ? detail::DevicePath::kFirstColumn
                                   : detail::thread_column;
  detail::SendLane* lane =
      options.message_class == MessageClass::normal ? path_.lane(peer, device, column) : nullptr;
  auto* const hold = lane == nullptr ? nullptr : detail::enter(lane->bias, lane->lock, exclusive);
  if (hold == nullptr) return credits.take_up_to(1, peer, device, exclusive) != 0;
  const bool has_credit = lane->credits != 0 || take_share(*lane, peer, device, column, exclusive);
  if (has_credit) --lane->credits;
  detail::leave(hold, exclusive);
  return has_credit;
}

/// Takes one of the credits in the lanes of other threads, which may be idle or have ended. Returns false
/// when they have none.
bool MatchedMessages::take_credit_of_others(int peer, const SendOptions& options, bool exclusive) noexcept {
  if (exclusive || options.message_class != MessageClass::normal) return false;
  for (std::uint32_t column = 0; column < detail::DevicePath::kColumns; ++column) {
    detail::SendLane* const lane = path_.lane(peer, options.device, column);
    if (lane == nullptr || unused_credits(*lane) == 0) continue;
    auto* const hold = detail::enter(lane->bias, lane->lock, false);
    if (hold == nullptr) continue;
    const bool has_credit = lane->credits != 0;
    if (has_credit) --lane->credits;
    detail::leave(hold, false);
    if (has_credit) return true;
  }
  return false;
}

namespace {

constexpr std::size_t kShort = 512;  // bytes; most messages, which shall do with a small stack

/// Out of line, so that its buffer leaves the stack before the end of the send is signalled, whose handler
/// may send. `Room`: at least the payload and the trailer.
template <std::size_t Room>
[[gnu::noinline]] SendResult send_in_slots(const ObservedPort& port, const Outgoing& outgoing,
                                           const SendPayload& payload, const MatchTrailer& trailer,
                                           bool exclusive) noexcept {
  const std::size_t size = payload.size();
  std::array<std::byte, Room> content;
  payload.copy_to(content.data());
  std::memcpy(content.data() + size, &trailer, sizeof trailer);
  return port->send(outgoing, {content.data(), size + sizeof trailer}, exclusive);
}

}  // namespace

Status MatchedMessages::send_at_once(int peer, std::uint64_t tag, const SendPayload& payload,
                                     const MatchTrailer& trailer, const SendOptions& options, Packet* packet,
                                     Caller caller) noexcept {
  const std::size_t size = payload.size();
  const Outgoing outgoing = matched_message(peer, tag, options, caller);
  const std::size_t whole = size + sizeof trailer;
  SendResult result;
  if (goes_without_packet(peer, size)) {
    result = whole <= kShort
                 ? send_in_slots<kShort>(context_.port, outgoing, payload, trailer, caller.exclusive)
                 : send_in_slots<kLargestInline>(context_.port, outgoing, payload, trailer, caller.exclusive);
  } else {
    Packet own;
    if (packet == nullptr) {
      own = context_.pool.get_for(options.message_class);
      if (!own) return Status::retry(Reason::no_packet);
      payload.copy_to(own.data());
      packet = &own;
    }
    std::memcpy(packet->data() + size, &trailer, sizeof trailer);
    result = context_.port->send_packet(outgoing, packet->index(), whole, caller.exclusive);
    if (result == SendResult::sent) packet->release();
  }
  const Status status = to_status(result);
  return status.is_retry() ? status : sent(result, peer, tag, payload.bytes, options);
}

Status MatchedMessages::announce(int peer, std::uint64_t tag, const SendPayload& payload,
                                 const MatchTrailer& trailer, const SendOptions& options,
                                 Caller caller) noexcept {
  SendResult result = SendResult::sent;
  const Status status = start_large(peer, tag, payload, trailer, options, caller, result);
  return status.is_done() ? sent(result, peer, tag, payload.bytes, options) : status;
}

/// Returns posted when the rendezvous has started, done when the peer has left (`result`); the completion
/// object is not signalled then.
Status MatchedMessages::start_large(int peer, std::uint64_t tag, const SendPayload& payload,
                                    const MatchTrailer& trailer, const SendOptions& options, Caller caller,
                                    SendResult& result) noexcept {
  const MatchingEngine* const engine = engines_.find_existing(options.engine);
  const Rendezvous::Outbound outbound{peer,
                                      options.device,
                                      Channel::send_rts,
                                      tag,
                                      &trailer,
                                      payload.bytes,
                                      Operation::send,
                                      tag,
                                      options.completion,
                                      options.user_data,
                                      options.message_class,
                                      payload.parts,
                                      payload.parts_size,
                                      engine != nullptr && engine->needs_all_ranks()};
  switch (rendezvous_.start(outbound, caller, result)) {
    case Rendezvous::Start::started:
      return Status::posted();
    case Rendezvous::Start::no_request:
      return Status::retry(Reason::no_request);
    case Rendezvous::Start::refused:
      break;
  }
  return to_status(result);
}

Status MatchedMessages::sent(SendResult result, int peer, std::uint64_t tag, Bytes bytes,
                             const SendOptions& options) noexcept {
  const bool lost = result == SendResult::peer_left;
  if (lost) [[unlikely]] {
    context_.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
    context_.lose(peer, "send");
  }
  if (options.completion == nullptr) [[likely]]
    return Status::done();
  return ended(lost, peer, tag, bytes, options);
}

Status MatchedMessages::ended(bool lost, int peer, std::uint64_t tag, Bytes bytes,
                              const SendOptions& options) noexcept {
  if (options.completion == nullptr || (options.may_complete_now && !lost)) return Status::done();
  return signal_end(context_.ends, Operation::send, peer, tag, bytes, *options.completion, options.user_data,
                    lost ? Outcome::peer_failed : Outcome::ok, context_.device);
}

/// Calls visit(lane, peer, device) for each lane once.
template <class Visit>
void MatchedMessages::for_each_lane(const Visit& visit) const noexcept {
  const detail::DevicePath::LaneRow* before = nullptr;
  for (std::size_t device = 0; device < std::size(path_.rows); ++device) {
    const detail::DevicePath::LaneRow* row = path_.rows[device].load(std::memory_order_acquire);
    if (std::exchange(before, row) == row) continue;  // devices that were not contacted share one row
    for (std::uint32_t peer = 0; peer < path_.ranks; ++peer) {
      std::array<const detail::SendLane*, detail::DevicePath::kColumns> lanes{};
      for (std::uint32_t column = 0; column < detail::DevicePath::kColumns; ++column) {
        const detail::SendLane* lane =
            row[detail::DevicePath::place(static_cast<int>(peer), column)].load(std::memory_order_acquire);
        // Several columns may hold the same lane.
        if (lane == nullptr || std::ranges::find(lanes, lane) != lanes.end()) continue;
        lanes[column] = lane;
        visit(*lane, static_cast<int>(peer), static_cast<std::uint8_t>(device));
      }
    }
  }
}

MatchedMessages::~MatchedMessages() {
  for_each_lane([&](const detail::SendLane& lane, int peer, std::uint8_t device) {
    credits_.of(MessageClass::normal).undo(lane.credits, peer, device);
  });
}

/// The number of sends: each takes a credit; inlined posts take credits that their lanes were given.
std::uint64_t MatchedMessages::sends() noexcept {
  std::uint64_t unused = 0;
  for_each_lane([&](const detail::SendLane& lane, int, std::uint8_t) { unused += unused_credits(lane); });
  const std::uint64_t taken = credits_.taken() - taken_before_;
  return taken > unused ? taken - unused : 0;
}

void MatchedMessages::on_credit(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept {
  const auto device = static_cast<std::uint8_t>(word >> 32);
  const std::uint64_t message_class = word >> 40 & 0xff;
  const auto more = static_cast<std::uint32_t>(word >> 48);
  if (message_class >= SendCredits::classes() ||
      !credits_.of(static_cast<MessageClass>(message_class))
           .give(arrival.peer(), device, static_cast<std::uint32_t>(word),
                 exclusive_.load(std::memory_order_relaxed)))
    sink.reject(arrival.peer(), "more credits than were taken", word);
  else if (more != 0 &&
           !credits_.of(static_cast<MessageClass>(message_class)).raise(arrival.peer(), device, more))
    sink.reject(arrival.peer(), "more credits than can be", word);
}

}  // namespace weft::core
