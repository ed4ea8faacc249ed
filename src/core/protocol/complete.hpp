// How a message ends in its receive; a header, because it is inlined where messages arrive.
#pragma once

#include "core/protocol/send_receive.hpp"

#include <weft/detail/message_access.hpp>

#include <cstring>

namespace weft::core {

/// A message has met its receive, which was unlinked, and which release() gives back. `message`: as
/// set_receive() made it. `arrival`: what has the payload, if it can be moved out.
template <class Release>
[[gnu::always_inline]] inline void SendReceive::complete(MatchRecord& record, Message& message,
                                                         std::uint64_t tag, Bytes payload,
                                                         const Release& release, Message* arrival) noexcept {
  const std::span<std::byte> buffer = record.buffer;
  std::size_t size = payload.size();
  if (buffer.size() < size) [[unlikely]] {
    size = buffer.size();
    detail::MessageAccess::set_outcome(message, Outcome::truncated);
  }
  if (size == sizeof(std::uint64_t)) {
    std::memcpy(buffer.data(), payload.data(), sizeof(std::uint64_t));
  } else if (arrival != nullptr) {
    fill(record, *arrival, size);
  } else {
    fill(record, payload.data(), size);
  }
  detail::MessageAccess::set_received(message, tag, buffer.data(), size, payload.size(), record.user_data);
  Completion* const completion = record.completion;
  release();
  completion->signal(message);
}
[[gnu::always_inline]] inline void SendReceive::complete(MatchingEngine& engine, MatchRecord& record,
                                                         Message& message, std::uint64_t tag, Bytes payload,
                                                         Message* arrival) noexcept {
  complete(
      record, message, tag, payload, [&] { engine.release_receive(record); }, arrival);
}

}  // namespace weft::core
