// Announced messages that their sender does not want to be fetched any more.
//
// The sender asks (withdraw). Whoever has the announcement either forgets it and says so (withdrawn), or has
// begun to fetch it and says nothing: then the message ends as it would have. The request stays announced
// until one of the two happens, so its buffer is never given back while the peer may read it. A question that
// overtakes its announcement finds nothing, and is asked again.
#include "core/protocol/glance.hpp"
#include "core/protocol/large_message_records.hpp"
#include "core/protocol/payload_device.hpp"
#include "core/protocol/traffic.hpp"

#include <cstring>

namespace weft::core {

using network::Outgoing;

void LargeMessages::withdraw(const Deadlines& deadlines, bool has_failures, bool exclusive) noexcept {
  withdraw_from(*this, deadlines, has_failures, exclusive);
  const PayloadDevice::Visit visit(context_.payloads);
  if (const LargeMessages* const mover = visit.device(); mover != nullptr && mover != this)
    withdraw_from(*mover, deadlines, has_failures, exclusive);
}

/// `mover` has the requests, and is told the answers; the question leaves from here, as the announcement did.
WEFT_GLANCES void LargeMessages::withdraw_from(const LargeMessages& mover, const Deadlines& deadlines,
                                               bool has_failures, bool exclusive) noexcept {
  if (mover.outstanding_.load(std::memory_order_relaxed) == 0) return;
  for (std::uint32_t index = 0; index < mover.context_.requests; ++index) {
    const Request& request = mover.requests_[index];
    const std::uint32_t generation = request.generation.load(std::memory_order_acquire);
    if (request.state.load(std::memory_order_acquire) != Request::State::announced) continue;
    if (!deadlines.is_due(glance(request.completion)) && !(has_failures && glance(request.needs_all_ranks)))
      continue;
    const Withdraw withdraw{{index, generation}, mover.context_.device, glance(request.engine)};
    // Behind the announcement, where the network keeps the order.
    const Outgoing outgoing{
        request.peer.load(std::memory_order_relaxed),
        glance(request.transfer_device),
        traffic_of(glance(request.message_class)),
        static_cast<std::uint8_t>(Channel::withdraw),
        false,
        glance(request.operation) == Operation::send ? std::uint64_t{1} : std::uint64_t{0}};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (request.generation.load(std::memory_order_relaxed) != generation) continue;
    // What is refused is asked again with the next look, and what the peer has left behind has ended by then.
    static_cast<void>(context_.port->send(outgoing, bytes_of(withdraw), exclusive));
  }
}

bool LargeMessages::read_withdraw(const Message& arrival, Withdraw& withdraw, network::Sink& sink) noexcept {
  if (arrival.size() != sizeof withdraw) {
    sink.reject(arrival.peer(), "withdrawal of a wrong length", arrival.size());
    return false;
  }
  std::memcpy(&withdraw, arrival.data(), sizeof withdraw);
  if (withdraw.device < detail::DevicePath::kMaxDevices) return true;
  sink.reject(arrival.peer(), "withdrawal from a device out of range", withdraw.device);
  return false;
}

void LargeMessages::forget_arrived(int peer, const Withdraw& withdraw) noexcept {
  mark_forgotten(peer, withdraw);
  const PayloadDevice::Visit visit(context_.payloads);
  if (LargeMessages* const mover = visit.device(); mover != nullptr && mover != this)
    mover->mark_forgotten(peer, withdraw);
}

/// Whoever continues the transfer finds the mark, unless it has found memory before.
WEFT_GLANCES void LargeMessages::mark_forgotten(int peer, const Withdraw& withdraw) noexcept {
  for (std::uint32_t index = 0; index < context_.requests; ++index) {
    Incoming& incoming = incoming_[index];
    const std::uint32_t generation = incoming.generation.load(std::memory_order_acquire);
    if (incoming.state.load(std::memory_order_acquire) != Incoming::State::needs_memory ||
        incoming.peer.load(std::memory_order_relaxed) != peer)
      continue;
    const std::uint32_t request_index = glance(incoming.announcement.request.index);
    const std::uint32_t request_generation = glance(incoming.announcement.request.generation);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (request_index == withdraw.request.index && request_generation == withdraw.request.generation &&
        incoming.generation.load(std::memory_order_relaxed) == generation)
      incoming.withdrawn.store(generation, std::memory_order_relaxed);
  }
}

void LargeMessages::tell_forgotten(std::uint32_t index, int peer, const Withdraw& withdraw) noexcept {
  Incoming& incoming = incoming_[index];
  incoming.peer.store(peer, std::memory_order_relaxed);
  incoming.announcement = {0, 0, withdraw.request, withdraw.device};
  incoming.wanted = 0;
  incoming.buffer = nullptr;
  incoming.is_receive = false;
  incoming.parts = {};
  incoming.state.store(Incoming::State::forgotten, std::memory_order_relaxed);
  begin(incoming);
}

void LargeMessages::on_withdrawn(const Message& arrival, bool has_failures, network::Sink& sink) noexcept {
  if (Request* request = take_answered(arrival, sink); request != nullptr)
    end(*request, has_failures && request->needs_all_ranks ? Outcome::peer_failed : Outcome::timed_out);
}

}  // namespace weft::core
