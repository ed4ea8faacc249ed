// The receiver's half of large messages.
#include "core/protocol/large_message_records.hpp"
#include "core/protocol/move_out.hpp"
#include "core/protocol/payload_device.hpp"
#include "core/protocol/traffic.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace weft::core {

using network::Outgoing;
using network::SendResult;
using network::TrafficClass;

namespace {

constexpr std::size_t kReadPerStep = std::size_t{1} << 20;  // so that other messages are served in between
constexpr const char* kTracedArrival = "large message of a peer";
constexpr int kPartsPerStep = 64;  // likewise: each is a call of the kernel

}  // namespace

LargeMessages::~LargeMessages() {
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    Incoming& incoming = incoming_[index];
    if (incoming.state.load(std::memory_order_acquire) != Incoming::State::free &&
        incoming.buffer != nullptr && !incoming.is_receive)
      incoming.owner->release(incoming.buffer, incoming.announcement.size, 0);
  }
}

Outgoing LargeMessages::answer(const Incoming& incoming, Channel channel) const noexcept {
  return {incoming.peer.load(std::memory_order_relaxed),
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
  if (announcement.size > kLargestMessage) {
    sink.reject(arrival.peer(), "announcement of more bytes than a message can have", announcement.size);
    return true;
  }
  if (announcement.device >= detail::DevicePath::kMaxDevices) {
    sink.reject(arrival.peer(), "announcement from a device out of range", announcement.device);
    return true;
  }
  if (!is_message_class(announcement.message_class)) {
    sink.reject(arrival.peer(), "announcement of an unknown message class", announcement.message_class);
    return true;
  }
  const PayloadDevice::Visit visit(context_.payloads);
  LargeMessages* const mover = visit.device();
  if (mover == nullptr) return take_announcement(word, arrival.peer(), announcement);
  if (!mover->take_announcement(word, arrival.peer(), announcement)) return false;
  mover->wake();
  return true;
}

bool LargeMessages::take_announcement(std::uint64_t word, int peer,
                                      const LargeMessage& announcement) noexcept {
  const std::uint32_t index = free_incoming_.take();
  if (index == concurrent::IndexPool<>::kNone) return false;
  Incoming& incoming = incoming_[index];
  incoming.peer.store(peer, std::memory_order_relaxed);
  incoming.announcement = announcement;
  incoming.word = word;
  incoming.wanted = announcement.size;
  incoming.buffer = nullptr;
  incoming.is_receive = false;
  incoming.parts = {};
  // Pairs with the acquire in mark_forgotten().
  incoming.state.store(Incoming::State::needs_memory, std::memory_order_release);
  begin(incoming);
  return true;
}

/// Whoever hands something over need not be a thread that progresses the device.
void LargeMessages::wake() const noexcept {
  if (context_.port->has_parked()) context_.port->wake(~std::uint32_t{0});
}

bool LargeMessages::fetch_payload(const Claim& claim) noexcept {
  const PayloadDevice::Visit visit(context_.payloads);
  LargeMessages* const mover = visit.device();
  if (mover == nullptr) return fetch(claim);
  if (!mover->fetch(claim)) return false;
  mover->wake();
  return true;
}

bool LargeMessages::fetch(const Claim& claim) noexcept {
  const std::uint32_t index = free_incoming_.take();
  if (index == concurrent::IndexPool<>::kNone) return false;
  Incoming& incoming = incoming_[index];
  incoming.peer.store(claim.peer, std::memory_order_relaxed);
  incoming.announcement = claim.announcement;
  incoming.wanted = std::min<std::size_t>(claim.announcement.size, claim.buffer.size());
  incoming.buffer = claim.buffer.data();
  incoming.is_receive = true;
  incoming.tag = claim.tag;
  incoming.completion = claim.completion;
  incoming.user_data = claim.user_data;
  incoming.parts = claim.parts;
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  if (incoming.wanted == 0) {
    deliver(incoming);
    incoming.state.store(Incoming::State::answering, std::memory_order_relaxed);
  } else {
    set_fetching(incoming);
  }
  begin(incoming);
  return true;
}

void LargeMessages::set_fetching(Incoming& incoming) noexcept {
  const bool reads = context_.transfer == Transfer::read && incoming.announcement.address != 0;
  incoming.state.store(reads ? Incoming::State::reading : Incoming::State::asking, std::memory_order_relaxed);
}

void LargeMessages::begin(Incoming& incoming) noexcept {
  context_.log.in(base::LogModule::protocol).trace([&] {
    return "a large message of " + std::to_string(incoming.announcement.size) + " bytes from rank " +
           std::to_string(incoming.peer) + " begins";
  });
  context_.trace(TraceEvent::Phase::begin, kTracedArrival, incoming.peer, incoming.announcement.size,
                 incoming.index);
  incoming.read = 0;
  incoming.granted.store(0, std::memory_order_relaxed);
  incoming.received.store(0, std::memory_order_relaxed);
  transfers_.fetch_add(1, std::memory_order_relaxed);
  working_.fetch_add(1, std::memory_order_relaxed);
  advancing_.add(incoming);
}

Step LargeMessages::find_memory(Incoming& incoming) noexcept {
  if (incoming.withdrawn.load(std::memory_order_relaxed) ==
      incoming.generation.load(std::memory_order_relaxed)) {
    incoming.state.store(Incoming::State::forgotten, std::memory_order_relaxed);
    return Step::moved;
  }
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
  set_fetching(incoming);
  return Step::moved;
}

/// Reads the next piece of the payload from the sender's memory. False: that is not possible.
bool LargeMessages::read_some(Incoming& incoming) noexcept {
  const std::size_t end = std::min(incoming.wanted, incoming.read + kReadPerStep);
  if (incoming.parts.empty()) {
    if (!context_.port->read(incoming.peer, incoming.announcement.address + incoming.read,
                             {incoming.buffer + incoming.read, end - incoming.read}))
      return false;
    incoming.read = end;
    return true;
  }
  std::size_t index = part_at(incoming.parts, incoming.read);
  for (int count = 0; count < kPartsPerStep && incoming.read < end; ++count, ++index) {
    const ScatterPart& part = incoming.parts[index];
    const std::size_t place = incoming.read - part.start;
    const std::size_t here = std::min<std::size_t>(end - incoming.read, part.size - place);
    if (place < part.room && here != 0 &&
        !context_.port->read(incoming.peer, part.address + place,
                             {part.buffer + place, std::min(here, part.room - place)}))
      return false;
    incoming.read += here;
  }
  return true;
}

Step LargeMessages::advance(Incoming& incoming, bool exclusive) noexcept {
  switch (incoming.state.load(std::memory_order_relaxed)) {
    case Incoming::State::needs_memory:
      return find_memory(incoming);
    case Incoming::State::reading: {
      if (!read_some(incoming)) {
        // Not allowed between these processes, or the peer is gone: let the peer stream it instead.
        context_.log.in(base::LogModule::protocol).info([&] {
          return "the memory of rank " + std::to_string(incoming.peer) + " cannot be read: it is asked for " +
                 std::to_string(incoming.wanted) + " bytes instead";
        });
        incoming.state.store(Incoming::State::asking, std::memory_order_relaxed);
        return Step::moved;
      }
      if (incoming.read < incoming.wanted) return Step::moved;
      context_.count(&DeviceCounts::large_bytes_read, incoming.wanted);
      // The answer first: the sender does not wait for what the delivery does.
      incoming.state.store(Incoming::State::answering, std::memory_order_relaxed);
      const Step answered = send_answer(incoming, exclusive);
      deliver(incoming);
      if (answered == Step::finished) free(incoming);
      return answered == Step::finished ? answered : Step::moved;
    }
    case Incoming::State::asking:
      return queue(incoming);
    case Incoming::State::answering:
    case Incoming::State::forgotten: {
      const Step answered = send_answer(incoming, exclusive);
      if (answered == Step::finished) free(incoming);
      return answered;
    }
    case Incoming::State::free:
    case Incoming::State::receiving:
    case Incoming::State::entered:
      break;
  }
  return Step::finished;
}

Step LargeMessages::send_answer(const Incoming& incoming, bool exclusive) noexcept {
  const bool is_forgotten = incoming.state.load(std::memory_order_relaxed) == Incoming::State::forgotten;
  const SendResult sent =
      context_.port->send(answer(incoming, is_forgotten ? Channel::withdrawn : Channel::finished),
                          bytes_of(incoming.announcement.request), exclusive);
  return sent == SendResult::sent || sent == SendResult::peer_gone ? Step::finished : Step::idle;
}

void LargeMessages::on_chunk(std::uint64_t word, Message& arrival, network::Sink& sink) noexcept {
  const RequestName name = name_of(word);
  Chunk chunk{};
  if (arrival.size() < sizeof chunk)
    return sink.reject(arrival.peer(), "chunk of a wrong length", arrival.size());
  std::memcpy(&chunk, arrival.data(), sizeof chunk);
  if (name.index >= context_.requests)
    return sink.reject(arrival.peer(), "chunk of an unknown transfer", name.index);
  Incoming& incoming = incoming_[name.index];
  const auto is_meant = [&] {
    return incoming.generation.load(std::memory_order_acquire) == name.generation &&
           incoming.peer.load(std::memory_order_relaxed) == arrival.peer();
  };
  for (auto state = Incoming::State::receiving; !incoming.state.compare_exchange_weak(
           state, Incoming::State::entered, std::memory_order_acquire, std::memory_order_relaxed);) {
    // Entered is what end_lost() leaves again, one way or the other.
    if ((state != Incoming::State::receiving && state != Incoming::State::entered) || !is_meant())
      return sink.reject(arrival.peer(), "chunk of an unknown transfer", name.index);
    state = Incoming::State::receiving;
  }
  const std::size_t size = incoming.wanted;
  if (!is_meant()) {  // the record has been given to another transfer in between
    sink.reject(arrival.peer(), "chunk of an unknown transfer", name.index);
  } else if (chunk.size != arrival.size() - sizeof chunk || chunk.offset > size ||
             chunk.size > size - chunk.offset ||
             chunk.size > incoming.granted.load(std::memory_order_relaxed) -
                              incoming.received.load(std::memory_order_relaxed)) {
    sink.reject(arrival.peer(), "chunk outside its transfer", chunk.offset);
  } else {
    const Bytes data{arrival.data() + sizeof chunk, chunk.size};
    if (incoming.parts.empty())
      move_out(incoming.buffer + chunk.offset, arrival, data);
    else
      scatter(incoming.parts, chunk.offset, data);
    received(grants_of(incoming), chunk.size);
    if (incoming.received.fetch_add(chunk.size, std::memory_order_relaxed) + chunk.size == size) {
      deliver(incoming);
      return free(incoming);
    }
  }
  // Pairs with the acquire with which the next thread enters.
  incoming.state.store(Incoming::State::receiving, std::memory_order_release);
}

void LargeMessages::lose(Incoming& incoming) noexcept {
  if (incoming.is_receive)
    deliver(incoming, Outcome::peer_failed);
  else
    incoming.owner->release(incoming.buffer, incoming.announcement.size, 0);
  free(incoming);
}

void LargeMessages::deliver(Incoming& incoming, Outcome outcome) noexcept {
  Message message;
  Completion* completion = incoming.completion;
  if (outcome == Outcome::ok) context_.count(&DeviceCounts::large_received);
  context_.trace(TraceEvent::Phase::instant, "large message delivered", incoming.peer, incoming.wanted, 0,
                 name_of(outcome));
  if (incoming.is_receive) {
    outstanding_.fetch_sub(1, std::memory_order_relaxed);
    if (completion == nullptr) return;
    const std::size_t length = incoming.announcement.size;
    if (outcome == Outcome::ok && incoming.wanted < length) outcome = Outcome::truncated;
    detail::MessageAccess::set_view(message, Operation::receive, incoming.peer, incoming.tag, incoming.buffer,
                                    outcome == Outcome::peer_failed ? 0 : incoming.wanted, nullptr, length);
    detail::MessageAccess::set_user_data(message, incoming.user_data);
    detail::MessageAccess::set_outcome(message, outcome);
  } else {
    detail::MessageAccess::set_view(message, Operation::active_message, incoming.peer,
                                    static_cast<std::uint32_t>(incoming.word), incoming.buffer,
                                    incoming.wanted, nullptr, 0);
    detail::MessageAccess::set_owner(message, incoming.owner, 0);
    incoming.buffer = nullptr;
    completion = context_.exposures.find(incoming.word);
    if (completion == nullptr) {  // withdrawn meanwhile; the message gives the buffer back
      context_.counters.refused_handles.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  completion->signal(message);
}

void LargeMessages::free(Incoming& incoming) noexcept {
  context_.trace(TraceEvent::Phase::end, kTracedArrival, incoming.peer, incoming.announcement.size,
                 incoming.index);
  incoming.state.store(Incoming::State::free, std::memory_order_relaxed);
  incoming.generation.fetch_add(1, std::memory_order_release);
  free_incoming_.put(incoming.index);
  transfers_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weft::core
