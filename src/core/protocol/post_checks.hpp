// Checks of the arguments that the posts of several protocols have. They throw weft::Error, whose text begins
// with `operation`.
#pragma once

#include "base/refuse.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/message_class.hpp"
#include "core/protocol/wire.hpp"

#include <weft/error.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft::core {

[[noreturn, gnu::cold]] void refuse_peer(int peer, const Context& context, const char* operation);
[[noreturn, gnu::cold]] void refuse_target(const char* operation);
[[noreturn, gnu::cold]] void refuse_class(std::uint32_t message_class, const char* operation);

inline void check_peer(int peer, const Context& context, const char* operation) {
  if (peer < 0 || peer >= context.ranks) [[unlikely]]
    refuse_peer(peer, context, operation);
}
inline void check_target(int peer, RemoteCompletion remote, const Context& context, const char* operation) {
  check_peer(peer, context, operation);
  if (remote.generation() == 0) [[unlikely]]
    refuse_target(operation);
}
inline void check_class(MessageClass message_class, const char* operation) {
  const auto value = static_cast<std::uint32_t>(message_class);
  if (!is_message_class(value)) [[unlikely]]
    refuse_class(value, operation);
}
/// The region that an option names, if any, holds the buffer.
[[gnu::cold]] void require_in_region(LocalRegion region, Bytes buffer, const Context& context,
                                     const char* operation);
inline void check_region(LocalRegion region, Bytes buffer, const Context& context, const char* operation) {
  if (!region.is_empty()) [[unlikely]]
    require_in_region(region, buffer, context, operation);
}
/// The packet holds at least `size` bytes.
void check_packet(const Packet& packet, std::size_t size, const char* operation);

/// Returns the sum of the buffers' sizes, which one message can have.
template <class Buffer>
std::size_t size_of(std::span<const Buffer> buffers, const char* operation) {
  std::uint64_t size = 0;
  for (const Buffer& buffer : buffers) {
    if (buffer.size() > kLargestMessage - size)
      base::refuse(ErrorClass::length, operation,
                   "the buffers have more than " + std::to_string(kLargestMessage) + " bytes together");
    size += buffer.size();
  }
  return size;
}

}  // namespace weft::core
