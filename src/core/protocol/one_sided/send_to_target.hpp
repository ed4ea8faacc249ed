// Sends a message of a one-sided access to its target.
#pragma once

#include "core/protocol/one_sided/access_request.hpp"
#include "core/protocol/to_status.hpp"

#include <weft/detail/lane.hpp>

namespace weft::core {

/// Calls send(outgoing), which sends to the target, or to the device of the `signal` that the message
/// carries, if there is one. Requests that handlers post use the lane of answers when there is no room, so
/// that handlers of two ranks cannot wait for each other. `has_left` becomes true when the peer has left.
template <class Send>
Status send_to_target(AccessRequest& request, Channel channel, RemoteCompletion signal, Caller caller,
                      bool& has_left, const Send& send) noexcept {
  const AccessOptions& options = request.options;
  const bool carries_signal = signal.generation() != 0;
  network::Outgoing outgoing{};
  outgoing.peer = request.where.region.rank;
  outgoing.device = carries_signal ? signal.device() : std::uint8_t{options.device};
  outgoing.traffic = network::TrafficClass::data;
  outgoing.channel = static_cast<std::uint8_t>(channel);
  outgoing.to_handle = carries_signal;
  outgoing.word = carries_signal ? detail::handle_word(signal, options.tag) : 0;
  outgoing.reserves_room = caller.reserves_room;
  request.is_signalled = carries_signal;
  network::SendResult result = send(outgoing);
  if (result == network::SendResult::no_slot && request.from_handler) {
    outgoing.traffic = network::TrafficClass::control;
    outgoing.reserves_room = false;
    result = send(outgoing);
  }
  has_left = result == network::SendResult::peer_left;
  return to_status(result);
}

}  // namespace weft::core
