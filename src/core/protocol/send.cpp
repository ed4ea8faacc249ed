// Posting sends.
#include "core/protocol/send_receive.hpp"

#include "core/completion/signal_end.hpp"
#include "core/protocol/refusal.hpp"
#include "core/protocol/traffic.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace weft::core {

using network::Outgoing;
using network::SendResult;

namespace {

constexpr std::uint32_t kLaneShare = 32;  // of the credits, at most
constexpr std::uint32_t kParts = 4;       // of the credits may lie in the first lane of a shared device ...
constexpr std::uint32_t kOtherParts = 2 * detail::DevicePath::kColumns;  // ... and in each other one
constexpr std::size_t kLargestInline = 4096;  // the attribute inline_max allows no more

Outgoing matched_message(int peer, std::uint64_t tag, const SendOptions& options, bool keeps_room) noexcept {
  return {peer,
          options.device,
          traffic_of(options.message_class),
          static_cast<std::uint8_t>(Channel::send),
          false,
          tag,
          keeps_room,
          options.engine >= kMatchingEngines};
}

/// How many credits the lane of a column may take at a time. What lies in the lane of one thread is out of
/// reach of the others, so it must not be all that there is.
std::uint32_t share_of(std::uint32_t limit, std::uint32_t column, bool exclusive) noexcept {
  if (exclusive) return kLaneShare;
  const std::uint32_t parts = column == detail::DevicePath::kFirstColumn ? kParts : kOtherParts;
  return std::clamp(limit / parts, 1U, kLaneShare);
}

}  // namespace

bool SendReceive::goes_without_packet(std::size_t size) const noexcept {
  const std::size_t whole = size + sizeof(MatchTrailer);
  return whole <= std::max(context_.limits.inline_bytes, network::kSmallestSend) && whole <= kLargestInline;
}

Status SendReceive::attempt_send(int peer, std::uint64_t tag, const SendPayload& payload,
                                 const SendOptions& options, Packet* packet, bool keeps_room,
                                 bool exclusive) noexcept {
  const MatchTrailer trailer{options.engine, policy_and_class(options.policy, options.message_class),
                             static_cast<std::uint8_t>(context_.device), 0};
  if (!goes_at_once(payload.size())) return announce(peer, tag, payload, trailer, options, exclusive);
  if (!take_credit(peer, options, exclusive)) [[unlikely]] {
    // A peer that has left returns no credit.
    if (context_.port->gone(peer)) return sent(SendResult::peer_gone, peer, tag, payload.bytes, options);
    // The peer keeps no more of our messages. It may only be busy: a handshake costs it more than the
    // message. But when no credit comes back it may wait for this very message, which it can fetch then, if
    // somebody can be told when the buffer is free.
    if (options.completion == nullptr || packet != nullptr ||
        !credits_of(options).is_out_of_patience(peer, options.device))
      return Status::retry(Reason::no_credit);
    return announce(peer, tag, payload, trailer, options, exclusive);
  }
  const Status status = send_at_once(peer, tag, payload, trailer, options, packet, keeps_room, exclusive);
  if (status.is_retry()) [[unlikely]]
    credits_of(options).undo(1, peer, options.device);
  return status;
}

/// For a lane that was entered and has no credits: takes its share. False: there are none.
bool SendReceive::take_share(detail::SendLane& lane, int peer, std::uint8_t device, std::uint32_t column,
                             bool exclusive) noexcept {
  Credits& credits = credits_[static_cast<std::size_t>(MessageClass::normal)];
  lane.credits = credits.take_up_to(share_of(credits.limit(), column, exclusive), peer, device);
  return lane.credits != 0;
}

template <class Locking>
bool SendReceive::refill(detail::SendLane& lane, int peer, std::uint8_t device) noexcept {
  auto* const hold = detail::enter<Locking>(lane.bias, lane.lock);
  if (hold == nullptr) return false;
  const bool has_more = lane.credits == 0 && take_share(lane, peer, device, detail::column_of_post<Locking>(),
                                                        Locking::kExclusive);
  detail::leave<Locking>(hold);
  return has_more;
}
template bool SendReceive::refill<detail::TryLock>(detail::SendLane&, int, std::uint8_t) noexcept;
template bool SendReceive::refill<detail::NoLock>(detail::SendLane&, int, std::uint8_t) noexcept;

/// From the lane's share, which inlined posts use; beside that, fills the share up.
bool SendReceive::take_credit(int peer, const SendOptions& options, bool exclusive) noexcept {
  const std::uint8_t device = options.device;
  Credits& credits = credits_of(options);
  // Inlined posts are of the class normal.
  const std::uint32_t column = exclusive || options.engine >= kMatchingEngines
                                   ? detail::DevicePath::kFirstColumn
                                   : detail::thread_column;
  detail::SendLane* lane =
      options.message_class == MessageClass::normal ? path_.lane(peer, device, column) : nullptr;
  auto* const hold = lane == nullptr ? nullptr : detail::enter(lane->bias, lane->lock, exclusive);
  if (hold == nullptr) return credits.take_up_to(1, peer, device) != 0;
  const bool has_credit = lane->credits != 0 || take_share(*lane, peer, device, column, exclusive);
  if (has_credit) --lane->credits;
  detail::leave(hold, exclusive);
  return has_credit;
}

