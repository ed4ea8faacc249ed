#include "core/protocol/rendezvous/rendezvous.hpp"

#include "core/protocol/message_class.hpp"
#include "core/protocol/rendezvous/payload_device.hpp"

#include <cstring>

namespace weft::core {

using network::SendResult;

Rendezvous::Rendezvous(const Context& context)
    : context_(context), sender_(context, counts_), receiver_(context, counts_) {}

Rendezvous::Start Rendezvous::start(const Outbound& outbound, Caller caller, SendResult& result) noexcept {
  const PayloadDevice::Visit visit(context_.payloads);
  Rendezvous* const mover = context_.payloads == nullptr ? this : visit.device();
  if (mover != nullptr) return mover->sender_.start(outbound, context_, caller, result);
  result = SendResult::not_ready;
  return Start::refused;
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
  if (mover == nullptr) return receiver_.take_rts(word, arrival.peer(), rts);
  if (!mover->receiver_.take_rts(word, arrival.peer(), rts)) return false;
  mover->wake();
  return true;
}

/// Wakes parked threads: the thread that hands something over need not be one that progresses the device.
void Rendezvous::wake() const noexcept {
  if (context_.port->has_parked()) context_.port->wake(~std::uint32_t{0});
}

bool Rendezvous::fetch_payload(const Claim& claim) noexcept {
  const PayloadDevice::Visit visit(context_.payloads);
  Rendezvous* const mover = visit.device();
  if (mover == nullptr) return receiver_.fetch(claim);
  if (!mover->receiver_.fetch(claim)) return false;
  mover->wake();
  return true;
}

void Rendezvous::cancel(const Deadlines& deadlines, bool has_failures, Caller caller) noexcept {
  sender_.cancel(context_, deadlines, has_failures, caller);
  const PayloadDevice::Visit visit(context_.payloads);
  if (const Rendezvous* const mover = visit.device(); mover != nullptr && mover != this)
    mover->sender_.cancel(context_, deadlines, has_failures, caller);
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
  receiver_.mark_forgotten(peer, cancel);
  const PayloadDevice::Visit visit(context_.payloads);
  if (Rendezvous* const mover = visit.device(); mover != nullptr && mover != this)
    mover->receiver_.mark_forgotten(peer, cancel);
}

std::size_t Rendezvous::step(Caller caller) noexcept { return sender_.step(caller) + receiver_.step(caller); }

void Rendezvous::complete_lost_operations(const std::atomic<bool>* is_over) noexcept {
  if (!awaits_peers()) return;
  receiver_.complete_lost(is_over);
  sender_.complete_lost(is_over);
}

bool Rendezvous::may_name(const Completion& object) const noexcept {
  return outstanding() != 0 && (sender_.may_name(object) || receiver_.transfers().may_name(object));
}

void Rendezvous::forget_object(const Completion& object, DetachedOperations& instead) noexcept {
  if (outstanding() == 0) return;
  sender_.forget_object(object, instead);
  receiver_.transfers().forget_object(object, instead);
}

void Rendezvous::describe(PendingList& list) const noexcept {
  sender_.describe(list);
  receiver_.transfers().describe(list);
}

}  // namespace weft::core
