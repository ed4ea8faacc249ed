// Which payload a peer may stream to this device, and how much of it at a time.
#include "core/protocol/large_message_records.hpp"

#include <weft/detail/lock.hpp>

#include <algorithm>

namespace weft::core {

using network::SendResult;

namespace {

/// Whose payloads move first: control before normal before bulk.
int rank_of(MessageClass message_class) noexcept {
  return message_class == MessageClass::control ? 0 : message_class == MessageClass::normal ? 1 : 2;
}

// Of one peer, under way: half of what a second-level cache holds. More is granted when half of that is left.
constexpr std::int64_t kMostGranted = std::int64_t{512} << 10;
constexpr std::int64_t kGrantBelow = kMostGranted / 2;

}  // namespace

/// Lines a transfer up among those of its peer that have not been granted all: behind those of its class and
/// of more urgent ones.
Step LargeMessages::queue(Incoming& incoming) noexcept {
  Grants& grants = grants_of(incoming);
  if (!detail::TryLock::acquire(grants.busy)) return Step::idle;
  const int own = rank_of(incoming.message_class());
  Incoming* before = nullptr;
  if (grants.first != nullptr && rank_of(grants.last->message_class()) <= own)
    before = grants.last;
  else
    for (Incoming* each = grants.first; each != nullptr && rank_of(each->message_class()) <= own;
         each = each->next)
      before = each;
  Incoming*& link = before == nullptr ? grants.first : before->next;
  incoming.next = link;
  link = &incoming;
  if (incoming.next == nullptr) grants.last = &incoming;
  incoming.state.store(Incoming::State::receiving, std::memory_order_release);
  if (!grants.is_listed.load(std::memory_order_relaxed)) {
    grants.is_listed.store(true, std::memory_order_relaxed);
    working_.fetch_add(1, std::memory_order_relaxed);
    granting_.add(grants);
  }
  detail::TryLock::release(grants.busy);
  return Step::finished;
}

Step LargeMessages::grant(Grants& grants, bool exclusive) noexcept {
  if (!detail::TryLock::acquire(grants.busy)) return Step::idle;
  Step result = grant_next(grants, exclusive) ? Step::moved : Step::idle;
  if (grants.first == nullptr) {
    grants.is_listed.store(false, std::memory_order_relaxed);
    result = Step::finished;
  }
  detail::TryLock::release(grants.busy);
  return result;
}

/// Lets the peer send more, while that is little enough. The caller has the lock. Whether it did.
bool LargeMessages::grant_next(Grants& grants, bool exclusive) noexcept {
  bool did = false;
  while (grants.first != nullptr) {
    Incoming& incoming = *grants.first;
    const std::int64_t under_way =
        std::max<std::int64_t>(grants.under_way.load(std::memory_order_relaxed), 0);
    if (under_way > kGrantBelow) break;
    const std::size_t granted = incoming.granted.load(std::memory_order_relaxed);
    const std::size_t more =
        std::min(incoming.wanted - granted, static_cast<std::size_t>(kMostGranted - under_way));
    const std::uint32_t generation = incoming.generation.load(std::memory_order_relaxed);
    const ClearToSend clear{incoming.announcement.request,
                            {incoming.index, generation},
                            incoming.wanted,
                            granted + more,
                            context_.device,
                            0};
    Incoming* const next = incoming.next;
    // Before the send: chunks may arrive, and with the last of the grants end the transfer, before it
    // returns.
    grants.under_way.fetch_add(static_cast<std::int64_t>(more), std::memory_order_relaxed);
    incoming.granted.store(clear.granted, std::memory_order_relaxed);
    const SendResult sent =
        context_.port->send(answer(incoming, Channel::clear_to_send), bytes_of(clear), exclusive);
    if (sent != SendResult::sent) {
      // Of a peer that has left end_lost() takes care.
      grants.under_way.fetch_sub(static_cast<std::int64_t>(more), std::memory_order_relaxed);
      incoming.granted.store(granted, std::memory_order_relaxed);
      break;
    }
    if (clear.granted == clear.size) grants.first = next;
    did = true;
  }
  return did;
}

/// The sender goes on while this rank does other things with what it has received.
void LargeMessages::received(Grants& grants, std::size_t size) noexcept {
  const auto less = static_cast<std::int64_t>(size);
  if (grants.under_way.fetch_sub(less, std::memory_order_relaxed) - less > kGrantBelow ||
      !grants.is_listed.load(std::memory_order_relaxed) || !detail::TryLock::acquire(grants.busy))
    return;
  static_cast<void>(grant_next(grants, false));
  detail::TryLock::release(grants.busy);
}

/// No chunk will come from a peer that has left.
void LargeMessages::end_lost(Incoming& incoming) noexcept {
  auto expected = Incoming::State::receiving;
  if (incoming.state.load(std::memory_order_relaxed) != expected) return;
  const int peer = incoming.peer.load(std::memory_order_relaxed);
  if (!context_.port->gone(peer)) return;
  Grants& grants = grants_[static_cast<std::size_t>(peer)];
  if (!detail::TryLock::acquire(grants.busy)) return;
  bool is_lost =
      incoming.state.compare_exchange_strong(expected, Incoming::State::entered, std::memory_order_acquire);
  // By now the record may be that of another transfer.
  if (is_lost && incoming.peer.load(std::memory_order_relaxed) != peer) {
    incoming.state.store(Incoming::State::receiving, std::memory_order_release);
    is_lost = false;
  }
  if (is_lost) {
    Incoming* before = nullptr;
    for (Incoming* each = grants.first; each != nullptr; before = each, each = each->next)
      if (each == &incoming) {
        (before == nullptr ? grants.first : before->next) = incoming.next;
        if (grants.last == &incoming) grants.last = before;
        break;
      }
  }
  detail::TryLock::release(grants.busy);
  if (is_lost) lose(incoming);
}

}  // namespace weft::core
