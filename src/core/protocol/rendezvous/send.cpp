// The sender's half of a rendezvous: from the RTS to the end of the request.
#include "base/memory/bulk_copy.hpp"
#include "core/protocol/message_class.hpp"
#include "core/protocol/rendezvous/payload_device.hpp"
#include "core/protocol/rendezvous/records.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace weft::core {

using network::Outgoing;
using network::SendResult;

namespace {

constexpr int kFragmentsPerStep = 8;
constexpr const char* kTracedSend = "large message to a peer";

}  // namespace

Rendezvous::Rendezvous(const Context& context)
    : context_(context),
      free_requests_(context.requests),
      free_incoming_(context.requests),
      requests_(new Request[context.requests]),
      incoming_(new Incoming[context.requests]),
      grants_(new Grants[static_cast<std::size_t>(context.ranks)]),
      admissions_(new Admission[static_cast<std::size_t>(context.ranks)]),
      ways_(context.transfer == Transfer::automatic ? new LearnedWays : nullptr) {
  for (std::uint32_t index = 0; index < context.requests; ++index) {
    requests_[index].index = index;
    incoming_[index].index = index;
  }
}

std::uint32_t Rendezvous::reserve(const Outbound& outbound, bool offers) noexcept {
  const std::uint32_t index = free_requests_.take();
  if (index == kNoRequest) return kNoRequest;
  Request& request = requests_[index];
  request.size = outbound.parts.empty() ? outbound.bytes.size() : outbound.parts_size;
  request.data = outbound.parts.empty() ? outbound.bytes.data() : nullptr;
  // Without a completion object the poster does not learn when its buffers are free: they are not borrowed.
  const bool is_copied = outbound.completion == nullptr;
  if (is_copied) request.data = request.gather.stage(outbound.bytes, outbound.parts, request.size);
  if (is_copied ? request.data == nullptr
                : !outbound.parts.empty() && !request.gather.assign(outbound.parts)) {
    free_requests_.put(index);
    return kNoRequest;
  }
  request.peer = outbound.peer;
  request.transfer_device = outbound.device;
  request.engine = outbound.trailer != nullptr ? outbound.trailer->engine : std::uint16_t{0};
  request.operation = outbound.operation;
  request.tag = outbound.tag;
  request.completion = outbound.completion;
  used_requests_.note(index);
  detail::NamedCompletion::note_named_by(outbound.completion, context_.keeper);
  request.user_data = outbound.user_data;
  request.message_class = outbound.message_class;
  request.needs_all_ranks = outbound.needs_all_ranks;
  // A list of buffers is not offered: the receiver asks for its bytes in order.
  offers = offers && request.data != nullptr && context_.transfer != Transfer::copy;
  request.offer =
      offers ? context_.port->offer(outbound.peer, {request.data, request.size}) : network::Offer{};
  request.granted.store(0, std::memory_order_relaxed);
  request.sent = 0;
  context_.trace(TraceEvent::Phase::begin, kTracedSend, request.peer, request.size, index);
  request.state.announce();
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  sending_.fetch_add(1, std::memory_order_relaxed);
  return index;
}

std::uint32_t Rendezvous::reserve_staged(int peer, std::size_t size, std::byte*& staged) noexcept {
  const std::uint32_t index = free_requests_.take();
  if (index == kNoRequest) return kNoRequest;
  Request& request = requests_[index];
  staged = request.gather.stage(size);
  if (staged == nullptr) {
    free_requests_.put(index);
    return kNoRequest;
  }
  request.peer = peer;
  request.operation = Operation::active_message_sent;
  request.tag = 0;
  request.data = staged;
  request.size = size;
  request.completion = nullptr;
  request.user_data = nullptr;
  request.message_class = MessageClass::normal;
  request.needs_all_ranks = false;
  request.offer = {};
  request.granted.store(0, std::memory_order_relaxed);
  request.sent = 0;
  context_.trace(TraceEvent::Phase::begin, kTracedSend, request.peer, request.size, index);
  request.state.announce();
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  sending_.fetch_add(1, std::memory_order_relaxed);
  return index;
}

const std::byte* Rendezvous::copy_of_request(std::uint32_t index) const noexcept {
  const Request& request = requests_[index];
  return request.completion == nullptr ? request.data : nullptr;
}

RequestName Rendezvous::name_of_request(std::uint32_t index) const noexcept {
  return {index, requests_[index].state.generation()};
}

bool Rendezvous::abandon(std::uint32_t index) noexcept {
  Request& request = requests_[index];
  if (request.state.leave_announced(Request::State::ended) != Request::State::announced) return false;
  if (request.offer.key != 0) context_.port->end_offer(request.peer, request.offer);
  request.gather.clear();
  context_.trace(TraceEvent::Phase::end, kTracedSend, request.peer, request.size, index, "not announced");
  outstanding_.fetch_sub(1, std::memory_order_relaxed);
  sending_.fetch_sub(1, std::memory_order_relaxed);
  request.state.free();
  free_requests_.put(index);
  return true;
}

