// Rendezvous: by which way the payload of a transfer comes, and what is learned from that (attribute
// rendezvous=auto).
#include "base/clock.hpp"
#include "core/protocol/rendezvous/records.hpp"

namespace weft::core {

void Rendezvous::set_fetching(Incoming& incoming) noexcept {
  auto state = Incoming::State::asking;
  if (context_.transfer != Transfer::copy && incoming.rts.address != 0) {
    const int sender = incoming.peer.load(std::memory_order_relaxed);
    const auto& peer = context_.port->peer_capabilities(sender);
    if (peer.can_fetch && incoming.rts.key != 0 && incoming.parts.empty()) {
      state = Incoming::State::fetching;
    } else if (peer.can_read && context_.transfer == Transfer::read) {
      state = Incoming::State::reading;
    } else if (peer.can_read && incoming.parts.empty() && incoming.wanted >= LearnedWays::kLeastBytes) {
      incoming.is_learned = true;
      incoming.way = ways_->begin(sender, incoming.wanted);
      if (incoming.way == Way::read) state = Incoming::State::reading;
    }
  }
  incoming.state.store(state, std::memory_order_relaxed);
}

void Rendezvous::start_time(Incoming& incoming) noexcept {
  if (incoming.is_learned) incoming.started = base::now_ns();
}

void Rendezvous::learn(Incoming& incoming, LearnedWays::End how) noexcept {
  if (!incoming.is_learned) return;
  incoming.is_learned = false;
  ways_->end(incoming.peer.load(std::memory_order_relaxed), incoming.wanted, incoming.way, how,
             incoming.started, how == LearnedWays::End::whole ? base::now_ns() : 0);
}

}  // namespace weft::core
