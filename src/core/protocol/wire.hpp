// What the protocols put into messages. docs/wire.md has the layout bit by bit.
#pragma once

#include <weft/detail/lane.hpp>

#include <cstdint>

namespace weft::core {

/// The channel of a message, in its slot's header.
enum class Channel : std::uint8_t {
  active_message = detail::kActiveMessageChannel,  // word: handle and tag
  large_message,                                   // word: handle and tag; payload: LargeMessage
  clear_to_send,                                   // payload: ClearToSend
  chunk,                                           // word: transfer; payload: Chunk, then data
  finished,                                        // payload: RequestName
  answer,  // as active_message, posted inside a handler, on a control lane because the data lane was full
};

/// A request or transfer of the rank that is told about it; a stale generation is refused.
struct RequestName {
  std::uint32_t index;
  std::uint32_t generation;
};
/// Announces a payload that lies in the sender's memory.
struct LargeMessage {
  std::uint64_t address;
  std::uint64_t size;
  RequestName request;
  std::uint32_t device;  // of the sender: where answers go
};
/// Asks the sender to stream the payload of `request` as chunks of `transfer`.
struct ClearToSend {
  RequestName request;
  RequestName transfer;
};
/// In front of the data in a chunk's packet; keeps the data aligned to 16 bytes.
struct Chunk {
  std::uint64_t offset;
  std::uint64_t size;
};
static_assert(sizeof(LargeMessage) <= detail::kSlotPayload && sizeof(Chunk) == 16);

[[nodiscard]] constexpr std::uint64_t word_of(RequestName name) noexcept {
  return static_cast<std::uint64_t>(name.index) << 32 | name.generation;
}
[[nodiscard]] constexpr RequestName name_of(std::uint64_t word) noexcept {
  return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
}

}  // namespace weft::core
