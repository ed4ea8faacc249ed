// Atomic operations: in mapped memory, else by a message to the region's owner and its answer. Everything
// that a peer sends is checked.
#include "base/memory/guarded_copy.hpp"
#include "core/protocol/one_sided/records.hpp"

#include <cstring>

namespace weft::core {

using network::AccessResult;
using network::Outgoing;

/// Attempts the operation in mapped memory. `is_reached` becomes false when peers cannot map the region.
Status OneSided::attempt_located(Request& request, const Origin& origin, bool& is_reached) noexcept {
  const RemoteRegion& region = request.where.region;
  const network::RemoteMemory memory{{region.index, region.generation},
                                     {region.address, region.key},
                                     region.bytes,
                                     request.where.offset,
                                     request.options.device};
  std::byte* place = nullptr;
  const AccessResult result = context_.port->locate(region.rank, memory, request.size, place);
  switch (result) {
    case AccessResult::done:
      return attempt_in_place(request, place);
    case AccessResult::refused:
      return finish(request, Outcome::refused, true);
    case AccessResult::peer_left:
      return finish(request, Outcome::peer_failed, true);
    case AccessResult::unsupported:
      is_reached = false;
      return Status::retry(Reason::none);
    case AccessResult::posted:
    case AccessResult::no_slot:
    case AccessResult::lock_contended:
    case AccessResult::not_ready:
      break;
  }
  return give_up(request, origin, reason_of(result));
}

Status OneSided::send_atomic(Request& request, Caller caller, bool& has_left) noexcept {
  const RemoteRegion& region = request.where.region;
  const AtomicRequest message{{region.index, region.generation},
                              request.where.offset,
                              request.name(),
                              request.update.operand,
                              request.update.expected,
                              static_cast<std::uint8_t>(request.update.operation),
                              static_cast<std::uint8_t>(request.update.type),
                              static_cast<std::uint16_t>(context_.device),
                              static_cast<std::uint16_t>(request.from_handler ? 1 : 0),
                              0};
  const bool carries_signal = request.options.signal.generation() != 0;
  return send_to_target(request, Channel::atomic, carries_signal, caller, has_left,
                        [&](const Outgoing& outgoing) {
                          return context_.port->send(outgoing, bytes_of(message), caller.exclusive);
                        });
}

bool OneSided::on_atomic(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept {
  AtomicRequest wanted{};
  if (arrival.size() != sizeof wanted) {
    sink.reject(arrival.peer(), "atomic operation of a wrong length", arrival.size());
    return true;
  }
  std::memcpy(&wanted, arrival.data(), sizeof wanted);
  const AtomicUpdate update{AtomicOperation{wanted.operation}, AtomicType{wanted.type}, wanted.operand,
                            wanted.expected};
  if (!is_possible(update.operation, update.type)) {
    sink.reject(arrival.peer(), "unknown atomic operation",
                static_cast<std::uint64_t>(wanted.operation) << 8 | wanted.type);
    return true;
  }
  if (wanted.device >= detail::DevicePath::kMaxDevices) {
    sink.reject(arrival.peer(), "atomic operation from a device out of range", wanted.device);
    return true;
  }
  // Before the operation: a message that is delivered again must not be carried out twice.
  Answer* answer = take_answer(wanted.urgent != 0);
  if (answer == nullptr) return false;
  const std::size_t size = size_of(update.type);
  const network::RegionName name{wanted.region.index, wanted.region.generation};
  std::byte* place = context_.regions.find(name, wanted.offset, size);
  if (place != nullptr && (!detail::is_aligned(place, size) ||
                           (context_.regions.is_of_program(name) && !base::can_update(place))))
    place = nullptr;
  answer->peer = arrival.peer();
  answer->device = static_cast<std::uint8_t>(wanted.device);
  answer->channel = Channel::atomic_ended;
  answer->request = wanted.request;
  answer->outcome = place != nullptr ? Outcome::ok : Outcome::refused;
  answer->old = place != nullptr ? carry_out(update, place) : 0;
  const bool signals = place != nullptr && static_cast<std::uint16_t>(word >> 32) != 0;
  // The answer goes first: the initiator does not wait for the effects of the signal.
  give_or_keep(*answer);
  if (signals) signal(word, Operation::atomic_arrived, arrival.peer());
  return true;
}

void OneSided::on_atomic_ended(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept {
  AtomicEnded ended{};
  if (arrival.size() != sizeof ended)
    return sink.reject(arrival.peer(), "end of an atomic operation of a wrong length", arrival.size());
  std::memcpy(&ended, arrival.data(), sizeof ended);
  Request* request = claim(name_of(word), arrival.peer(), Operation::atomic);
  if (request == nullptr) return unknown(arrival, "end of an unknown atomic operation", word, sink);
  const bool is_ok = ended.outcome == 0;
  if (is_ok && request->data != nullptr) std::memcpy(request->data, &ended.old, request->size);
  settle(*request, is_ok ? Outcome::ok : Outcome::refused, true);
}

}  // namespace weft::core