Status SendReceive::send_at_once(int peer, std::uint64_t tag, const SendPayload& payload,
                                 const MatchTrailer& trailer, const SendOptions& options, Packet* packet,
                                 bool keeps_room, bool exclusive) noexcept {
  const std::size_t size = payload.size();
  const Outgoing outgoing = matched_message(peer, tag, options, keeps_room);
  const std::size_t whole = size + sizeof trailer;
  SendResult result;
  if (goes_without_packet(size)) {
    std::array<std::byte, kLargestInline> content;
    payload.copy_to(content.data());
    std::memcpy(content.data() + size, &trailer, sizeof trailer);
    result = context_.port->send(outgoing, {content.data(), whole}, exclusive);
  } else {
    Packet own;
    if (packet == nullptr) {
      own = context_.pool.get_for(options.message_class);
      if (!own) return Status::retry(Reason::no_packet);
      payload.copy_to(own.data());
      packet = &own;
    }
    std::memcpy(packet->data() + size, &trailer, sizeof trailer);
    result = context_.port->send_packet(outgoing, packet->index(), whole, exclusive);
    if (result == SendResult::sent) packet->release();
  }
  const Status status = refusal(result);
  return status.is_retry() ? status : sent(result, peer, tag, payload.bytes, options);
}

Status SendReceive::announce(int peer, std::uint64_t tag, const SendPayload& payload,
                             const MatchTrailer& trailer, const SendOptions& options,
                             bool exclusive) noexcept {
  SendResult result = SendResult::sent;
  const Status status = start_large(peer, tag, payload, trailer, options, exclusive, result);
  return status.is_done() ? sent(result, peer, tag, payload.bytes, options) : status;
}

/// posted when it has started, done when the peer has left (`result`); its completion object is not signalled
/// then.
Status SendReceive::start_large(int peer, std::uint64_t tag, const SendPayload& payload,
                                const MatchTrailer& trailer, const SendOptions& options, bool exclusive,
                                SendResult& result) noexcept {
  const MatchingEngine* const engine = engines_.place(options.engine).load(std::memory_order_acquire);
  const LargeMessages::Outbound outbound{peer,
                                         options.device,
                                         Channel::large_send,
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
  switch (large_messages_.start(outbound, exclusive, result)) {
    case LargeMessages::Start::started:
      return Status::posted();
    case LargeMessages::Start::no_request:
      return Status::retry(Reason::no_request);
    case LargeMessages::Start::refused:
      break;
  }
  return refusal(result);
}

Status SendReceive::sent(SendResult result, int peer, std::uint64_t tag, Bytes bytes,
                         const SendOptions& options) noexcept {
  const bool lost = result == SendResult::peer_gone;
  if (lost) context_.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
  if (options.completion == nullptr) [[likely]]
    return Status::done();
  return ended(lost, peer, tag, bytes, options);
}

Status SendReceive::ended(bool lost, int peer, std::uint64_t tag, Bytes bytes,
                          const SendOptions& options) noexcept {
  if (options.completion == nullptr || (options.may_complete_now && !lost)) return Status::done();
  return signal_end(Operation::send, peer, tag, bytes, *options.completion, options.user_data,
                    lost ? Outcome::peer_failed : Outcome::ok);
}

/// Each takes a credit; inlined posts take those that their lanes have been given.
__attribute__((no_sanitize("thread"))) std::uint64_t SendReceive::sends() noexcept {
  std::uint64_t unused = 0;
  const detail::DevicePath::LaneRow* before = nullptr;
  for (const auto& each : path_.rows) {
    const detail::DevicePath::LaneRow* row = each.load(std::memory_order_acquire);
    if (std::exchange(before, row) == row) continue;  // devices that were not contacted have one in common
    for (std::uint32_t peer = 0; peer < path_.ranks; ++peer) {
      std::array<const detail::SendLane*, detail::DevicePath::kColumns> lanes{};
      for (std::uint32_t column = 0; column < detail::DevicePath::kColumns; ++column) {
        const detail::SendLane* lane =
            row[detail::DevicePath::place(static_cast<int>(peer), column)].load(std::memory_order_acquire);
        // Several columns may hold the same one.
        if (lane == nullptr || std::ranges::find(lanes, lane) != lanes.end()) continue;
        lanes[column] = lane;
        unused += *static_cast<const volatile std::uint32_t*>(&lane->credits);
      }
    }
  }
  std::uint64_t taken = 0;
  for (Credits& credits : credits_) taken += credits.taken();
  return taken > unused ? taken - unused : 0;
}

void SendReceive::on_credit(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept {
  const auto device = static_cast<std::uint8_t>(word >> 32);
  const std::uint64_t message_class = word >> 40;
  if (message_class >= credits_.size() ||
      !credits_[message_class].give(arrival.peer(), device, static_cast<std::uint32_t>(word)))
    sink.reject(arrival.peer(), "more credits than were taken", word);
}

}  // namespace weft::core
