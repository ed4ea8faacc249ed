// Completes a matched receive: copies the payload and signals; a header, because it is inlined where messages
// arrive.
#pragma once

#include "core/matching/matching_engine.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <cstring>

namespace weft::core {

/// Copies a payload into a buffer; `size` is the smaller of the two sizes.
void copy_payload(MutableBytes buffer, const std::byte* from, std::size_t size) noexcept;
/// Copies a payload into a receive's buffer. Takes the record, so that the loops that call it need not keep
/// the buffer in registers.
void fill_buffer(const MatchRecord& record, const std::byte* from, std::size_t size) noexcept;
/// Copies the payload of a message that is not needed afterwards, and releases the message.
void fill_buffer(const MatchRecord& record, Message& arrival, std::size_t size) noexcept;
/// Reports that a message was longer than the buffer of a receive whose completion object only counts.
[[gnu::cold]] void report_cut(const MatchRecord& record, std::size_t size, std::size_t length) noexcept;

/// Copies as much of the payload as fits into the buffer of a receive, and returns its size. `arrival` is the
/// message that holds the payload, if the payload can be moved out of it.
[[gnu::always_inline]] inline std::size_t fill_receive(const MatchRecord& record, Bytes payload,
                                                       Message* arrival = nullptr) noexcept {
  const std::size_t size = std::min(payload.size(), record.buffer.size());
  if (size == sizeof(std::uint64_t)) {
    std::memcpy(record.buffer.data(), payload.data(), sizeof(std::uint64_t));
  } else if (arrival != nullptr) {
    fill_buffer(record, *arrival, size);
  } else {
    fill_buffer(record, payload.data(), size);
  }
  return size;
}

/// fill_receive() for a receive whose completion object only counts, so that nobody learns of a message that
/// was longer than the buffer.
[[gnu::always_inline]] inline void fill_counted(const MatchRecord& record, Bytes payload,
                                                Message* arrival = nullptr) noexcept {
  if (const std::size_t size = fill_receive(record, payload, arrival); size < payload.size()) [[unlikely]]
    report_cut(record, size, payload.size());
}

/// Completes a receive that has matched a message and was unlinked; release() releases its record. `message`
/// is as set_receive() made it; `arrival` as in fill_receive().
template <class Release>
[[gnu::always_inline]] inline void complete_receive(MatchRecord& record, Message& message, std::uint64_t tag,
                                                    Bytes payload, const Release& release,
                                                    Message* arrival = nullptr) noexcept {
  Completion* const completion = record.completion;
  std::size_t size = payload.size();
  if (record.buffer.size() < size) [[unlikely]] {
    size = record.buffer.size();
    detail::MessageAccess::set_outcome(message, Outcome::truncated);
  }
  fill_receive(record, payload.first(size), arrival);
  detail::MessageAccess::set_received(message, tag, record.buffer.data(), size, payload.size(),
                                      record.user_data);
  release();
  completion->signal(message);
}
[[gnu::always_inline]] inline void complete_receive(MatchingEngine& engine, MatchRecord& record,
                                                    Message& message, std::uint64_t tag, Bytes payload,
                                                    Message* arrival = nullptr) noexcept {
  complete_receive(
      record, message, tag, payload, [&] { engine.storage().release_receive(record); }, arrival);
}

}  // namespace weft::core
