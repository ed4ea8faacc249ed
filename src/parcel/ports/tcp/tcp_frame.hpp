// What travels over a socket of the parcelport tcp: a greeting, then frames.
#pragma once

#include <array>
#include <cstdint>

namespace weft::parcel::tcp {

inline constexpr std::uint32_t kMagic = 0x70747766;  // "fwtp"

/// The first bytes of a connection, from the rank that sends over it.
struct Greeting {
  std::uint32_t magic = kMagic;
  std::int32_t rank = -1;
  std::array<std::uint64_t, 2> secret{};  // of the job
};

/// Then the sizes of the chunks, 8 bytes each, the head, and the chunks. head_size 0: the sender leaves.
struct FrameHeader {
  std::uint32_t magic = kMagic;
  std::uint32_t unused = 0;
  std::uint64_t head_size = 0;
  std::uint64_t chunks = 0;
};

/// How a rank is reached.
struct Address {
  std::array<char, 64> host{};  // as text
  std::uint16_t port = 0;
};

}  // namespace weft::parcel::tcp
