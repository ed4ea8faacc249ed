// Keeping messages beyond their delivery.
#include "base/memory/bulk_copy.hpp"

#include <weft/completion/completion.hpp>
#include <weft/detail/copy.hpp>
#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace weft {

using detail::MessageAccess;

namespace {

/// Returns a copy of the payload on the heap.
std::byte* copy_of(const std::byte* data, std::size_t size) noexcept {
  std::byte* copy = detail::heap_payloads().allocate(size);
  if (copy == nullptr) std::abort();  // as operator new would in a noexcept function
  base::copy_bulk(copy, data, size);
  return copy;
}

}  // namespace

Message::Message(const MessageFields& fields) noexcept {
  MessageAccess::set_view(*this, fields.operation, fields.peer, fields.tag, fields.bytes.data(),
                          fields.bytes.size(), nullptr, 0);
  MessageAccess::set_outcome(*this, fields.outcome);
  MessageAccess::excuse_outcome(*this);  // the program's own
  MessageAccess::set_device(*this, fields.device & 0xff);
  kind_ |= kMade;
  user_data_ = fields.user_data;
  if (MessageAccess::has_come(*this)) {
    tag_ = static_cast<std::uint32_t>(fields.tag);
    handle_ = static_cast<std::uint32_t>(fields.remote.bits() >> 32);
  }
  if (fields.operation == Operation::receive) cookie_ = std::max(fields.length, size_);
}

Message::Message(const MessageFields& fields, const Payload& payload) noexcept : Message(fields) {
  data_ = payload.data;
  size_ = payload.size;
  if (payload.owner != nullptr) MessageAccess::set_owner(*this, payload.owner, payload.cookie);
}

Payload Message::release() noexcept {
  Payload payload{const_cast<std::byte*>(data_), size_, nullptr, 0};
  if (holding() == Holding::owner) {
    payload.owner = owner_;
    payload.cookie = cookie_;
    MessageAccess::disown(*this);
  } else if (operation() == Operation::active_message && size_ != 0) {
    if (holding() == Holding::view && size_ > kEntryPayload) {
      Message kept = take();
      payload = kept.release();
    } else {
      payload.data = copy_of(data_, size_);
      payload.owner = &detail::heap_payloads();
    }
  }
  // The lender of memory that was not kept stays set: its memory returns to it.
  set_holding(Holding::view);
  data_ = nullptr;
  size_ = 0;
  return payload;
}

Message Message::take() noexcept {
  Message kept;  // the only object that is returned, so that it is made where the caller wants it
  if (is_owner()) {
    kept.move_from(*this);
    return kept;
  }
  MessageAccess::set_view(kept, operation(), peer(), tag_, data_, size_, nullptr, cookie_);
  kept.user_data_ = user_data_;
  kept.kind_ = kind_ & ~kHolding;
  note_read();  // the kept message has it now
  kept.handle_ = handle_;
  if (operation() != Operation::active_message) return kept;  // names the poster's own buffer
  if (size_ <= kEntryPayload) {
    std::byte* const to = MessageAccess::set_in_place(kept, size_);
    detail::copy_small(to, data_, size_);
    return kept;
  }
  std::uint64_t cookie = cookie_;
  const std::byte* where = data_;
  PayloadOwner* owner = lender_ != nullptr ? lender_->keep(where, size_, cookie) : nullptr;
  if (owner == nullptr) {
    where = copy_of(data_, size_);
    owner = &detail::heap_payloads();
  }
  kept.data_ = where;
  MessageAccess::set_owner(kept, owner, cookie);
  if (where == data_) lender_ = nullptr;  // held where it lies: it does not return after delivery
  return kept;
}

}  // namespace weft
