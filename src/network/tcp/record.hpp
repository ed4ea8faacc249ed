// What travels on a socket: records. docs/internals/network/tcp.md has the same in prose.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::network::tcp {

enum class RecordKind : std::uint8_t {
  message = 1,  // a session::Header and its payload
  fetch,        // a FetchRequest: the receiver of the record sends the bytes, with this token
  data,         // bytes of a fetch, in order
  refused,      // nothing: the fetch of this token names memory that is not offered
  leave,        // nothing: the rank leaves in order, and closes the connection
};

/// Header of a record; `bytes` follow, padded to a multiple of kAlignment.
struct Record {
  std::uint32_t bytes;  // without padding
  RecordKind kind;
  std::array<std::uint8_t, 3> zero;
  std::uint64_t token;  // of a fetch: chosen by the rank that fetches
};
static_assert(sizeof(Record) == 16, "what follows it is aligned to 16 bytes");

inline constexpr std::size_t kAlignment = 16;
[[nodiscard]] constexpr std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Asks for `length` bytes of offered memory, from `offset` on.
struct FetchRequest {
  std::uint64_t key;  // of the offer
  std::uint64_t offset;
  std::uint64_t length;
};
static_assert(sizeof(FetchRequest) == 24);

/// Most bytes of a message that holds several, staged to leave together.
inline constexpr std::size_t kFrameBytes = 8192;

/// Most bytes of one record of kind data: messages wait behind one such record at most.
inline constexpr std::size_t kLongestPiece = std::size_t{512} << 10;

}  // namespace weft::network::tcp
