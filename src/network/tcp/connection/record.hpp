// What travels on a socket: records. docs/internals/network/tcp.md has the same in prose.
#pragma once

#include "network/network.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::network::tcp {

enum class RecordKind : std::uint8_t {
  message = 1,    // a session::Header and its payload
  fetch,          // a FetchRequest: the receiver of the record sends the bytes, with this token
  data,           // bytes of a fetch, in order
  refused,        // nothing: the access of this token names memory that may not be accessed
  leave,          // nothing: the rank leaves in order, and closes the connection
  get,            // a FetchRequest for bytes of a region
  put,            // a PutHead and bytes that belong into a region
  put_completed,  // nothing: all bytes of the put of this token are in their region
  get_completed,  // nothing: the bytes of the get of this token, which have been sent, are those of the
                  // region
};

/// Header of a record; `bytes` follow, padded to a multiple of kAlignment.
struct Record {
  std::uint32_t bytes;  // without padding
  RecordKind kind;
  std::array<std::uint8_t, 3> zero;
  std::uint64_t token;  // of an access: chosen by the rank that began it
};
static_assert(sizeof(Record) == 16, "what follows it is aligned to 16 bytes");

inline constexpr std::size_t kAlignment = 16;
[[nodiscard]] constexpr std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Asks for `length` bytes of offered memory or of a region, from `offset` on.
struct FetchRequest {
  std::uint64_t key;  // of the offer or the region
  std::uint64_t offset;
  std::uint64_t length;
};
static_assert(sizeof(FetchRequest) == 24);

/// The key of a region.
[[nodiscard]] constexpr std::uint64_t key_of(RegionName name) noexcept {
  return std::uint64_t{name.generation} << 32 | (name.index + std::uint32_t{1});
}

/// Each piece of a put tells where it belongs.
struct PutHead {
  std::uint64_t key;  // of the region
  std::uint64_t offset;
  std::uint64_t left;  // bytes of the put that follow in further pieces; 0: the put is answered
  std::uint64_t zero;
};
static_assert(sizeof(PutHead) == 32, "the bytes behind it are aligned to 16 bytes");

/// Most bytes of a message that holds several, staged to leave together, where a packet has as many: one call
/// of the kernel for all of them.
inline constexpr std::size_t kLongestFrame = std::size_t{32} << 10;
/// A message of so many bytes fits into a receive buffer, however short packets are.
inline constexpr std::size_t kShortestBuffer = 8192;
/// Puts and gets of more bytes are records of their own.
inline constexpr std::size_t kLongestSharedAccess = 8192;

/// Most bytes of one record of kind data or put: messages wait behind one such record at most.
inline constexpr std::size_t kLongestPiece = std::size_t{512} << 10;

}  // namespace weft::network::tcp
