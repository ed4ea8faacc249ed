// Completion of operations that end while they are posted.
#pragma once

#include "core/protocol/context.hpp"

#include <weft/completion/completion.hpp>
#include <weft/message.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

namespace weft::core {

/// Signals a completion object that a post has ended which has not checked whether the peer has left, because
/// lanes and windows do not tell. Returns posted.
Status signal_completion(const Context& context, Operation operation, int peer, std::uint64_t tag,
                         Bytes bytes, Completion& completion, void* user_data) noexcept;

}  // namespace weft::core
