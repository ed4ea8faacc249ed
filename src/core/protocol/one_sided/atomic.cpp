// Atomic operations by messages: the initiator's side.
#include "core/protocol/one_sided/messages.hpp"
#include "core/protocol/one_sided/send_to_target.hpp"

#include <cstring>

namespace weft::core {

using network::Outgoing;

Status AccessMessages::send_atomic(Request& request, Caller caller, bool& has_left) noexcept {
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
  return send_to_target(
      request, Channel::atomic, request.options.signal, caller, has_left,
      [&](const Outgoing& outgoing) { return context_.port->send(outgoing, bytes_of(message), caller); });
}

void AccessMessages::on_atomic_completed(std::uint64_t word, const Message& arrival,
                                         network::Sink& sink) noexcept {
  AtomicEnded ended{};
  if (arrival.size() != sizeof ended)
    return sink.reject(arrival.peer(), "end of an atomic operation of a wrong length", arrival.size());
  std::memcpy(&ended, arrival.data(), sizeof ended);
  Request* request = requests_.claim(name_of(word), arrival.peer(), Operation::atomic);
  if (request == nullptr)
    return requests_.reject_unknown(arrival, "end of an unknown atomic operation", word, sink);
  const bool is_ok = ended.outcome == 0;
  if (is_ok && request->data != nullptr) std::memcpy(request->data, &ended.old, request->size);
  requests_.settle(*request, is_ok ? Outcome::ok : Outcome::refused);
}

}  // namespace weft::core
