#include "core/protocol/immediate_completion.hpp"

#include "core/completion/signal_end.hpp"

namespace weft::core {

Status signal_completion(const Context& context, Operation operation, int peer, std::uint64_t tag,
                         Bytes bytes, Completion& completion, void* user_data) noexcept {
  const bool lost = context.port->has_left(peer);
  const bool is_message = operation == Operation::send || operation == Operation::active_message_sent;
  if (lost && is_message) context.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
  return signal_end(context.ends, operation, peer, tag, bytes, completion, user_data,
                    lost ? Outcome::peer_failed : Outcome::ok, context.device);
}

}  // namespace weft::core
