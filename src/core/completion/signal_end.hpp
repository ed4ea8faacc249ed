// Signals a completion object that an operation of its poster has ended.
#pragma once

#include "core/completion/immediate_completions.hpp"

#include <weft/completion/completion.hpp>
#include <weft/detail/message_access.hpp>
#include <weft/status.hpp>

#include <cstdint>

namespace weft::core {

/// Returns posted, which the post may return in turn.
[[gnu::always_inline]] inline Status signal_end(ImmediateCompletions& ends, Operation operation, int peer,
                                                std::uint64_t tag, Bytes bytes, Completion& completion,
                                                void* user_data, Outcome outcome,
                                                std::uint32_t device) noexcept {
  if (completion.counts_only() && outcome == Outcome::ok) {
    completion.signal_count(1);
    return Status::posted();
  }
  Message message;
  detail::MessageAccess::set_view(message, operation, peer, tag, bytes.data(), bytes.size(), nullptr, 0);
  detail::MessageAccess::set_device(message, device);
  detail::MessageAccess::set_user_data(message, user_data);
  if (outcome != Outcome::ok) [[unlikely]]
    detail::MessageAccess::set_outcome(message, outcome);
  ends.signal(completion, message);
  return Status::posted();
}

}  // namespace weft::core
