// How the payload of a transfer moves: read, fetched by the network, or received as fragments.
#include "core/memory/copy_and_release.hpp"
#include "core/protocol/rendezvous/rendezvous_receiver.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace weft::core {

using network::SendResult;

namespace {

constexpr std::size_t kReadPerStep = std::size_t{1} << 20;  // so that other messages are served in between
constexpr int kPartsPerStep = 64;  // so that other messages are served in between: each part is a system call

}  // namespace

/// Reads the next piece of the payload from the sender's memory. Returns false when that is not possible.
bool RendezvousReceiver::read_some(Incoming& incoming) noexcept {
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
    const std::size_t at = incoming.read - part.start;
    const std::size_t here = std::min<std::size_t>(end - incoming.read, part.size - at);
    if (at < part.room && here != 0 &&
        !context_.port->read(incoming.peer, part.address + at,
                             {part.buffer + at, std::min(here, part.room - at)}))
      return false;
    incoming.read += here;
  }
  return true;
}

Step RendezvousReceiver::advance(Incoming& incoming, Caller caller) noexcept {
  switch (incoming.state.load(std::memory_order_relaxed)) {
    case Incoming::State::reading: {
      const std::size_t before = incoming.read;
      if (before == 0) transfers_.start_time(incoming);
      if (read_some(incoming)) {
        admission_.less_to_fetch(incoming, incoming.read - before);
      } else {
        // Not allowed between these processes, or the peer has left: the peer has to stream the payload
        // instead. Starts from the beginning; a piece may have been read in part.
        admission_.change_fetching(incoming, static_cast<std::int64_t>(before));
        transfers_.learn(incoming, LearnedWays::End::failed);
        ask_instead(incoming, "cannot be read");
        return Step::moved;
      }
      if (incoming.read < incoming.wanted) return Step::moved;
      return deliver_and_answer(incoming, caller);
    }
    case Incoming::State::fetching:
      return fetch_by_network(incoming);
    case Incoming::State::landed:
      admission_.less_to_fetch(incoming, incoming.wanted);
      return deliver_and_answer(incoming, caller);
    case Incoming::State::opening:
      return open_landing(incoming, caller);
    case Incoming::State::put:
      return end_landing(incoming);
    case Incoming::State::lost:
      lose(incoming);
      return Step::finished;
    case Incoming::State::asking:
      return flow_control_.queue(incoming);
    case Incoming::State::answering:
    case Incoming::State::forgotten:
    case Incoming::State::refused: {
      const Step answered = send_answer(incoming, caller);
      if (answered == Step::finished) transfers_.free(incoming);
      return answered;
    }
    case Incoming::State::free:
    case Incoming::State::waiting:
    case Incoming::State::needs_memory:
    case Incoming::State::landing:
    case Incoming::State::opened:
    case Incoming::State::receiving:
    case Incoming::State::entered:
      break;
  }
  return Step::finished;
}

void RendezvousReceiver::ask_instead(Incoming& incoming, const char* why) noexcept {
  context_.log.in(base::LogModule::protocol).info([&] {
    return "the memory of rank " + std::to_string(incoming.peer) + ' ' + why + ": it is asked for " +
           std::to_string(incoming.wanted) + " bytes instead";
  });
  incoming.state.store(Incoming::State::asking, std::memory_order_relaxed);
}

Step RendezvousReceiver::deliver_and_answer(Incoming& incoming, Caller caller) noexcept {
  context_.count(&DeviceCounts::large_bytes_read, incoming.wanted);
  transfers_.learn(incoming, LearnedWays::End::whole);
  // The delivery goes first: a sender that has been answered may say that its message has been consumed.
  incoming.state.store(Incoming::State::answering, std::memory_order_relaxed);
  deliver(incoming);
  const Step answered = send_answer(incoming, caller);
  if (answered == Step::finished) transfers_.free(incoming);
  return answered == Step::finished ? answered : Step::moved;
}

