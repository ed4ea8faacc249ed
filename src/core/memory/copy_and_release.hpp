// Copies a payload out of a buffer that is not read again, and releases the buffer's cache lines to their
// owner.
#pragma once

#include "base/memory/bulk_copy.hpp"

#include <weft/detail/copy.hpp>
#include <weft/detail/lane.hpp>
#include <weft/detail/message_access.hpp>

namespace weft::core {

/// Copies `part` of the arrival's payload. Where the lender wants its cache lines back in written state, this
/// core writes them while it has them, and the arrival has no payload any more.
inline void copy_and_release(std::byte* to, Message& arrival, Bytes part) noexcept {
  const detail::PayloadLender* const lender = detail::MessageAccess::lender(arrival);
  if (part.size() <= detail::kSlotPayload) {
    detail::copy_small(to, part.data(), part.size());
  } else if (lender == nullptr || part.size() < lender->owned_from()) {
    base::copy_bulk(to, part.data(), part.size());
  } else {
    base::move_blocks(to, const_cast<std::byte*>(part.data()), part.size());
    // The lines of headers and trailers, which have been read as well.
    base::overwrite(const_cast<std::byte*>(arrival.data()));
    base::overwrite(const_cast<std::byte*>(arrival.data() + arrival.size() - 1));
    detail::MessageAccess::clear_payload(arrival);
  }
}

}  // namespace weft::core
