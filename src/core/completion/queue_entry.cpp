// Queue entries whose payload does not lie in the entry.
#include <weft/detail/entry_ring.hpp>

#include <cstring>

namespace weft::detail {

void QueueEntry::store_external(Message& message) noexcept {
  about = {0, MessageAccess::holding(message), message.operation(), message.outcome()};
  External external{};
  if (message.operation() == Operation::active_message && !message.is_owner()) {
    Message kept = message.take();
    external = {kept.data(), kept.size(), nullptr, MessageAccess::owner(kept), MessageAccess::cookie(kept),
                kept.tag()};
    MessageAccess::disown(kept);
    about.holding = MessageAccess::Holding::owner;
  } else {
    external = {message.data(),
                message.size(),
                message.user_data(),
                MessageAccess::owner(message),
                MessageAccess::cookie(message),
                message.tag()};
    MessageAccess::disown(message);
  }
  std::memcpy(place, &external, sizeof external);
}

void QueueEntry::load_external(Message& message) noexcept {
  External external;
  std::memcpy(&external, place, sizeof external);
  MessageAccess::set_view(message, about.operation, peer, external.tag, external.data, external.size, nullptr,
                          external.cookie);
  MessageAccess::set_user_data(message, external.user_data);
  if (about.holding == MessageAccess::Holding::owner)
    MessageAccess::set_owner(message, external.owner, external.cookie);
}

}  // namespace weft::detail
