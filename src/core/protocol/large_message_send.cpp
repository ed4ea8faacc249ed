// The sender's half of large messages.
#include "core/protocol/large_message_records.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <cstring>

namespace weft::core {

using network::Outgoing;
using network::SendResult;
using network::TrafficClass;

namespace {

constexpr int kChunksPerStep = 8;

}  // namespace

LargeMessages::LargeMessages(const Context& context)
    : context_(context),
      free_requests_(context.requests),
      free_incoming_(context.requests),
      requests_(new Request[context.requests]),
      incoming_(new Incoming[context.requests]) {
  for (std::uint32_t index = 0; index < context.requests; ++index) {
    requests_[index].index = index;
    incoming_[index].index = index;
  }
}

LargeMessages::Start LargeMessages::start(int peer, RemoteCompletion remote, Bytes bytes,
                                          const ActiveMessageOptions& options, bool exclusive,
                                          SendResult& result) noexcept {
  const std::uint32_t index = free_requests_.take();
  if (index == concurrent::IndexPool<>::kNone) return Start::no_request;
  Request& request = requests_[index];
  request.peer = peer;
  request.device = remote.device();
  request.tag = options.tag;
  request.data = bytes.data();
  request.size = bytes.size();
  request.completion = options.completion;
  request.user_data = options.user_data;
  request.sent = 0;
  request.state.store(Request::State::announced, std::memory_order_release);
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  const LargeMessage announcement{reinterpret_cast<std::uint64_t>(bytes.data()),
                                  bytes.size(),
                                  {index, request.generation.load(std::memory_order_relaxed)},
                                  context_.device};
  const Outgoing outgoing{peer,
                          remote.device(),
                          TrafficClass::data,
                          static_cast<std::uint8_t>(Channel::large_message),
                          true,
                          detail::handle_word(remote, options.tag)};
  result = context_.port->send(outgoing, bytes_of(announcement), exclusive);
  if (result == SendResult::sent) return Start::started;
  // Another thread may have ended it meanwhile because the peer is gone: then it is over, and was signalled.
  auto expected = Request::State::announced;
  if (!request.state.compare_exchange_strong(expected, Request::State::free)) return Start::started;
  outstanding_.fetch_sub(1, std::memory_order_relaxed);
  free_requests_.put(index);
  return Start::refused;
}

LargeMessages::Request* LargeMessages::find_request(RequestName name, int peer) noexcept {
  if (name.index >= context_.requests) return nullptr;
  Request& request = requests_[name.index];
  if (request.generation.load(std::memory_order_acquire) != name.generation || request.peer != peer)
    return nullptr;
  return &request;
}

void LargeMessages::end(Request& request, Outcome outcome) noexcept {
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message_sent, request.peer, request.tag,
                                  request.data, request.size, nullptr, 0);
  detail::MessageAccess::set_user_data(message, request.user_data);
  detail::MessageAccess::set_outcome(message, outcome);
  Completion* completion = request.completion;
  request.packet.reset();
  request.state.store(Request::State::free, std::memory_order_relaxed);
  request.generation.fetch_add(1, std::memory_order_release);
  free_requests_.put(request.index);
  if (completion != nullptr)
    completion->signal(message);
  else if (outcome != Outcome::ok)
    context_.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
  outstanding_.fetch_sub(1, std::memory_order_release);
}

void LargeMessages::on_finished(const Message& arrival, network::Sink& sink) noexcept {
  RequestName name{};
  if (arrival.size() != sizeof name)
    return sink.reject(arrival.peer(), "end of a large message of a wrong length", arrival.size());
  std::memcpy(&name, arrival.data(), sizeof name);
  Request* request = find_request(name, arrival.peer());
  auto expected = Request::State::announced;
  if (request == nullptr || !request->state.compare_exchange_strong(expected, Request::State::ended))
    return sink.reject(arrival.peer(), "end of an unknown large message", name.index);
  end(*request, Outcome::ok);
}

void LargeMessages::on_clear_to_send(const Message& arrival, network::Sink& sink) noexcept {
  ClearToSend clear{};
  if (arrival.size() != sizeof clear)
    return sink.reject(arrival.peer(), "clear-to-send of a wrong length", arrival.size());
  std::memcpy(&clear, arrival.data(), sizeof clear);
  Request* request = find_request(clear.request, arrival.peer());
  auto expected = Request::State::announced;
  if (request == nullptr || !request->state.compare_exchange_strong(expected, Request::State::streaming))
    return sink.reject(arrival.peer(), "clear-to-send for an unknown large message", clear.request.index);
  request->transfer = clear.transfer;
  working_.fetch_add(1, std::memory_order_relaxed);
  ready_requests_.put(*request);
}

LargeMessages::Step LargeMessages::stream(Request& request, bool exclusive) noexcept {
  const Outgoing outgoing{request.peer,
                          request.device,
                          TrafficClass::control,
                          static_cast<std::uint8_t>(Channel::chunk),
                          false,
                          word_of(request.transfer)};
  Step result = Step::idle;
  for (int count = 0; count < kChunksPerStep; ++count) {
    if (!request.packet) {
      request.packet = context_.pool.get();
      if (!request.packet) return result;
      const Chunk chunk{request.sent,
                        std::min(request.size - request.sent, request.packet.capacity() - sizeof(Chunk))};
      std::memcpy(request.packet.data(), &chunk, sizeof chunk);
      std::memcpy(request.packet.data() + sizeof chunk, request.data + request.sent, chunk.size);
      request.packet_size = chunk.size;
    }
    const SendResult sent = context_.port->send_packet(outgoing, request.packet.index(),
                                                       request.packet_size + sizeof(Chunk), exclusive);
    if (sent == SendResult::peer_gone) {
      end(request, Outcome::peer_failed);
      return Step::finished;
    }
    if (sent != SendResult::sent) return result;
    request.packet.release();
    request.sent += request.packet_size;
    result = Step::moved;
    if (request.sent == request.size) {
      end(request, Outcome::ok);
      return Step::finished;
    }
  }
  return result;
}

void LargeMessages::end_lost_operations() noexcept {
  if (outstanding() == 0) return;
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    Request& request = requests_[index];
    if (request.state.load(std::memory_order_acquire) != Request::State::announced) continue;
    if (!context_.port->gone(request.peer)) continue;
    auto expected = Request::State::announced;
    if (request.state.compare_exchange_strong(expected, Request::State::ended))
      end(request, Outcome::peer_failed);
  }
}

std::size_t LargeMessages::step(bool exclusive) noexcept {
  std::size_t moved = 0;
  const auto run = [&](auto*& active, auto& intake, const auto& advance_one) {
    for (auto* item = intake.take_all(); item != nullptr;) {
      auto* next = item->next;
      item->next = active;
      active = item;
      item = next;
    }
    for (auto** link = &active; *link != nullptr;) {
      auto* item = *link;
      auto* next = item->next;
      const Step result = advance_one(*item);
      moved += result == Step::idle ? 0 : 1;
      if (result == Step::finished) {
        *link = next;
        working_.fetch_sub(1, std::memory_order_relaxed);
      } else {
        link = &item->next;
      }
    }
  };
  run(streaming_, ready_requests_, [&](Request& request) { return stream(request, exclusive); });
  run(advancing_, ready_incoming_, [&](Incoming& incoming) { return advance(incoming, exclusive); });
  return moved;
}

}  // namespace weft::core
