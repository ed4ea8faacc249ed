// Payloads that the network of the sender puts into the receiver's buffer: the receiver opens a landing there
// and names it to the sender (ClearToPut), whose put brings the name back. So no put meets memory that is not
// meant for it, and the payload's arrival needs no further message.
#include "concurrent/racy_read.hpp"
#include "core/protocol/rendezvous/landing_name.hpp"
#include "core/protocol/rendezvous/rendezvous_receiver.hpp"
#include "core/protocol/rendezvous/rendezvous_sender.hpp"

#include <cstring>

namespace weft::core {

using network::AccessResult;
using network::SendResult;

Step RendezvousReceiver::open_landing(Incoming& incoming, Caller caller) noexcept {
  const int peer = incoming.peer.load(std::memory_order_relaxed);
  if (!incoming.landing.is_open()) {
    incoming.landing = context_.port->open_landing(peer, {incoming.buffer, incoming.wanted});
    if (!incoming.landing.is_open()) {
      ask_instead(incoming, "is not put here, as no landing can be opened");
      return Step::moved;
    }
    landing_.fetch_add(1, std::memory_order_relaxed);
  }
  const ClearToPut clear{incoming.rts.request,
                         {incoming.index, incoming.generation.load(std::memory_order_relaxed)},
                         incoming.wanted,
                         incoming.landing.address,
                         incoming.landing.key,
                         context_.device,
                         0};
  // Before the call: another thread may learn of the put before it returns. Pairs with the acquires of the
  // threads that end it.
  incoming.state.store(Incoming::State::opened, std::memory_order_release);
  const SendResult sent =
      context_.port->send(answer_to(incoming, Channel::clear_to_put), bytes_of(clear), caller);
  if (sent == SendResult::sent) return Step::finished;
  if (sent == SendResult::peer_left) {  // without having been told of the landing: it can be closed
    lose_landing(incoming, peer);
    return Step::finished;
  }
  return leave_opened(incoming, Incoming::State::opening) ? Step::idle : Step::finished;
}

/// Returns false when another thread has ended what was opened.
bool RendezvousReceiver::leave_opened(Incoming& incoming, Incoming::State to) noexcept {
  for (auto state = Incoming::State::opened; !incoming.state.compare_exchange_weak(
           state, to, std::memory_order_acquire, std::memory_order_relaxed);) {
    // The state entered is temporary: lose_landing() soon leaves it.
    if (state != Incoming::State::opened && state != Incoming::State::entered) return false;
    state = Incoming::State::opened;
  }
  return true;
}

void RendezvousReceiver::landed(std::uint64_t name, std::size_t bytes, network::Sink& sink) noexcept {
  const std::uint32_t index = index_of_landing(name);
  Incoming* const incoming = transfers_.records().find(index);
  const bool is_meant =
      incoming != nullptr &&
      names_landing(name, bytes, {index, incoming->generation.load(std::memory_order_acquire)});
  if (!is_meant || !leave_opened(*incoming, Incoming::State::put))
    return sink.reject(context_.rank, "put into an unknown landing", name);
  counts_.working.fetch_add(1, std::memory_order_relaxed);
  transfers_.advance(*incoming);
}

void RendezvousReceiver::close_landing(Incoming& incoming) noexcept {
  context_.port->close_landing(incoming.peer.load(std::memory_order_relaxed), incoming.landing);
  incoming.landing = {};
  // Pairs with the acquire in landing().
  landing_.fetch_sub(1, std::memory_order_release);
}

Step RendezvousReceiver::end_landing(Incoming& incoming) noexcept {
  close_landing(incoming);
  admission_.less_to_fetch(incoming, incoming.wanted);
  context_.count(&DeviceCounts::large_bytes_read, incoming.wanted);
  deliver(incoming);
  transfers_.free(incoming);
  return Step::finished;
}

void RendezvousReceiver::lose_landing(Incoming& incoming, int peer) noexcept {
  if (incoming.peer.load(std::memory_order_relaxed) != peer ||
      !leave_opened(incoming, Incoming::State::entered))
    return;
  // The record may have been reused for another peer in between.
  if (incoming.peer.load(std::memory_order_relaxed) != peer)
    return incoming.state.store(Incoming::State::opened, std::memory_order_release);
  incoming.state.store(Incoming::State::lost, std::memory_order_relaxed);
  close_landing(incoming);
  lose(incoming);
}

void RendezvousSender::on_clear_to_put(const Message& arrival, network::Sink& sink) noexcept {
  ClearToPut clear{};
  if (arrival.size() != sizeof clear)
    return sink.reject(arrival.peer(), "clear to put of a wrong length", arrival.size());
  std::memcpy(&clear, arrival.data(), sizeof clear);
  if (clear.device >= detail::DevicePath::kMaxDevices)
    return sink.reject(arrival.peer(), "clear to put from a device out of range", clear.device);
  const auto [request, before] = hold_request(clear.request, arrival.peer());
  if (request == nullptr)
    return sink.reject(arrival.peer(), "clear to put an unknown large message", clear.request.index);
  const bool is_valid = before == Request::State::announced && request->offer.key != 0 && clear.size != 0 &&
                        clear.size <= request->size;
  if (is_valid) {
    request->is_put = true;
    request->transfer_device = static_cast<std::uint8_t>(clear.device);
    request->wanted = clear.size;
    request->landing = {clear.address, clear.key, landing_name(clear.transfer), request->transfer_device};
  }
  request->state.let_go(is_valid ? Request::State::streaming : before);
  if (!is_valid)
    return sink.reject(arrival.peer(), "clear to put more bytes than were offered, or none", clear.size);
  counts_.working.fetch_add(1, std::memory_order_relaxed);
  streaming_.add(*request);
}

Step RendezvousSender::put(Request& request) noexcept {
  const std::uint64_t token = kPutToken | word_of({request.index, request.state.generation()});
  // After the call another thread may have ended the request.
  const int peer = request.peer.load(std::memory_order_relaxed);
  switch (context_.port->land(peer, request.landing, {request.data, request.wanted}, request.offer, token)) {
    case AccessResult::posted:  // put_completed() continues
      return Step::finished;
    case AccessResult::done:
      put_completed(token, Outcome::ok);
      return Step::finished;
    case AccessResult::no_slot:
    case AccessResult::lock_contended:
    case AccessResult::not_ready:
      if (!context_.port->has_left(peer)) return Step::idle;
      [[fallthrough]];
    case AccessResult::peer_left:
    case AccessResult::refused:
    case AccessResult::unsupported:
      put_completed(token, Outcome::peer_failed);
      return Step::finished;
  }
  return Step::finished;
}

void RendezvousSender::put_completed(std::uint64_t token, Outcome outcome) noexcept {
  const RequestName name = name_of(token & ~kPutToken);
  Request& request = requests_[name.index];
  if (request.state.generation() != name.generation) return;  // it has ended otherwise
  request.state.end_streaming();
  end(request, outcome);
}

WEFT_READS_RACILY bool RendezvousSender::is_putting() const noexcept {
  for (const Request& request : requests_)
    if (request.state.load() == Request::State::streaming && concurrent::racy_read(request.is_put))
      return true;
  return false;
}

}  // namespace weft::core
