// Queue entries whose payload lies outside the entry.
#include <weft/detail/entry_ring.hpp>

#include <cstring>

namespace weft::detail {

namespace {

std::uint64_t tag_and_handle_of(const Message& message) noexcept {
  // Most messages without data of a peer have no handle either.
  const std::uint32_t handle = MessageAccess::handle(message);
  return handle != 0 && MessageAccess::has_come(message) ? message.tag() | std::uint64_t{handle} << 32
                                                         : message.tag();
}

/// Out of line, so that store_external() saves no registers for it.
[[gnu::noinline]] void store_active_message(QueueEntry& entry, Message& message) noexcept {
  const std::uint64_t of_view = MessageAccess::kind_of_view(message);
  const Payload payload = message.release();
  entry.kind = of_view | (payload.owner != nullptr ? MessageAccess::kOwner : 0);
  const QueueEntry::External external{payload.data,  payload.size,   message.user_data(),
                                      payload.owner, payload.cookie, tag_and_handle_of(message)};
  std::memcpy(entry.place, &external, sizeof external);
}

}  // namespace

void QueueEntry::store_external(Message& message) noexcept {
  if (message.operation() == Operation::active_message) return store_active_message(*this, message);
  kind = MessageAccess::kind(message);
  const External external{message.data(),
                          message.size(),
                          message.user_data(),
                          MessageAccess::owner(message),
                          MessageAccess::cookie(message),
                          tag_and_handle_of(message)};
  std::memcpy(place, &external, sizeof external);
  MessageAccess::disown(message);
}

void QueueEntry::load_external(Message& message) noexcept {
  External external;
  std::memcpy(&external, place, sizeof external);
  std::uint32_t handle = 0;
  if (MessageAccess::has_come(message)) {
    handle = static_cast<std::uint32_t>(external.tag >> 32);
    external.tag = static_cast<std::uint32_t>(external.tag);
  }
  MessageAccess::set_external(message, external.tag, external.data, external.size, external.user_data,
                              external.owner, external.cookie, handle);
  MessageAccess::must_read(message);
}

}  // namespace weft::detail
