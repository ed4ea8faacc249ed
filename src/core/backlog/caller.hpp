// Who posts: what an attempt has to know about the call that makes it.
#pragma once

#include "core/completion/immediate_completions.hpp"

namespace weft::core {

struct Caller {
  bool exclusive;             // no other thread uses the device: its endpoint is a SerialEndpoint
  bool from_handler = false;  // a handler posts, or did when the post was queued: its answers find other room
  bool reserves_room = false;  // other messages wait for room: see network::Outgoing
  bool again = false;          // the post comes from the backlog

  /// A call of an endpoint.
  [[nodiscard]] static Caller of_endpoint(bool exclusive) noexcept {
    return {exclusive, SignalScope::is_inside()};
  }
};

}  // namespace weft::core
