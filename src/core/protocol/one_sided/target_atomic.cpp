// Atomic operations by messages: the target's side.
#include "base/memory/guarded_copy.hpp"
#include "core/protocol/one_sided/target.hpp"

#include <cstring>

namespace weft::core {

bool AccessTarget::on_atomic(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept {
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
  std::byte* memory = context_.regions.find(name, wanted.offset, size);
  // Beside operations of devices these would not be atomic.
  if (memory != nullptr && (!detail::is_aligned(memory, size) || context_.regions.has_native_atomics(name) ||
                            (context_.regions.is_of_program(name) && !base::can_update(memory))))
    memory = nullptr;
  answer->peer = arrival.peer();
  answer->device = static_cast<std::uint8_t>(wanted.device);
  answer->channel = Channel::atomic_completed;
  answer->request = wanted.request;
  answer->outcome = memory != nullptr ? Outcome::ok : Outcome::refused;
  answer->old = memory != nullptr ? carry_out(update, memory) : 0;
  const bool signals = memory != nullptr && static_cast<std::uint16_t>(word >> 32) != 0;
  // The answer goes first: the initiator does not wait for the effects of the signal.
  give_or_store(*answer);
  if (signals) signal(word, Operation::atomic_arrived, arrival.peer());
  return true;
}

}  // namespace weft::core
