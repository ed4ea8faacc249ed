// Announces payloads, and ends their requests.
#include "core/protocol/rendezvous/rendezvous_sender.hpp"
#include "core/protocol/message_class.hpp"

#include <weft/detail/message_access.hpp>

#include <cstring>
#include <string>

namespace weft::core {

using network::Outgoing;
using network::SendResult;

namespace {

constexpr const char* kTracedSend = "large message to a peer";

}  // namespace

RendezvousSender::RendezvousSender(const Context& context, RendezvousCounts& counts)
    : context_(context), counts_(counts), requests_(context.requests, "large messages to peers") {}

std::uint32_t RendezvousSender::reserve(const Outbound& outbound, bool offers) noexcept {
  Request* const taken = requests_.take();
  if (taken == nullptr) return kNoRequest;
  Request& request = *taken;
  request.size = outbound.parts.empty() ? outbound.bytes.size() : outbound.parts_size;
  request.data = outbound.parts.empty() ? outbound.bytes.data() : nullptr;
  // Without a completion object the poster does not learn when its buffers are free: they are not borrowed.
  const bool is_copied = outbound.completion == nullptr;
  if (is_copied) request.data = request.gather.stage(outbound.bytes, outbound.parts, request.size);
  if (is_copied ? request.data == nullptr
                : !outbound.parts.empty() && !request.gather.assign(outbound.parts)) {
    requests_.put(request);
    return kNoRequest;
  }
  request.peer = outbound.peer;
  request.transfer_device = outbound.device;
  request.engine = outbound.trailer != nullptr ? outbound.trailer->engine : std::uint16_t{0};
  request.operation = outbound.operation;
  request.tag = outbound.tag;
  request.completion = outbound.completion;
  detail::NamedCompletion::note_named_by(outbound.completion, context_.device_number);
  request.user_data = outbound.user_data;
  request.message_class = outbound.message_class;
  request.needs_all_ranks = outbound.needs_all_ranks;
  request.is_synchronous = outbound.is_synchronous;
  if (outbound.packet != nullptr) request.payload = std::move(*outbound.packet);
  // A list of buffers is not offered: the receiver asks for its bytes in order.
  offers = offers && request.data != nullptr && context_.transfer != Transfer::copy;
  request.offer = offers ? context_.port->offer(outbound.peer, {request.data, request.size}, outbound.region)
                         : network::Offer{};
  announce(request);
  return request.index;
}

std::uint32_t RendezvousSender::reserve_staged(int peer, std::size_t size, std::byte*& staged) noexcept {
  Request* const taken = requests_.take();
  if (taken == nullptr) return kNoRequest;
  Request& request = *taken;
  staged = request.gather.stage(size);
  if (staged == nullptr) {
    requests_.put(request);
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
  request.is_synchronous = false;
  request.offer = {};
  announce(request);
  return request.index;
}

void RendezvousSender::announce(Request& request) noexcept {
  request.granted.store(0, std::memory_order_relaxed);
  request.sent = 0;
  request.is_put = false;
  context_.trace(TraceEvent::Phase::begin, kTracedSend, request.peer, request.size, request.index);
  request.state.announce();
  counts_.outstanding.fetch_add(1, std::memory_order_relaxed);
  sending_.fetch_add(1, std::memory_order_relaxed);
}

const std::byte* RendezvousSender::copy_of_request(std::uint32_t index) const noexcept {
  const Request& request = requests_[index];
  return request.completion == nullptr ? request.data : nullptr;
}

RequestName RendezvousSender::name_of_request(std::uint32_t index) const noexcept {
  return {index, requests_[index].state.generation()};
}

bool RendezvousSender::abandon(std::uint32_t index, Packet* packet) noexcept {
  Request& request = requests_[index];
  if (request.state.leave_announced(Request::State::ended) != Request::State::announced) return false;
  if (request.offer.key != 0) context_.port->end_offer(request.peer, request.offer);
  request.gather.clear();
  if (packet != nullptr) *packet = std::move(request.payload);
  context_.trace(TraceEvent::Phase::end, kTracedSend, request.peer, request.size, index, "not announced");
  counts_.outstanding.fetch_sub(1, std::memory_order_relaxed);
  sending_.fetch_sub(1, std::memory_order_relaxed);
  request.state.free();
  requests_.put(request);
  return true;
}

RendezvousSender::Start RendezvousSender::start(const Outbound& outbound, const Context& poster,
                                                Caller caller, SendResult& result) noexcept {
  const std::uint32_t index = reserve(outbound, true);
  if (index == kNoRequest) return Start::no_request;
  Request& request = requests_[index];
  if (request.size > kLargestMessage) [[unlikely]] {  // every receiver would reject it without an answer
    poster.log.error("refused a message of " + std::to_string(request.size) + " bytes to rank " +
                     std::to_string(outbound.peer) + ": one has at most " + std::to_string(kLargestMessage) +
                     " bytes");
    if (request.state.leave_announced(Request::State::ended) == Request::State::announced)
      end(request, Outcome::refused);
    return Start::started;
  }
  // Only this rank can read a list of buffers: the receiver has to ask for the payload by a CTS.
  const Rts rts{reinterpret_cast<std::uint64_t>(request.data),
                request.size,
                name_of_request(index),
                context_.device,
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
  result = poster.port->send(outgoing, {content, size}, caller);
  if (result == SendResult::sent) return Start::started;
  // Another thread may have ended the request meanwhile because the peer has left: then it was signalled.
  return abandon(index, outbound.packet) ? Start::refused : Start::started;
}

void RendezvousSender::end(Request& request, Outcome outcome) noexcept {
  Message message;
  // A packet that was taken over, as a list of buffers, is nothing that the poster could look at.
  const std::byte* const data = request.payload ? nullptr : request.data;
  detail::MessageAccess::set_view(message, request.operation, request.peer, request.tag, data,
                                  data != nullptr ? request.size : 0, nullptr, 0);
  detail::MessageAccess::set_device(message, context_.device);
  detail::MessageAccess::set_user_data(message, request.user_data);
  detail::MessageAccess::set_outcome(message, outcome);
  Completion* completion = request.completion;
  context_.trace(TraceEvent::Phase::end, kTracedSend, request.peer, request.size, request.index,
                 name_of(outcome));
  request.packet.reset();
  request.payload.reset();
  if (request.offer.key != 0) context_.port->end_offer(request.peer, request.offer);
  request.gather.clear();
  request.state.free();
  requests_.put(request);
  if (outcome == Outcome::ok) context_.count(&DeviceCounts::large_sent);
  if (outcome == Outcome::peer_failed) context_.lose(message.peer(), "large message");
  context_.log.in(base::LogModule::protocol).trace([&] {
    return "a large message to rank " + std::to_string(message.peer()) + " ends: " + name_of(outcome);
  });
  if (completion != nullptr)
    completion->signal(message);
  else if (outcome != Outcome::ok)
    context_.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
  counts_.outstanding.fetch_sub(1, std::memory_order_release);
  sending_.fetch_sub(1, std::memory_order_release);  // pairs with the acquire in sending()
}

}  // namespace weft::core
