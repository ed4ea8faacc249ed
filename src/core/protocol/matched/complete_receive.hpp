// Completes a matched receive: copies the payload and signals; a header, because it is inlined where messages
// arrive.
#pragma once

#include "core/protocol/matched/matched_messages.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <cstring>

namespace weft::core {

/// Copies as much of the payload as fits into the buffer of a receive, and returns its size. `arrival` is the
/// message that holds the payload, if the payload can be moved out of it.
[[gnu::always_inline]] inline std::size_t MatchedMessages::fill_receive(const MatchRecord& record,
                                                                        Bytes payload,
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

/// fill_receive() for a receive whose completion object only counts, so that nobody learns of a message that
/// was longer than the buffer.
[[gnu::always_inline]] inline void MatchedMessages::fill_counted(const MatchRecord& record, Bytes payload,
                                                                 Message* arrival) noexcept {
  if (const std::size_t size = fill_receive(record, payload, arrival); size < payload.size()) [[unlikely]]
    tell_cut(record, size, payload.size());
}

/// Completes a receive that has matched a message and was unlinked; release() releases its record. `message`
/// is as set_receive() made it; `arrival` as in fill_receive().
template <class Release>
[[gnu::always_inline]] inline void MatchedMessages::complete(MatchRecord& record, Message& message,
                                                             std::uint64_t tag, Bytes payload,
                                                             const Release& release,
                                                             Message* arrival) noexcept {
  const std::size_t size = fill_receive(record, payload, arrival);
  Completion* const completion = record.completion;
  if (size < payload.size()) [[unlikely]]
    detail::MessageAccess::set_outcome(message, Outcome::truncated);
  detail::MessageAccess::set_received(message, tag, record.buffer.data(), size, payload.size(),
                                      record.user_data);
  release();
  completion->signal(message);
}
[[gnu::always_inline]] inline void MatchedMessages::complete(MatchingEngine& engine, MatchRecord& record,
                                                             Message& message, std::uint64_t tag,
                                                             Bytes payload, Message* arrival) noexcept {
  complete(
      record, message, tag, payload, [&] { engine.release_receive(record); }, arrival);
}

}  // namespace weft::core
