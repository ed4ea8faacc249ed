// How a message ends in its receive; a header, because it is inlined where messages arrive.
#pragma once

#include "core/protocol/send_receive.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <cstring>

namespace weft::core {

/// Copies what has room into the buffer of a receive, and returns how much that is. `arrival`: what has the
/// payload, if it can be moved out.
[[gnu::always_inline]] inline std::size_t SendReceive::fill_receive(const MatchRecord& record, Bytes payload,
                                                                    Message* arrival) noexcept {
  const std::size_t size = std::min(payload.size(), record.buffer.size());
  if (size == sizeof(std::uint64_t)) {
    std::memcpy(record.buffer.data(), payload.data(), sizeof(std::uint64_t));
  } else if (arrival != nullptr) {
    fill(record, *arrival, size);
  } else {
    fill(record, payload.data(), size);
  }
  return size;
}

/// A message has met its receive, which was unlinked, and which release() gives back. `message`: as
/// set_receive() made it. `arrival`: as in fill_receive().
template <class Release>
[[gnu::always_inline]] inline void SendReceive::complete(MatchRecord& record, Message& message,
                                                         std::uint64_t tag, Bytes payload,
                                                         const Release& release, Message* arrival) noexcept {
  const std::size_t size = fill_receive(record, payload, arrival);
  Completion* const completion = record.completion;
  if (size < payload.size()) [[unlikely]]
    detail::MessageAccess::set_outcome(message, Outcome::truncated);
  detail::MessageAccess::set_received(message, tag, record.buffer.data(), size, payload.size(),
                                      record.user_data);
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
