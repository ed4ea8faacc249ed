// Puts refused messages into the backlog.
#pragma once

#include "core/protocol/post_context.hpp"

#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/types.hpp>

namespace weft::core {

/// Returns a record of the backlog that holds the payload, to fill in and then add(). The payload is in
/// `packet`, unless that is null, and moves; or it is borrowed from the poster, or copied. nullptr: there is
/// no room, and `refused` says why the post is refused.
[[nodiscard]] PendingPost* take_pending(const PostContext& posts, int peer, MessageClass message_class,
                                        Bytes bytes, Packet* packet, bool is_borrowed,
                                        Status& refused) noexcept;

}  // namespace weft::core
