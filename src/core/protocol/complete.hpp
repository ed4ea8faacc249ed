// How a message ends in its receive; a header, because it is inlined where messages arrive.
#pragma once

#include "core/protocol/send_receive.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <cstring>

namespace weft::core {

/// A message has met its receive, which was unlinked. `message`: as set_receive() made it.
[[gnu::always_inline]] inline void SendReceive::complete(MatchingEngine& engine, MatchRecord& record,
                                                         Message& message, std::uint64_t tag,
                                                         Bytes payload) noexcept {
  const std::span<std::byte> buffer = record.buffer;
  const std::size_t size = std::min(buffer.size(), payload.size());
  if (size == sizeof(std::uint64_t)) {
    std::memcpy(buffer.data(), payload.data(), sizeof(std::uint64_t));
  } else {
    fill(record, payload.data(), size);
  }
  detail::MessageAccess::set_received(message, tag, buffer.data(), size, payload.size(), record.user_data);
  if (size < payload.size()) [[unlikely]]
    detail::MessageAccess::set_outcome(message, Outcome::truncated);
  Completion* const completion = record.completion;
  engine.release_receive(record);
  completion->signal(message);
}

}  // namespace weft::core
