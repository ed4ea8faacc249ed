// What peers answer to announced payloads, and the fragments that they ask for.
#include "base/memory/bulk_copy.hpp"
#include "core/protocol/message_class.hpp"
#include "core/protocol/rendezvous/rendezvous_sender.hpp"

#include <algorithm>
#include <cstring>

namespace weft::core {

using network::Outgoing;
using network::SendResult;

namespace {

constexpr int kFragmentsPerStep = 8;

}  // namespace

HeldRequest RendezvousSender::hold_request(RequestName name, int peer) noexcept {
  Request* const request = requests_.find(name.index);
  if (request == nullptr) return {};
  const Request::State before = request->state.hold(name.generation);
  if (before == Request::State::free) return {};
  if (request->peer == peer) return {request, before};
  request->state.let_go(before);
  return {};
}

RendezvousRequest* RendezvousSender::take_answered(const Message& arrival, network::Sink& sink) noexcept {
  RequestName name{};
  if (arrival.size() != sizeof name) {
    sink.reject(arrival.peer(), "end of a large message of a wrong length", arrival.size());
    return nullptr;
  }
  std::memcpy(&name, arrival.data(), sizeof name);
  if (const auto [request, before] = hold_request(name, arrival.peer()); request != nullptr) {
    request->state.let_go(before == Request::State::announced ? Request::State::ended : before);
    if (before == Request::State::announced) return request;
  }
  sink.reject(arrival.peer(), "end of an unknown large message", name.index);
  return nullptr;
}

void RendezvousSender::on_fin(const Message& arrival, network::Sink& sink) noexcept {
  if (Request* request = take_answered(arrival, sink); request != nullptr) end(*request, Outcome::ok);
}

void RendezvousSender::on_refused(const Message& arrival, network::Sink& sink) noexcept {
  Request* const request = take_answered(arrival, sink);
  if (request == nullptr) return;
  // A send whose receiver drops it has done what it could: nobody was promised that it is received.
  const bool is_done = request->operation == Operation::send && !request->is_synchronous;
  end(*request, is_done ? Outcome::ok : Outcome::refused);
}

void RendezvousSender::on_cancelled(const Message& arrival, bool has_failures, network::Sink& sink) noexcept {
  if (Request* request = take_answered(arrival, sink); request != nullptr)
    end(*request, has_failures && request->needs_all_ranks && is_given_up(request->engine, request->tag)
                      ? Outcome::peer_failed
                      : Outcome::timed_out);
}

void RendezvousSender::on_cts(const Message& arrival, network::Sink& sink) noexcept {
  Cts clear{};
  if (arrival.size() != sizeof clear)
    return sink.reject(arrival.peer(), "CTS of a wrong length", arrival.size());
  std::memcpy(&clear, arrival.data(), sizeof clear);
  if (clear.device >= detail::DevicePath::kMaxDevices)
    return sink.reject(arrival.peer(), "CTS from a device out of range", clear.device);
  const auto [request, before] = hold_request(clear.request, arrival.peer());
  if (request == nullptr) {
    // Where messages overtake each other a grant may arrive when a later one has been used up.
    if (clear.granted < clear.size) return;
    return sink.reject(arrival.peer(), "CTS for an unknown large message", clear.request.index);
  }
  if (clear.size == 0 || clear.size > request->size || clear.granted > clear.size) {
    request->state.let_go(before);
    return sink.reject(arrival.peer(), "CTS for more bytes than were announced, or none", clear.size);
  }
  // The thread that streams reads the grant meanwhile; only holders write it.
  if (request->granted.load(std::memory_order_relaxed) < clear.granted)
    request->granted.store(clear.granted, std::memory_order_relaxed);
  if (before == Request::State::announced) {
    request->transfer = clear.transfer;
    request->transfer_device = static_cast<std::uint8_t>(clear.device);
    request->wanted = clear.size;
  }
  request->state.let_go(Request::State::streaming);
  if (before == Request::State::streaming) return;
  counts_.working.fetch_add(1, std::memory_order_relaxed);
  streaming_.add(*request);
}

Step RendezvousSender::stream(Request& request, Caller caller) noexcept {
  const Outgoing outgoing{request.peer,
                          request.transfer_device,
                          traffic_of_data(request.message_class),
                          static_cast<std::uint8_t>(Channel::rendezvous_data),
                          false,
                          word_of(request.transfer)};
  const auto finish = [&](Outcome outcome) {
    request.state.end_streaming();
    end(request, outcome);
    return Step::finished;
  };
  Step result = Step::idle;
  for (int count = 0; count < kFragmentsPerStep; ++count) {
    if (!request.packet) {
      // The peer's grant is only a number that it sent: the buffer ends at `wanted`.
      const std::size_t granted = std::min(request.granted.load(std::memory_order_relaxed), request.wanted);
      if (request.sent < granted)
        request.packet = request.message_class == MessageClass::control ? context_.pool.get()
                                                                        : context_.pool.get_for_fragment();
      if (!request.packet) {
        if (!context_.port->has_left(request.peer)) return result;
        return finish(Outcome::peer_failed);
      }
      // The header uses the room behind the packet's size.
      static_assert(sizeof(DataHeader) <= network::Network::kPacketTrailer);
      const DataHeader fragment{request.sent, std::min(granted - request.sent, request.packet.capacity())};
      std::memcpy(request.packet.data(), &fragment, sizeof fragment);
      std::byte* const to = request.packet.data() + sizeof fragment;
      if (request.gather.has_parts())
        request.gather.copy(to, fragment.size);
      else
        base::copy_bulk(to, request.data + request.sent, fragment.size);
      request.packet_size = fragment.size;
    }
    const SendResult sent = context_.port->send_packet(outgoing, request.packet.index(),
                                                       request.packet_size + sizeof(DataHeader), caller);
    if (sent == SendResult::peer_left) return finish(Outcome::peer_failed);
    if (sent != SendResult::sent) return result;
    request.packet.release();
    request.sent += request.packet_size;
    result = Step::moved;
    if (request.sent == request.wanted) return finish(Outcome::ok);
  }
  return result;
}

std::size_t RendezvousSender::step(Caller caller) noexcept {
  return streaming_.run(counts_.working, [&](Request& request) {
    return request.is_put ? put(request) : stream(request, caller);
  });
}

}  // namespace weft::core
