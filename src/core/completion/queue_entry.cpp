// Queue entries whose payload lies outside the entry, or leaves no room in it for the handle.
#include "core/completion/queue_entry.hpp"

#include <weft/detail/copy.hpp>

namespace weft::detail {

namespace {

/// Out of line, so that store_external() saves no registers for it.
[[gnu::noinline]] void store_active_message(QueueEntry& entry, Message& message) noexcept {
  const std::uint64_t of_view = MessageAccess::kind_of_view(message);
  const Payload payload = message.release();
  const ExternalNames names =
      names_of(message, of_view | (payload.owner != nullptr ? MessageAccess::kOwner : 0));
  entry.kind = names.kind;
  store_words_of(entry,
                 {payload.data, payload.size, message.user_data(), payload.owner, payload.cookie, names.tag});
}

/// The rare part of load_long(): the handle by which the message came, and a failure that is to be read.
[[gnu::noinline]] void load_handle(QueueEntry& entry, Message& message) noexcept {
  if (entry.kind >> MessageAccess::kKindBits == QueueEntry::kExternalWithHandle)
    MessageAccess::split_tag(message);
  MessageAccess::must_read(message);
}

}  // namespace

void QueueEntry::store_external(Message& message) noexcept {
  if (message.operation() == Operation::active_message) return store_active_message(*this, message);
  store_end(*this, message);
}

void QueueEntry::load_long(Message& message) noexcept {
  const std::uint64_t stored = kind;
  MessageAccess::set_kind(message, stored & MessageAccess::kKind);
  if (const std::size_t size = stored >> MessageAccess::kKindBits; size <= kEntryPayload) {
    copy_small(MessageAccess::set_arrived_in_place(message, tag, size, 0), place, size);
    return;
  }
  const auto word = [this](std::size_t at) __attribute__((always_inline)) { return word_at(place + at); };
  MessageAccess::set_external(
      message, word(offsetof(External, tag)),
      reinterpret_cast<const std::byte*>(word(offsetof(External, data))), word(offsetof(External, size)),
      reinterpret_cast<void*>(word(offsetof(External, user_data))),
      reinterpret_cast<PayloadOwner*>(word(offsetof(External, owner))), word(offsetof(External, cookie)), 0);
  // One test for both rare cases.
  constexpr std::uint64_t kRare = (kExternalWithHandle ^ kExternal) << MessageAccess::kKindBits |
                                  MessageAccess::kind_of(Outcome::peer_failed);
  if ((stored & kRare) != 0) [[unlikely]]
    load_handle(*this, message);
}

}  // namespace weft::detail
