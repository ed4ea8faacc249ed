// Completion of operations that end while they are posted.
#pragma once

#include "core/completion/signal_end.hpp"
#include "core/protocol/context.hpp"

#include <weft/completion/completion.hpp>
#include <weft/message.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

namespace weft::core {

/// The part of signal_completion() for a peer that has left or failed.
[[gnu::cold, gnu::noinline]] inline Status signal_lost(const Context& context, Operation operation, int peer,
                                                       std::uint64_t tag, Bytes bytes, Completion& completion,
                                                       void* user_data) noexcept {
  if (operation == Operation::send || operation == Operation::active_message_sent)
    context.counters.dropped_sends.fetch_add(1, std::memory_order_relaxed);
  return signal_end(context.ends, operation, peer, tag, bytes, completion, user_data, Outcome::peer_failed,
                    context.device);
}

/// Signals a completion object that a post has ended which has not checked whether the peer has left, because
/// lanes and windows do not tell. Returns posted.
[[gnu::always_inline]] inline Status signal_completion(const Context& context, Operation operation, int peer,
                                                       std::uint64_t tag, Bytes bytes, Completion& completion,
                                                       void* user_data) noexcept {
  if (context.port->has_left(peer)) [[unlikely]]
    return signal_lost(context, operation, peer, tag, bytes, completion, user_data);
  return signal_end(context.ends, operation, peer, tag, bytes, completion, user_data, Outcome::ok,
                    context.device);
}

}  // namespace weft::core
