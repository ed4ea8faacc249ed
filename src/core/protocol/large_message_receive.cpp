// The receiver's half of large messages.
#include "core/protocol/large_message_records.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <cstring>

namespace weft::core {

using network::Outgoing;
using network::SendResult;
using network::TrafficClass;

namespace {

constexpr std::uint64_t kLargestMessage = std::uint64_t{1} << 62;
constexpr std::size_t kReadPerStep = std::size_t{1} << 20;  // so that other messages are served in between

}  // namespace

LargeMessages::~LargeMessages() {
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    Incoming& incoming = incoming_[index];
    if (incoming.state.load(std::memory_order_acquire) != Incoming::State::free && incoming.buffer != nullptr)
      incoming.owner->release(incoming.buffer, incoming.announcement.size, 0);
  }
}

Outgoing LargeMessages::answer(const Incoming& incoming, Channel channel) const noexcept {
  return {incoming.peer,
          static_cast<std::uint8_t>(incoming.announcement.device),
          TrafficClass::control,
          static_cast<std::uint8_t>(channel),
          false,
          0};
}

bool LargeMessages::on_announcement(std::uint64_t word, const Message& arrival,
                                    network::Sink& sink) noexcept {
  LargeMessage announcement{};
  if (arrival.size() != sizeof announcement) {
    sink.reject(arrival.peer(), "announcement of a wrong length", arrival.size());
    return true;
  }
  std::memcpy(&announcement, arrival.data(), sizeof announcement);
  // Allocators may round sizes up: beyond this limit that could wrap round to a small buffer.
  if (announcement.size > kLargestMessage) {
    sink.reject(arrival.peer(), "announcement of more bytes than a message can have", announcement.size);
    return true;
  }
  if (announcement.device >= detail::DevicePath::kMaxDevices) {
    sink.reject(arrival.peer(), "announcement from a device out of range", announcement.device);
    return true;
  }
  const std::uint32_t index = free_incoming_.take();
  if (index == concurrent::IndexPool<>::kNone) return false;
  Incoming& incoming = incoming_[index];
  incoming.peer = arrival.peer();
  incoming.announcement = announcement;
  incoming.word = word;
  incoming.buffer = nullptr;
  incoming.read = 0;
  incoming.received.store(0, std::memory_order_relaxed);
  incoming.state.store(Incoming::State::needs_memory, std::memory_order_relaxed);
  working_.fetch_add(1, std::memory_order_relaxed);
  ready_incoming_.put(incoming);
  return true;
}

LargeMessages::Step LargeMessages::find_memory(Incoming& incoming) noexcept {
  Completion* completion = context_.exposures.find(incoming.word);
  if (completion == nullptr) {
    const std::uint64_t count = context_.counters.refused_handles.fetch_add(1, std::memory_order_relaxed) + 1;
    if (is_reported(count))
      context_.log.warn("refused a large message from rank " + std::to_string(incoming.peer) +
                        ": its handle is stale, withdrawn or forged (" + std::to_string(count) + " so far)");
    incoming.state.store(Incoming::State::answering, std::memory_order_relaxed);
    return Step::moved;
  }
  incoming.owner = &completion->allocator();
  incoming.buffer = incoming.owner->allocate(incoming.announcement.size);
  if (incoming.buffer == nullptr) return Step::idle;
  incoming.state.store(
      context_.transfer == Transfer::read ? Incoming::State::reading : Incoming::State::asking,
      std::memory_order_relaxed);
  return Step::moved;
}

