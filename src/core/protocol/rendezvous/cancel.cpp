// Cancelling a rendezvous whose RTS was sent and whose payload is not being fetched yet.
//
// The sender sends a cancel. The receiver of the RTS either forgets it and answers (cancelled), or has begun
// to fetch the payload and does not answer: then the message ends as it would have. The request stays
// announced until one of the two happens, so its buffer is never released while the peer may read it. A
// cancel that overtakes its RTS finds nothing, and is sent again.
#include "concurrent/racy_read.hpp"
#include "core/completion/object_end.hpp"
#include "core/protocol/message_class.hpp"
#include "core/protocol/rendezvous/payload_device.hpp"
#include "core/protocol/rendezvous/records.hpp"

#include <cstring>

namespace weft::core {

using network::Outgoing;

void Rendezvous::cancel(const Deadlines& deadlines, bool has_failures, bool exclusive) noexcept {
  cancel_from(*this, deadlines, has_failures, exclusive);
  const PayloadDevice::Visit visit(context_.payloads);
  if (const Rendezvous* const mover = visit.device(); mover != nullptr && mover != this)
    cancel_from(*mover, deadlines, has_failures, exclusive);
}

/// `mover` owns the requests and handles the answers; the cancel is sent from this device, as the RTS was.
WEFT_READS_RACILY void Rendezvous::cancel_from(const Rendezvous& mover, const Deadlines& deadlines,
                                               bool has_failures, bool exclusive) noexcept {
  if (mover.outstanding_.load(std::memory_order_relaxed) == 0) return;
  for (std::uint32_t index = 0; index < mover.context_.requests; ++index) {
    const Request& request = mover.requests_[index];
    const std::uint32_t generation = request.state.generation();
    if (request.state.load() != Request::State::announced) continue;
    if (!deadlines.is_due(concurrent::racy_read(request.completion)) &&
        !(has_failures && concurrent::racy_read(request.needs_all_ranks)))
      continue;
    const Cancel cancel{{index, generation}, mover.context_.device, concurrent::racy_read(request.engine)};
    // Sent after the RTS, where the network keeps the order.
    const Outgoing outgoing{
        request.peer.load(std::memory_order_relaxed),
        concurrent::racy_read(request.transfer_device),
        traffic_of(concurrent::racy_read(request.message_class)),
        static_cast<std::uint8_t>(Channel::cancel),
        false,
        concurrent::racy_read(request.operation) == Operation::send ? std::uint64_t{1} : std::uint64_t{0}};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (request.state.generation() != generation) continue;
    // A refused cancel is sent again by the next call, and requests whose peer has left have ended by then.
    static_cast<void>(context_.port->send(outgoing, bytes_of(cancel), exclusive));
  }
}

bool Rendezvous::read_cancel(const Message& arrival, Cancel& cancel, network::Sink& sink) noexcept {
  if (arrival.size() != sizeof cancel) {
    sink.reject(arrival.peer(), "cancel of a wrong length", arrival.size());
    return false;
  }
  std::memcpy(&cancel, arrival.data(), sizeof cancel);
  if (cancel.device < detail::DevicePath::kMaxDevices) return true;
  sink.reject(arrival.peer(), "cancel from a device out of range", cancel.device);
  return false;
}

void Rendezvous::forget_unexpected(int peer, const Cancel& cancel) noexcept {
  mark_forgotten(peer, cancel);
  const PayloadDevice::Visit visit(context_.payloads);
  if (Rendezvous* const mover = visit.device(); mover != nullptr && mover != this)
    mover->mark_forgotten(peer, cancel);
}

/// The thread that continues the transfer finds the mark, unless it has found memory before.
WEFT_READS_RACILY void Rendezvous::mark_forgotten(int peer, const Cancel& cancel) noexcept {
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    Incoming& incoming = incoming_[index];
    const std::uint32_t generation = incoming.generation.load(std::memory_order_acquire);
    const Incoming::State state = incoming.state.load(std::memory_order_acquire);
    if ((state != Incoming::State::waiting && state != Incoming::State::needs_memory) ||
        incoming.peer.load(std::memory_order_relaxed) != peer)
      continue;
    const std::uint32_t request_index = concurrent::racy_read(incoming.rts.request.index);
    const std::uint32_t request_generation = concurrent::racy_read(incoming.rts.request.generation);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (request_index == cancel.request.index && request_generation == cancel.request.generation &&
        incoming.generation.load(std::memory_order_relaxed) == generation) {
      incoming.cancelled.store(generation, std::memory_order_relaxed);
      // Pairs with the exchange in admit().
      admissions_[static_cast<std::size_t>(peer)].must_look.store(true, std::memory_order_release);
    }
  }
}

void Rendezvous::confirm_cancel(std::uint32_t index, int peer, const Cancel& cancel) noexcept {
  Incoming& incoming = incoming_[index];
  incoming.peer.store(peer, std::memory_order_relaxed);
  incoming.rts = {0, 0, cancel.request, cancel.device, 0, 0};
  incoming.wanted = 0;
  incoming.buffer = nullptr;
  incoming.is_receive = false;
  incoming.parts = {};
  incoming.state.store(Incoming::State::forgotten, std::memory_order_relaxed);
  begin(incoming);
}

void Rendezvous::on_cancelled(const Message& arrival, bool has_failures, network::Sink& sink) noexcept {
  if (Request* request = take_answered(arrival, sink); request != nullptr)
    end(*request, has_failures && request->needs_all_ranks ? Outcome::peer_failed : Outcome::timed_out);
}

WEFT_READS_RACILY bool Rendezvous::may_name(const Completion& object) const noexcept {
  if (outstanding() == 0) return false;
  for (std::uint32_t index = 0; index < used_requests_.value(); ++index)
    if (names(requests_[index], object)) return true;
  for (std::uint32_t index = 0; index < used_incoming_.value(); ++index)
    if (names(incoming_[index], object)) return true;
  return false;
}

WEFT_READS_RACILY void Rendezvous::forget_object(const Completion& object, Orphans& instead) noexcept {
  if (outstanding() == 0) return;
  const auto give = [&](Completion*& completion) {
    instead.adopt();
    *const_cast<Completion* volatile*>(&completion) = &instead;
  };
  for (std::uint32_t index = 0; index < used_requests_.value(); ++index)
    if (names(requests_[index], object)) give(requests_[index].completion);
  for (std::uint32_t index = 0; index < used_incoming_.value(); ++index)
    if (names(incoming_[index], object)) give(incoming_[index].completion);
}

WEFT_READS_RACILY bool Rendezvous::names(const Request& request, const Completion& object) noexcept {
  return concurrent::racy_read(request.completion) == &object && request.state.load() != Request::State::free;
}

WEFT_READS_RACILY bool Rendezvous::names(const Incoming& incoming, const Completion& object) noexcept {
  if (concurrent::racy_read(incoming.completion) != &object || !concurrent::racy_read(incoming.is_receive))
    return false;
  const Incoming::State state = incoming.state.load(std::memory_order_acquire);
  return state != Incoming::State::free && state != Incoming::State::answering &&
         state != Incoming::State::forgotten;
}

}  // namespace weft::core
