// Queue entries of operations that have ended.
#pragma once

#include <weft/detail/entry_ring.hpp>
#include <weft/detail/message_access.hpp>
#include <weft/message.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::detail {

/// Writes an External word by word: as a whole it would be assembled on the stack first.
[[gnu::always_inline]] inline void store_words_of(QueueEntry& entry,
                                                  const QueueEntry::External& external) noexcept {
  const auto put = [&entry](std::size_t at, const auto& value) __attribute__((always_inline)) {
    static_assert(sizeof value == sizeof(std::uint64_t));
    std::memcpy(entry.place + at, &value, sizeof value);
  };
  using External = QueueEntry::External;
  put(offsetof(External, data), external.data);
  put(offsetof(External, size), external.size);
  put(offsetof(External, user_data), external.user_data);
  put(offsetof(External, owner), external.owner);
  put(offsetof(External, cookie), external.cookie);
  put(offsetof(External, tag), external.tag);
}

/// The kind of an External's entry, and the tag with the handle, which only messages of a peer have.
struct ExternalNames {
  std::uint64_t kind;
  std::uint64_t tag;
};
[[nodiscard]] inline ExternalNames names_of(const Message& message, std::uint64_t kind) noexcept {
  // Most messages without data of a peer have no handle either.
  const std::uint32_t handle = MessageAccess::handle(message);
  if (handle != 0 && MessageAccess::has_come(message)) [[unlikely]]
    return {kind | QueueEntry::kExternalWithHandle << MessageAccess::kKindBits,
            message.tag() | std::uint64_t{handle} << 32};
  return {kind | QueueEntry::kExternal << MessageAccess::kKindBits, message.tag()};
}

/// Stores a message that is no active message; its payload's owner is the entry from then on.
[[gnu::always_inline]] inline void store_end(QueueEntry& entry, Message& message) noexcept {
  const ExternalNames names = names_of(message, MessageAccess::kind(message));
  entry.kind = names.kind;
  store_words_of(entry, {message.data(), message.size(), message.user_data(), MessageAccess::owner(message),
                         MessageAccess::cookie(message), names.tag});
  MessageAccess::disown(message);
}

}  // namespace weft::detail