LargeMessages::Step LargeMessages::advance(Incoming& incoming, bool exclusive) noexcept {
  switch (incoming.state.load(std::memory_order_relaxed)) {
    case Incoming::State::needs_memory:
      return find_memory(incoming);
    case Incoming::State::reading: {
      const std::size_t count = std::min(incoming.announcement.size - incoming.read, kReadPerStep);
      if (!context_.port->read(incoming.peer, incoming.announcement.address + incoming.read,
                               {incoming.buffer + incoming.read, count})) {
        // Not allowed between these processes, or the peer is gone: let the peer stream it instead.
        incoming.state.store(Incoming::State::asking, std::memory_order_relaxed);
        return Step::moved;
      }
      incoming.read += count;
      if (incoming.read < incoming.announcement.size) return Step::moved;
      // The answer first: the sender does not wait for what the delivery does.
      incoming.state.store(Incoming::State::answering, std::memory_order_relaxed);
      const Step answered = send_answer(incoming, exclusive);
      deliver(incoming);
      if (answered == Step::finished) free(incoming);
      return answered == Step::finished ? answered : Step::moved;
    }
    case Incoming::State::asking: {
      const ClearToSend clear{incoming.announcement.request,
                              {incoming.index, incoming.generation.load(std::memory_order_relaxed)}};
      // Before the send: chunks may arrive, and end the transfer, before it returns.
      incoming.state.store(Incoming::State::receiving, std::memory_order_release);
      const SendResult sent =
          context_.port->send(answer(incoming, Channel::clear_to_send), bytes_of(clear), exclusive);
      if (sent == SendResult::sent) return Step::finished;
      incoming.state.store(Incoming::State::asking, std::memory_order_relaxed);
      if (sent != SendResult::peer_gone) return Step::idle;
      incoming.owner->release(incoming.buffer, incoming.announcement.size, 0);
      free(incoming);
      return Step::finished;
    }
    case Incoming::State::answering: {
      const Step answered = send_answer(incoming, exclusive);
      if (answered == Step::finished) free(incoming);
      return answered;
    }
    case Incoming::State::free:
    case Incoming::State::receiving:
      break;
  }
  return Step::finished;
}

LargeMessages::Step LargeMessages::send_answer(const Incoming& incoming, bool exclusive) noexcept {
  const SendResult sent = context_.port->send(answer(incoming, Channel::finished),
                                              bytes_of(incoming.announcement.request), exclusive);
  return sent == SendResult::sent || sent == SendResult::peer_gone ? Step::finished : Step::idle;
}

void LargeMessages::on_chunk(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept {
  const RequestName name = name_of(word);
  Chunk chunk{};
  if (arrival.size() < sizeof chunk)
    return sink.reject(arrival.peer(), "chunk of a wrong length", arrival.size());
  std::memcpy(&chunk, arrival.data(), sizeof chunk);
  if (name.index >= context_.requests)
    return sink.reject(arrival.peer(), "chunk of an unknown transfer", name.index);
  Incoming& incoming = incoming_[name.index];
  if (incoming.generation.load(std::memory_order_acquire) != name.generation ||
      incoming.peer != arrival.peer() ||
      incoming.state.load(std::memory_order_acquire) != Incoming::State::receiving)
    return sink.reject(arrival.peer(), "chunk of an unknown transfer", name.index);
  const std::size_t size = incoming.announcement.size;
  if (chunk.size != arrival.size() - sizeof chunk || chunk.offset > size ||
      chunk.size > size - chunk.offset ||
      chunk.size > size - incoming.received.load(std::memory_order_relaxed))
    return sink.reject(arrival.peer(), "chunk outside its transfer", chunk.offset);
  std::memcpy(incoming.buffer + chunk.offset, arrival.data() + sizeof chunk, chunk.size);
  if (incoming.received.fetch_add(chunk.size, std::memory_order_acq_rel) + chunk.size == size) {
    deliver(incoming);
    free(incoming);
  }
}

void LargeMessages::deliver(Incoming& incoming) noexcept {
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message, incoming.peer,
                                  static_cast<std::uint32_t>(incoming.word), incoming.buffer,
                                  incoming.announcement.size, nullptr, 0);
  detail::MessageAccess::set_owner(message, incoming.owner, 0);
  incoming.buffer = nullptr;
  Completion* completion = context_.exposures.find(incoming.word);
  if (completion != nullptr)
    completion->signal(message);
  else  // withdrawn meanwhile; the message gives the buffer back
    context_.counters.refused_handles.fetch_add(1, std::memory_order_relaxed);
}

void LargeMessages::free(Incoming& incoming) noexcept {
  incoming.state.store(Incoming::State::free, std::memory_order_relaxed);
  incoming.generation.fetch_add(1, std::memory_order_release);
  free_incoming_.put(incoming.index);
}

}  // namespace weft::core
