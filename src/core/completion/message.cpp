// Keeping messages beyond their delivery.
#include "base/bulk_copy.hpp"

#include <weft/completion/completion.hpp>
#include <weft/detail/message_access.hpp>

#include <cstdlib>
#include <cstring>

namespace weft {

Message Message::take() noexcept {
  using detail::MessageAccess;
  if (is_owner()) return std::move(*this);
  Message kept;
  MessageAccess::set_view(kept, operation(), peer(), tag_, data_, size_, nullptr, cookie_);
  MessageAccess::set_outcome(kept, outcome());
  MessageAccess::set_user_data(kept, user_data_);
  if (operation() != Operation::active_message) return kept;  // names the poster's own buffer
  if (size_ <= kEntryPayload) {
    std::memcpy(MessageAccess::set_in_place(kept, size_), data_, size_);
    return kept;
  }
  std::uint64_t cookie = cookie_;
  const std::byte* where = data_;
  PayloadOwner* owner = lender_ != nullptr ? lender_->keep(where, size_, cookie) : nullptr;
  if (owner == nullptr) {
    std::byte* copy = detail::heap_payloads().allocate(size_);
    if (copy == nullptr) std::abort();  // as operator new would in a noexcept function
    base::copy_bulk(copy, data_, size_);
    where = copy;
    owner = &detail::heap_payloads();
  }
  MessageAccess::set_view(kept, operation(), peer(), tag_, where, size_, nullptr, 0);
  MessageAccess::set_owner(kept, owner, cookie);
  if (where == data_) lender_ = nullptr;  // held where it lies: it does not go back after delivery
  return kept;
}

}  // namespace weft
