#include "core/protocol/rendezvous/flow_control.hpp"

#include <weft/detail/lock.hpp>

#include <algorithm>

namespace weft::core {

using network::SendResult;
using Incoming = IncomingTransfer;

namespace {

// For one peer: bytes in progress, half of what a second-level cache holds. More is granted when half of that
// is left.
constexpr std::int64_t kMostGranted = std::int64_t{512} << 10;
constexpr std::int64_t kGrantBelow = kMostGranted / 2;

}  // namespace

FlowControl::FlowControl(const Context& context, Transfers& transfers, RendezvousCounts& counts)
    : context_(context),
      transfers_(transfers),
      counts_(counts),
      grants_(new Grants[static_cast<std::size_t>(context.ranks)]) {}

Step FlowControl::queue(IncomingTransfer& incoming) noexcept {
  Grants& grants = grants_of(incoming);
  if (!detail::TryLock::acquire(grants.busy)) return Step::idle;
  transfers_.start_time(incoming);
  line_up(grants.first, grants.last, incoming);
  incoming.state.store(Incoming::State::receiving, std::memory_order_release);
  if (!grants.is_listed.load(std::memory_order_relaxed)) {
    grants.is_listed.store(true, std::memory_order_relaxed);
    counts_.working.fetch_add(1, std::memory_order_relaxed);
    granting_.add(grants);
  }
  detail::TryLock::release(grants.busy);
  return Step::finished;
}

Step FlowControl::grant(Grants& grants, Caller caller) noexcept {
  if (!detail::TryLock::acquire(grants.busy)) return Step::idle;
  Step result = grant_next(grants, caller) ? Step::moved : Step::idle;
  if (grants.first == nullptr) {
    grants.is_listed.store(false, std::memory_order_relaxed);
    result = Step::finished;
  }
  detail::TryLock::release(grants.busy);
  return result;
}

/// Grants the peer more bytes, while few enough are in progress. The caller holds the lock. Returns true when
/// it granted some.
bool FlowControl::grant_next(Grants& grants, Caller caller) noexcept {
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
    const Cts clear{incoming.rts.request, {incoming.index, generation},
                    incoming.wanted,      granted + more,
                    context_.device,      0};
    Incoming* const next = incoming.next;
    // Before the send: fragments may arrive, and with the last of the grants end the transfer, before it
    // returns.
    grants.under_way.fetch_add(static_cast<std::int64_t>(more), std::memory_order_relaxed);
    incoming.granted.store(clear.granted, std::memory_order_relaxed);
    const SendResult sent = context_.port->send(answer_to(incoming, Channel::cts), bytes_of(clear), caller);
    if (sent != SendResult::sent) {
      // If the peer has left, take_out() ends the transfer.
      grants.under_way.fetch_sub(static_cast<std::int64_t>(more), std::memory_order_relaxed);
      incoming.granted.store(granted, std::memory_order_relaxed);
      break;
    }
    if (clear.granted == clear.size) grants.first = next;
    did = true;
  }
  return did;
}

void FlowControl::received(const Incoming& incoming, std::size_t size) noexcept {
  Grants& grants = grants_of(incoming);
  const auto less = static_cast<std::int64_t>(size);
  if (grants.under_way.fetch_sub(less, std::memory_order_relaxed) - less > kGrantBelow ||
      !grants.is_listed.load(std::memory_order_relaxed) || !detail::TryLock::acquire(grants.busy))
    return;
  static_cast<void>(grant_next(grants, {.exclusive = false}));
  detail::TryLock::release(grants.busy);
}

bool FlowControl::take_out(Incoming& incoming, int peer) noexcept {
  auto expected = Incoming::State::receiving;
  Grants& grants = grants_[static_cast<std::size_t>(peer)];
  if (!detail::TryLock::acquire(grants.busy)) return false;
  bool is_taken =
      incoming.state.compare_exchange_strong(expected, Incoming::State::entered, std::memory_order_acquire);
  // By now the record may belong to another transfer.
  if (is_taken && incoming.peer.load(std::memory_order_relaxed) != peer) {
    incoming.state.store(Incoming::State::receiving, std::memory_order_release);
    is_taken = false;
  }
  if (is_taken) {
    Incoming* before = nullptr;
    for (Incoming* each = grants.first; each != nullptr; before = each, each = each->next)
      if (each == &incoming) {
        (before == nullptr ? grants.first : before->next) = incoming.next;
        if (grants.last == &incoming) grants.last = before;
        break;
      }
  }
  detail::TryLock::release(grants.busy);
  return is_taken;
}

std::size_t FlowControl::step(Caller caller) noexcept {
  return granting_.run(counts_.working, [&](Grants& grants) { return grant(grants, caller); });
}

}  // namespace weft::core
