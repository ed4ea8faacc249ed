// Slow paths of the delivery of active messages.
#include "core/protocol/active_message/deliver.inl.hpp"

#include "base/memory/bulk_copy.hpp"
#include "core/completion/allocator_access.hpp"

#include <string>

namespace weft::core {

/// Delivers a copy to an object whose allocator supplies memory for payloads. Returns false when there is no
/// room now.
bool ActiveMessages::deliver_copy(Completion& completion, std::uint64_t word,
                                  const Message& message) noexcept {
  Message copy;
  const std::size_t size = message.size();
  std::byte* data = nullptr;
  if (size != 0) {
    PayloadOwner& owner = detail::AllocatorAccess::use(completion);
    data = owner.allocate_on(size, device_);
    if (data == nullptr) return false;
    base::copy_bulk(data, message.data(), size);
    detail::MessageAccess::set_view(copy, Operation::active_message, message.peer(), message.tag(), data,
                                    size, nullptr, 0);
    detail::MessageAccess::set_owner(copy, &owner, 0);
  } else {
    detail::MessageAccess::set_view(copy, Operation::active_message, message.peer(), message.tag(), nullptr,
                                    0, nullptr, 0);
  }
  detail::MessageAccess::set_came_by(copy, word, device_);
  completion.signal(copy);
  return true;
}

void ActiveMessages::deliver_copy(Completion& completion, network::Batch& batch) noexcept {
  if (!deliver_copy(completion, batch.word(), batch.message())) batch.leave();
}

/// The allocator was set after the slot of the message was freed.
void ActiveMessages::deliver_copy_at_once(Completion& completion, std::uint64_t word,
                                          Message& message) noexcept {
  if (deliver_copy(completion, word, message)) return;
  Completion* const named = exposures_.find(word);
  detail::MessageAccess::set_came_by(message, word, device_);
  if (named != nullptr) named->signal(message);
}

void ActiveMessages::refuse(std::uint64_t word, int peer) noexcept {
  if (exposures_.drops_late(word)) return;
  const Context& context = posts_.context;
  const std::uint64_t count = context.counters.refused_handles.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!is_reported(count)) return;
  context.log.warn("refused a message from rank " + std::to_string(peer) + " for id " +
                   std::to_string(word >> 48) + ", generation " + std::to_string(word >> 32 & 0xffff) +
                   ": stale, withdrawn or forged (" + std::to_string(count) + " so far)");
}

}  // namespace weft::core
