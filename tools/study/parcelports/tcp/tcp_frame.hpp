// What travels over a socket of the parcelport tcp: a greeting, by which both ranks prove that they know the
// secret of the job, which is never sent; then frames, which are neither authenticated nor encrypted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::parcel::ports::tcp {

inline constexpr std::uint32_t kMagic = 0x70747766;  // "fwtp"

using Nonce = std::array<std::byte, 16>;
using Proof = std::array<std::byte, 32>;

/// The first bytes of a connection, from the rank that receives over it.
struct Challenge {
  std::uint32_t magic = kMagic;
  std::uint32_t zero = 0;
  Nonce nonce{};
};
/// The answer of the rank that will send over it. The other then sends a Proof as well.
struct Greeting {
  std::uint32_t magic = kMagic;
  std::int32_t rank = -1;
  std::int32_t to = -1;
  std::uint32_t zero = 0;
  Nonce nonce{};
  Proof proof{};
};
static_assert(sizeof(Challenge) == 24 && sizeof(Greeting) == 64);

/// Then the sizes of the chunks, 8 bytes each, the head, and the chunks. head_size 0: the sender leaves.
struct FrameHeader {
  std::uint32_t magic = kMagic;
  std::uint32_t unused = 0;
  std::uint64_t head_size = 0;
  std::uint64_t chunks = 0;
};

/// How a rank is reached: sockets::encode().
struct Address {
  std::uint32_t size = 0;
  std::array<std::byte, 352> bytes{};
};

}  // namespace weft::parcel::ports::tcp