Rendezvous::Start Rendezvous::start(const Outbound& outbound, bool exclusive, SendResult& result) noexcept {
  const PayloadDevice::Visit visit(context_.payloads);
  Rendezvous* const mover = context_.payloads == nullptr ? this : visit.device();
  if (mover == nullptr) {
    result = SendResult::not_ready;
    return Start::refused;
  }
  const std::uint32_t index = mover->reserve(outbound, true);
  if (index == kNoRequest) return Start::no_request;
  Request& request = mover->requests_[index];
  if (request.size > kLargestMessage) [[unlikely]] {  // every receiver would reject it without an answer
    context_.log.error("refused a message of " + std::to_string(request.size) + " bytes to rank " +
                       std::to_string(outbound.peer) + ": one has at most " +
                       std::to_string(kLargestMessage) + " bytes");
    if (request.state.leave_announced(Request::State::ended) == Request::State::announced)
      mover->end(request, Outcome::refused);
    return Start::started;
  }
  // Only this rank can read a list of buffers: the receiver has to ask for the payload by a CTS.
  const Rts rts{reinterpret_cast<std::uint64_t>(request.data),
                request.size,
                mover->name_of_request(index),
                mover->context_.device,
                static_cast<std::uint32_t>(outbound.message_class),
                request.offer.key};
  std::byte content[sizeof rts + sizeof(MatchTrailer)];
  std::memcpy(content, &rts, sizeof rts);
  std::size_t size = sizeof rts;
  if (outbound.trailer != nullptr) {
    std::memcpy(content + size, outbound.trailer, sizeof(MatchTrailer));
    size += sizeof(MatchTrailer);
  }
  const Outgoing outgoing{outbound.peer,
                          outbound.device,
                          traffic_of(outbound.message_class),
                          static_cast<std::uint8_t>(outbound.channel),
                          outbound.channel == Channel::rts,
                          outbound.word};
  result = context_.port->send(outgoing, {content, size}, exclusive);
  if (result == SendResult::sent) return Start::started;
  // Another thread may have ended the request meanwhile because the peer has left: then it was signalled.
  return mover->abandon(index) ? Start::refused : Start::started;
}

Rendezvous::HeldRequest Rendezvous::hold_request(RequestName name, int peer) noexcept {
  if (name.index >= context_.requests) return {};
  Request& request = requests_[name.index];
  const Request::State before = request.state.hold(name.generation);
  if (before == Request::State::free) return {};
  if (request.peer == peer) return {&request, before};
  request.state.let_go(before);
  return {};
}

void Rendezvous::end(Request& request, Outcome outcome) noexcept {
  Message message;
  detail::MessageAccess::set_view(message, request.operation, request.peer, request.tag, request.data,
                                  request.data != nullptr ? request.size : 0, nullptr, 0);
  detail::MessageAccess::set_device(message, context_.device);
  detail::MessageAccess::set_user_data(message, request.user_data);
  detail::MessageAccess::set_outcome(message, outcome);
  Completion* completion = request.completion;
  context_.trace(TraceEvent::Phase::end, kTracedSend, request.peer, request.size, request.index,
                 name_of(outcome));
  request.packet.reset();
  if (request.offer.key != 0) context_.port->end_offer(request.peer, request.offer);
  request.gather.clear();
  request.state.free();
  free_requests_.put(request.index);
  if (outcome == Outcome::ok) context_.count(&DeviceCounts::large_sent);
  if (outcome == Outcome::peer_failed) context_.lose(message.peer(), "large message");
  context_.log.in(base::LogModule::protocol).trace([&] {
    return "a large message to rank " + std::to_string(message.peer()) + " ends: " + name_of(outcome);
  });
  if (completion != nullptr)
    completion->signal(message);
  else if (outcome != Outcome::ok)
    context_.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
  outstanding_.fetch_sub(1, std::memory_order_release);
  sending_.fetch_sub(1, std::memory_order_release);  // pairs with the acquire in sending()
}

Rendezvous::Request* Rendezvous::take_answered(const Message& arrival, network::Sink& sink) noexcept {
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

void Rendezvous::on_fin(const Message& arrival, network::Sink& sink) noexcept {
  if (Request* request = take_answered(arrival, sink); request != nullptr) end(*request, Outcome::ok);
}

void Rendezvous::on_refused(const Message& arrival, network::Sink& sink) noexcept {
  if (Request* request = take_answered(arrival, sink); request != nullptr) end(*request, Outcome::refused);
}

void Rendezvous::on_cts(const Message& arrival, network::Sink& sink) noexcept {
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
  working_.fetch_add(1, std::memory_order_relaxed);
  streaming_.add(*request);
}

Step Rendezvous::stream(Request& request, bool exclusive) noexcept {
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
                                                       request.packet_size + sizeof(DataHeader), exclusive);
    if (sent == SendResult::peer_left) return finish(Outcome::peer_failed);
    if (sent != SendResult::sent) return result;
    request.packet.release();
    request.sent += request.packet_size;
    result = Step::moved;
    if (request.sent == request.wanted) return finish(Outcome::ok);
  }
  return result;
}

bool Rendezvous::is_lost(int peer, const std::atomic<bool>* is_over) const noexcept {
  // Pairs with the release of the thread that has delivered the last message.
  return context_.port->has_left(peer) && is_over[peer].load(std::memory_order_acquire);
}

void Rendezvous::end_lost_operations(const std::atomic<bool>* is_over) noexcept {
  if (!awaits_peers()) return;
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    end_lost(incoming_[index], is_over);
    Request& request = requests_[index];
    const std::uint32_t generation = request.state.generation();
    if (request.state.load() != Request::State::announced || !is_lost(request.peer, is_over)) continue;
    // By now the record may serve another message, or this one be streaming: step() ends it then.
    const Request::State before = request.state.hold(generation);
    if (before == Request::State::free) continue;
    const bool ends = before == Request::State::announced;
    request.state.let_go(ends ? Request::State::ended : before);
    if (ends) end(request, Outcome::peer_failed);
  }
}

std::size_t Rendezvous::step(bool exclusive) noexcept {
  line_up_announced();
  return streaming_.run(working_, [&](Request& request) { return stream(request, exclusive); }) +
         advancing_.run(working_, [&](Incoming& incoming) { return advance(incoming, exclusive); }) +
         admitting_.run(working_, [&](Admission& admission) { return admit(admission); }) +
         granting_.run(working_, [&](Grants& grants) { return grant(grants, exclusive); });
}

}  // namespace weft::core
