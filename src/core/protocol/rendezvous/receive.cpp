// The receiver's half of a rendezvous: from the RTS to the end of the transfer (FIN).
#include "core/memory/copy_and_release.hpp"
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
using network::TrafficClass;

namespace {

constexpr std::size_t kReadPerStep = std::size_t{1} << 20;  // so that other messages are served in between
constexpr const char* kTracedArrival = "large message of a peer";
constexpr int kPartsPerStep = 64;  // so that other messages are served in between: each part is a system call

}  // namespace

Rendezvous::~Rendezvous() {
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    Incoming& incoming = incoming_[index];
    if (incoming.state.load(std::memory_order_acquire) != Incoming::State::free &&
        incoming.buffer != nullptr && !incoming.is_receive)
      incoming.owner->release(incoming.buffer, incoming.rts.size, 0);
  }
}

Outgoing Rendezvous::answer(const Incoming& incoming, Channel channel) const noexcept {
  return {incoming.peer.load(std::memory_order_relaxed),
          static_cast<std::uint8_t>(incoming.rts.device),
          TrafficClass::control,
          static_cast<std::uint8_t>(channel),
          false,
          0};
}

bool Rendezvous::on_rts(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept {
  Rts rts{};
  if (arrival.size() != sizeof rts) {
    sink.reject(arrival.peer(), "RTS of a wrong length", arrival.size());
    return true;
  }
  std::memcpy(&rts, arrival.data(), sizeof rts);
  if (rts.size > kLargestMessage) {
    sink.reject(arrival.peer(), "RTS of more bytes than a message can have", rts.size);
    return true;
  }
  if (rts.device >= detail::DevicePath::kMaxDevices) {
    sink.reject(arrival.peer(), "RTS from a device out of range", rts.device);
    return true;
  }
  if (!is_message_class(rts.message_class)) {
    sink.reject(arrival.peer(), "RTS of an unknown message class", rts.message_class);
    return true;
  }
  const PayloadDevice::Visit visit(context_.payloads);
  Rendezvous* const mover = visit.device();
  if (mover == nullptr) return take_rts(word, arrival.peer(), rts);
  if (!mover->take_rts(word, arrival.peer(), rts)) return false;
  mover->wake();
  return true;
}

bool Rendezvous::take_rts(std::uint64_t word, int peer, const Rts& rts) noexcept {
  const std::uint32_t index = free_incoming_.take();
  if (index == concurrent::IndexPool<>::kNone) return false;
  Incoming& incoming = incoming_[index];
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

/// Wakes parked threads: the thread that hands something over need not be one that progresses the device.
void Rendezvous::wake() const noexcept {
  if (context_.port->has_parked()) context_.port->wake(~std::uint32_t{0});
}

bool Rendezvous::fetch_payload(const Claim& claim) noexcept {
  const PayloadDevice::Visit visit(context_.payloads);
  Rendezvous* const mover = visit.device();
  if (mover == nullptr) return fetch(claim);
  if (!mover->fetch(claim)) return false;
  mover->wake();
  return true;
}

bool Rendezvous::fetch(const Claim& claim) noexcept {
  const std::uint32_t index = free_incoming_.take();
  if (index == concurrent::IndexPool<>::kNone) return false;
  Incoming& incoming = incoming_[index];
  incoming.peer.store(claim.peer, std::memory_order_relaxed);
  incoming.rts = claim.rts;
  incoming.wanted = std::min<std::size_t>(claim.rts.size, claim.buffer.size());
  incoming.buffer = claim.buffer.data();
  incoming.is_receive = true;
  incoming.tag = claim.tag;
  incoming.completion = claim.completion;
  used_incoming_.note(index);
  detail::NamedCompletion::note_named_by(claim.completion, context_.keeper);
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

void Rendezvous::begin(Incoming& incoming) noexcept {
  context_.log.in(base::LogModule::protocol).trace([&] {
    return "a large message of " + std::to_string(incoming.rts.size) + " bytes from rank " +
           std::to_string(incoming.peer) + " begins";
  });
  context_.trace(TraceEvent::Phase::begin, kTracedArrival, incoming.peer, incoming.rts.size, incoming.index);
  incoming.read = 0;
  incoming.granted.store(0, std::memory_order_relaxed);
  incoming.received.store(0, std::memory_order_relaxed);
  transfers_.fetch_add(1, std::memory_order_relaxed);
  working_.fetch_add(1, std::memory_order_relaxed);
  if (incoming.state.load(std::memory_order_relaxed) == Incoming::State::waiting)
    announced_.put(incoming);
  else
    advancing_.add(incoming);
}

/// Reads the next piece of the payload from the sender's memory. Returns false when that is not possible.
bool Rendezvous::read_some(Incoming& incoming) noexcept {
  const std::size_t end = std::min(incoming.wanted, incoming.read + kReadPerStep);
  if (incoming.parts.empty()) {
    if (!context_.port->read(incoming.peer, incoming.rts.address + incoming.read,
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

Step Rendezvous::advance(Incoming& incoming, bool exclusive) noexcept {
  switch (incoming.state.load(std::memory_order_relaxed)) {
    case Incoming::State::reading: {
      const std::size_t before = incoming.read;
      if (before == 0) start_time(incoming);
      if (read_some(incoming)) {
        less_to_fetch(incoming, incoming.read - before);
      } else {
        // Not allowed between these processes, or the peer has left: the peer has to stream the payload
        // instead. Starts from the beginning; a piece may have been read in part.
        change_fetching(incoming, static_cast<std::int64_t>(before));
        learn(incoming, LearnedWays::End::failed);
        ask_instead(incoming, "cannot be read");
        return Step::moved;
      }
      if (incoming.read < incoming.wanted) return Step::moved;
      return deliver_and_answer(incoming, exclusive);
    }
    case Incoming::State::fetching:
      return fetch_by_network(incoming, exclusive);
    case Incoming::State::landed:
      less_to_fetch(incoming, incoming.wanted);
      return deliver_and_answer(incoming, exclusive);
    case Incoming::State::lost:
      lose(incoming);
      return Step::finished;
    case Incoming::State::asking:
      return queue(incoming);
    case Incoming::State::answering:
    case Incoming::State::forgotten:
    case Incoming::State::refused: {
      const Step answered = send_answer(incoming, exclusive);
      if (answered == Step::finished) free(incoming);
      return answered;
    }
    case Incoming::State::free:
    case Incoming::State::waiting:
    case Incoming::State::needs_memory:
    case Incoming::State::landing:
    case Incoming::State::receiving:
    case Incoming::State::entered:
      break;
  }
  return Step::finished;
}

void Rendezvous::ask_instead(Incoming& incoming, const char* why) noexcept {
  context_.log.in(base::LogModule::protocol).info([&] {
    return "the memory of rank " + std::to_string(incoming.peer) + ' ' + why + ": it is asked for " +
           std::to_string(incoming.wanted) + " bytes instead";
  });
  incoming.state.store(Incoming::State::asking, std::memory_order_relaxed);
}

Step Rendezvous::deliver_and_answer(Incoming& incoming, bool exclusive) noexcept {
  context_.count(&DeviceCounts::large_bytes_read, incoming.wanted);
  learn(incoming, LearnedWays::End::whole);
  // The delivery goes first: a sender that has been answered may say that its message has been consumed.
  incoming.state.store(Incoming::State::answering, std::memory_order_relaxed);
  deliver(incoming);
  const Step answered = send_answer(incoming, exclusive);
  if (answered == Step::finished) free(incoming);
  return answered == Step::finished ? answered : Step::moved;
}

Step Rendezvous::fetch_by_network(Incoming& incoming, bool exclusive) noexcept {
  using network::AccessResult;
  const Rts& rts = incoming.rts;
  const std::uint32_t generation = incoming.generation.load(std::memory_order_relaxed);
  const std::uint64_t token = kFetchToken | word_of({incoming.index, generation});
  // Before the call: another thread may learn of the end before it returns.
  incoming.state.store(Incoming::State::landing, std::memory_order_relaxed);
  landing_.fetch_add(1, std::memory_order_relaxed);
  const AccessResult result =
      context_.port->fetch(incoming.peer, {rts.address, rts.key, 0, static_cast<std::uint8_t>(rts.device)},
                           {incoming.buffer, incoming.wanted}, token, exclusive);
  if (result == AccessResult::posted) return Step::finished;  // fetch_ended() continues
  landing_.fetch_sub(1, std::memory_order_relaxed);
  switch (result) {
    case AccessResult::no_slot:
    case AccessResult::lock_contended:
    case AccessResult::not_ready:
      incoming.state.store(Incoming::State::fetching, std::memory_order_relaxed);
      return Step::idle;
    case AccessResult::done:
      incoming.state.store(Incoming::State::landed, std::memory_order_relaxed);
      return Step::moved;
    case AccessResult::peer_left:
    case AccessResult::refused:
    case AccessResult::unsupported:
    case AccessResult::posted:
      break;
  }
  ask_instead(incoming, "cannot be fetched");
  return Step::moved;
}

void Rendezvous::fetch_ended(std::uint64_t token, Outcome outcome) noexcept {
  const RequestName name = name_of(token & ~kFetchToken);
  Incoming& incoming = incoming_[name.index];
  const int peer = incoming.peer.load(std::memory_order_relaxed);
  if (outcome == Outcome::ok)
    incoming.state.store(Incoming::State::landed, std::memory_order_relaxed);
  else if (outcome == Outcome::peer_failed || context_.port->has_left(peer))
    incoming.state.store(Incoming::State::lost, std::memory_order_relaxed);
  else
    ask_instead(incoming, "could not be fetched");
  working_.fetch_add(1, std::memory_order_relaxed);
  advancing_.add(incoming);
  // Pairs with the acquire in landing().
  landing_.fetch_sub(1, std::memory_order_release);
}

Step Rendezvous::send_answer(const Incoming& incoming, bool exclusive) noexcept {
  const Incoming::State state = incoming.state.load(std::memory_order_relaxed);
  const Channel channel = state == Incoming::State::forgotten ? Channel::cancelled
                          : state == Incoming::State::refused ? Channel::refused
                                                              : Channel::fin;
  const SendResult sent =
      context_.port->send(answer(incoming, channel), bytes_of(incoming.rts.request), exclusive);
  return sent == SendResult::sent || sent == SendResult::peer_left ? Step::finished : Step::idle;
}

void Rendezvous::on_data(std::uint64_t word, Message& arrival, network::Sink& sink) noexcept {
  const RequestName name = name_of(word);
  DataHeader fragment{};
  if (arrival.size() < sizeof fragment)
    return sink.reject(arrival.peer(), "fragment of a wrong length", arrival.size());
  std::memcpy(&fragment, arrival.data(), sizeof fragment);
  if (name.index >= context_.requests)
    return sink.reject(arrival.peer(), "fragment of an unknown transfer", name.index);
  Incoming& incoming = incoming_[name.index];
  const auto is_meant = [&] {
    return incoming.generation.load(std::memory_order_acquire) == name.generation &&
           incoming.peer.load(std::memory_order_relaxed) == arrival.peer();
  };
  for (auto state = Incoming::State::receiving; !incoming.state.compare_exchange_weak(
           state, Incoming::State::entered, std::memory_order_acquire, std::memory_order_relaxed);) {
    // The state entered is temporary: end_lost() soon leaves it.
    if ((state != Incoming::State::receiving && state != Incoming::State::entered) || !is_meant())
      return sink.reject(arrival.peer(), "fragment of an unknown transfer", name.index);
    state = Incoming::State::receiving;
  }
  const std::size_t size = incoming.wanted;
  if (!is_meant()) {  // the record has been reused for another transfer in between
    sink.reject(arrival.peer(), "fragment of an unknown transfer", name.index);
  } else if (fragment.size != arrival.size() - sizeof fragment || fragment.offset > size ||
             fragment.size > size - fragment.offset ||
             fragment.size > incoming.granted.load(std::memory_order_relaxed) -
                                 incoming.received.load(std::memory_order_relaxed)) {
    sink.reject(arrival.peer(), "fragment outside its transfer", fragment.offset);
  } else {
    const Bytes data{arrival.data() + sizeof fragment, fragment.size};
    if (incoming.parts.empty())
      copy_and_release(incoming.buffer + fragment.offset, arrival, data);
    else
      scatter(incoming.parts, fragment.offset, data);
    less_to_fetch(incoming, fragment.size);
    received(grants_of(incoming), fragment.size);
    if (incoming.received.fetch_add(fragment.size, std::memory_order_relaxed) + fragment.size == size) {
      learn(incoming, LearnedWays::End::whole);
      deliver(incoming);
      return free(incoming);
    }
  }
  // Pairs with the acquire with which the next thread enters.
  incoming.state.store(Incoming::State::receiving, std::memory_order_release);
}

void Rendezvous::lose(Incoming& incoming) noexcept {
  less_to_fetch(incoming, incoming.wanted - incoming.received.load(std::memory_order_relaxed));
  if (incoming.is_receive)
    deliver(incoming, Outcome::peer_failed);
  else
    incoming.owner->release(incoming.buffer, incoming.rts.size, 0);
  free(incoming);
}

void Rendezvous::deliver(Incoming& incoming, Outcome outcome) noexcept {
  Message message;
  Completion* completion = incoming.completion;
  if (outcome == Outcome::ok) context_.count(&DeviceCounts::large_received);
  context_.trace(TraceEvent::Phase::instant, "large message delivered", incoming.peer, incoming.wanted, 0,
                 name_of(outcome));
  if (incoming.is_receive) {
    outstanding_.fetch_sub(1, std::memory_order_relaxed);
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

void Rendezvous::free(Incoming& incoming) noexcept {
  context_.trace(TraceEvent::Phase::end, kTracedArrival, incoming.peer, incoming.rts.size, incoming.index);
  learn(incoming, LearnedWays::End::given_up);
  incoming.state.store(Incoming::State::free, std::memory_order_relaxed);
  incoming.generation.fetch_add(1, std::memory_order_release);
  free_incoming_.put(incoming.index);
  transfers_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weft::core
