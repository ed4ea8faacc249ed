// The payload of a send: one contiguous buffer, or a list of buffers that is gathered into one message.
#pragma once

#include "base/memory/bulk_copy.hpp"
#include "core/protocol/timed_posts.hpp"

#include <weft/packet.hpp>
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

/// The description of a send that ends before it was accepted; `packet`, unless null, holds the payload.
[[nodiscard]] inline Unposted unposted_send(int peer, std::uint64_t tag, const SendPayload& payload,
                                            const Packet* packet) noexcept {
  // For a list of buffers, or a packet that was taken over, the end carries no data.
  const bool has_data = payload.parts.empty() && packet == nullptr;
  return {Operation::send, peer, tag, has_data ? payload.bytes.data() : nullptr, payload.size()};
}

}  // namespace weft::core
