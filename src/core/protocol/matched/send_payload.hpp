// The payload of a send: one contiguous buffer, or a list of buffers that is gathered into one message.
#pragma once

#include "base/memory/bulk_copy.hpp"

#include <weft/types.hpp>

#include <cstddef>
#include <cstring>
#include <span>

namespace weft::core {

struct SendPayload {
  Bytes bytes;
  /// Unless empty, the payload in place of `bytes`; `parts_size` is the sum of their sizes.
  std::span<const Bytes> parts{};
  std::size_t parts_size = 0;

  [[nodiscard]] std::size_t size() const noexcept { return parts.empty() ? bytes.size() : parts_size; }
  void copy_to(std::byte* to) const noexcept {
    if (parts.empty()) {
      if (!bytes.empty()) base::copy_bulk(to, bytes.data(), bytes.size());
      return;
    }
    for (const Bytes& part : parts) {
      if (!part.empty()) base::copy_bulk(to, part.data(), part.size());
      to += part.size();
    }
  }
};

}  // namespace weft::core
