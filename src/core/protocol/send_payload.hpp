// What a send carries: one buffer, or several that travel one behind the other.
#pragma once

#include "base/bulk_copy.hpp"

#include <weft/types.hpp>

#include <cstddef>
#include <cstring>
#include <span>

namespace weft::core {

struct SendPayload {
  Bytes bytes;
  /// Unless empty, instead of `bytes`; `parts_size`: bytes of all of them.
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
