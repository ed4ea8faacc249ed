// Queue entries whose payload does not lie in the entry.
#include <weft/detail/entry_ring.hpp>

#include <cstring>

namespace weft::detail {

void QueueEntry::store_external(Message& message) noexcept {
  External external{};
  if (message.operation() == Operation::active_message && !message.is_owner()) {
    Message kept = message.take();
    external = {kept.data(), kept.size(), nullptr, MessageAccess::owner(kept), MessageAccess::cookie(kept),
                kept.tag()};
    kind = MessageAccess::kind(kept);
    MessageAccess::disown(kept);
  } else {
    external = {message.data(),
                message.size(),
                message.user_data(),
                MessageAccess::owner(message),
                MessageAccess::cookie(message),
                message.tag()};
    kind = MessageAccess::kind(message);
    MessageAccess::disown(message);
  }
  std::memcpy(place, &external, sizeof external);
}

void QueueEntry::load_external(Message& message) noexcept {
  External external;
  std::memcpy(&external, place, sizeof external);
  MessageAccess::set_external(message, external.tag, external.data, external.size, external.user_data,
                              external.owner, external.cookie);
}

}  // namespace weft::detail