Step RendezvousReceiver::fetch_by_network(Incoming& incoming) noexcept {
  using network::AccessResult;
  const Rts& rts = incoming.rts;
  const std::uint32_t generation = incoming.generation.load(std::memory_order_relaxed);
  const std::uint64_t token = kFetchToken | word_of({incoming.index, generation});
  // Before the call: another thread may learn of the end before it returns.
  incoming.state.store(Incoming::State::landing, std::memory_order_relaxed);
  landing_.fetch_add(1, std::memory_order_relaxed);
  const AccessResult result =
      context_.port->fetch(incoming.peer, {rts.address, rts.key, 0, static_cast<std::uint8_t>(rts.device)},
                           {incoming.buffer, incoming.wanted}, token);
  if (result == AccessResult::posted) return Step::finished;  // fetch_completed() continues
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

void RendezvousReceiver::fetch_completed(std::uint64_t token, Outcome outcome) noexcept {
  const RequestName name = name_of(token & ~kFetchToken);
  Incoming& incoming = transfers_.records()[name.index];
  const int peer = incoming.peer.load(std::memory_order_relaxed);
  if (outcome == Outcome::ok)
    incoming.state.store(Incoming::State::landed, std::memory_order_relaxed);
  else if (outcome == Outcome::peer_failed || context_.port->has_left(peer))
    incoming.state.store(Incoming::State::lost, std::memory_order_relaxed);
  else
    ask_instead(incoming, "could not be fetched");
  counts_.working.fetch_add(1, std::memory_order_relaxed);
  transfers_.advance(incoming);
  // Pairs with the acquire in landing().
  landing_.fetch_sub(1, std::memory_order_release);
}

Step RendezvousReceiver::send_answer(const Incoming& incoming, Caller caller) noexcept {
  const Incoming::State state = incoming.state.load(std::memory_order_relaxed);
  const Channel channel = state == Incoming::State::forgotten ? Channel::cancelled
                          : state == Incoming::State::refused ? Channel::refused
                                                              : Channel::fin;
  const SendResult sent =
      context_.port->send(answer_to(incoming, channel), bytes_of(incoming.rts.request), caller);
  return sent == SendResult::sent || sent == SendResult::peer_left ? Step::finished : Step::idle;
}

void RendezvousReceiver::on_data(std::uint64_t word, Message& arrival, network::Sink& sink) noexcept {
  const RequestName name = name_of(word);
  DataHeader fragment{};
  if (arrival.size() < sizeof fragment)
    return sink.reject(arrival.peer(), "fragment of a wrong length", arrival.size());
  std::memcpy(&fragment, arrival.data(), sizeof fragment);
  Incoming* const named = transfers_.records().find(name.index);
  if (named == nullptr) return sink.reject(arrival.peer(), "fragment of an unknown transfer", name.index);
  Incoming& incoming = *named;
  const auto is_meant = [&] {
    return incoming.generation.load(std::memory_order_acquire) == name.generation &&
           incoming.peer.load(std::memory_order_relaxed) == arrival.peer();
  };
  for (auto state = Incoming::State::receiving; !incoming.state.compare_exchange_weak(
           state, Incoming::State::entered, std::memory_order_acquire, std::memory_order_relaxed);) {
    // The state entered is temporary: complete_lost() soon leaves it.
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
    admission_.less_to_fetch(incoming, fragment.size);
    flow_control_.received(incoming, fragment.size);
    if (incoming.received.fetch_add(fragment.size, std::memory_order_relaxed) + fragment.size == size) {
      transfers_.learn(incoming, LearnedWays::End::whole);
      deliver(incoming);
      return transfers_.free(incoming);
    }
  }
  // Pairs with the acquire with which the next thread enters.
  incoming.state.store(Incoming::State::receiving, std::memory_order_release);
}

std::size_t RendezvousReceiver::step(Caller caller) noexcept {
  admission_.take_announced();
  return transfers_.step([&](Incoming& incoming) { return advance(incoming, caller); }) + admission_.step() +
         flow_control_.step(caller);
}

}  // namespace weft::core
