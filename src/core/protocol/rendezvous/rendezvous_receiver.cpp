// How transfers of the receiver's half of a rendezvous begin and end.
#include "core/protocol/rendezvous/rendezvous_receiver.hpp"

#include "concurrent/racy_read.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>

namespace weft::core {

RendezvousReceiver::RendezvousReceiver(const Context& context, RendezvousCounts& counts)
    : context_(context),
      counts_(counts),
      transfers_(context, counts),
      flow_control_(context, transfers_, counts),
      admission_(context, transfers_, flow_control_, counts) {}

bool RendezvousReceiver::take_rts(std::uint64_t word, int peer, const Rts& rts) noexcept {
  Incoming* const taken = transfers_.take();
  if (taken == nullptr) return false;
  Incoming& incoming = *taken;
  incoming.peer.store(peer, std::memory_order_relaxed);
  incoming.rts = rts;
  incoming.word = word;
  incoming.wanted = rts.size;
  incoming.buffer = nullptr;
  incoming.is_receive = false;
  incoming.parts = {};
  // Pairs with the acquire in mark_forgotten().
  incoming.state.store(Incoming::State::waiting, std::memory_order_release);
  begin(incoming);
  return true;
}

bool RendezvousReceiver::fetch(const Claim& claim) noexcept {
  Incoming* const taken = transfers_.take();
  if (taken == nullptr) return false;
  Incoming& incoming = *taken;
  incoming.peer.store(claim.peer, std::memory_order_relaxed);
  incoming.rts = claim.rts;
  incoming.wanted = std::min<std::size_t>(claim.rts.size, claim.buffer.size());
  incoming.buffer = claim.buffer.data();
  incoming.is_receive = true;
  incoming.tag = claim.tag;
  incoming.completion = claim.completion;
  transfers_.note_named(incoming);
  incoming.user_data = claim.user_data;
  incoming.parts = claim.parts;
  counts_.outstanding.fetch_add(1, std::memory_order_relaxed);
  if (incoming.wanted == 0) {
    deliver(incoming);
    incoming.state.store(claim.is_dropped ? Incoming::State::refused : Incoming::State::answering,
                         std::memory_order_relaxed);
  } else {
    transfers_.choose_way(incoming);
  }
  begin(incoming);
  return true;
}

void RendezvousReceiver::begin(Incoming& incoming) noexcept {
  transfers_.begin(incoming);
  if (incoming.state.load(std::memory_order_relaxed) == Incoming::State::waiting)
    admission_.add(incoming);
  else
    transfers_.advance(incoming);
}

void RendezvousReceiver::deliver(Incoming& incoming, Outcome outcome) noexcept {
  Message message;
  Completion* completion = incoming.completion;
  if (outcome == Outcome::ok) context_.count(&DeviceCounts::large_received);
  context_.trace(TraceEvent::Phase::instant, "large message delivered", incoming.peer, incoming.wanted, 0,
                 name_of(outcome));
  if (incoming.is_receive) {
    counts_.outstanding.fetch_sub(1, std::memory_order_relaxed);
    if (completion == nullptr) return;
    const std::size_t length = incoming.rts.size;
    if (outcome == Outcome::ok && incoming.wanted < length) outcome = Outcome::truncated;
    detail::MessageAccess::set_view(message, Operation::receive, incoming.peer, incoming.tag, incoming.buffer,
                                    outcome == Outcome::peer_failed ? 0 : incoming.wanted, nullptr, length);
    detail::MessageAccess::set_device(message, context_.device);
    detail::MessageAccess::set_user_data(message, incoming.user_data);
    detail::MessageAccess::set_outcome(message, outcome);
  } else {
    detail::MessageAccess::set_view(message, Operation::active_message, incoming.peer,
                                    static_cast<std::uint32_t>(incoming.word), incoming.buffer,
                                    incoming.wanted, nullptr, 0);
    detail::MessageAccess::set_owner(message, incoming.owner, 0);
    detail::MessageAccess::set_came_by(message, incoming.word, context_.device);
    incoming.buffer = nullptr;
    completion = context_.exposures.find(incoming.word);
    if (completion == nullptr) {  // withdrawn meanwhile; the message releases the buffer
      context_.counters.refused_handles.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  // A receive with an empty buffer ends inside its post.
  context_.ends.signal(*completion, message);
}

void RendezvousReceiver::lose(Incoming& incoming) noexcept {
  admission_.less_to_fetch(incoming, incoming.wanted - incoming.received.load(std::memory_order_relaxed));
  if (incoming.is_receive)
    deliver(incoming, Outcome::peer_failed);
  else
    incoming.owner->release(incoming.buffer, incoming.rts.size, 0);
  transfers_.free(incoming);
}

/// Fragments that arrive meanwhile find the state entered.
void RendezvousReceiver::complete_lost(const std::atomic<bool>* is_over) noexcept {
  for (Incoming& incoming : transfers_.records()) {
    const Incoming::State state = incoming.state.load(std::memory_order_relaxed);
    const bool is_waiting = state == Incoming::State::waiting || state == Incoming::State::needs_memory;
    const bool is_opened = state == Incoming::State::opened;
    if (!is_waiting && !is_opened && state != Incoming::State::receiving) continue;
    const int peer = incoming.peer.load(std::memory_order_relaxed);
    if (!is_lost(context_, peer, is_over)) continue;
    // The thread that continues the device forgets what waits.
    if (is_waiting)
      admission_.look_again(peer);
    else if (is_opened)
      lose_landing(incoming, peer);
    else if (flow_control_.take_out(incoming, peer))
      lose(incoming);
  }
}

WEFT_READS_RACILY void RendezvousReceiver::mark_forgotten(int peer, const Cancel& cancel) noexcept {
  for (Incoming& incoming : transfers_.records()) {
    const std::uint32_t generation = incoming.generation.load(std::memory_order_acquire);
    const Incoming::State state = incoming.state.load(std::memory_order_acquire);
    if ((state != Incoming::State::waiting && state != Incoming::State::needs_memory) ||
        incoming.peer.load(std::memory_order_relaxed) != peer)
      continue;
    const std::uint32_t request_index = concurrent::racy_read(incoming.rts.request.index);
    const std::uint32_t request_generation = concurrent::racy_read(incoming.rts.request.generation);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (request_index == cancel.request.index && request_generation == cancel.request.generation &&
        incoming.generation.load(std::memory_order_relaxed) == generation) {
      incoming.cancelled.store(generation, std::memory_order_relaxed);
      // Pairs with the exchange in look_at_waiting().
      admission_.look_again(peer);
    }
  }
}

void RendezvousReceiver::confirm_cancel(Incoming& incoming, int peer, const Cancel& cancel) noexcept {
  incoming.peer.store(peer, std::memory_order_relaxed);
  incoming.rts = {0, 0, cancel.request, cancel.device, 0, 0};
  incoming.wanted = 0;
  incoming.buffer = nullptr;
  incoming.is_receive = false;
  incoming.parts = {};
  incoming.state.store(Incoming::State::forgotten, std::memory_order_relaxed);
  begin(incoming);
}

}  // namespace weft::core
