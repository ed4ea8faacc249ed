// Keys and addresses of memory of a peer.
#pragma once

#include <weft/types.hpp>

#include <cstddef>
#include <cstdint>

namespace weft {

struct RemoteAddress;

/// The key by which peers address a memory region. Trivially copyable: it travels by allgather or in a
/// message. An access beyond the region's end, or after the region was released, ends with Outcome::refused.
struct RemoteRegion {
  std::int32_t rank = -1;  ///< the owner; -1: an empty key
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  std::uint32_t native_atomics = 0;  ///< 1: RegionOptions::native_atomics
  std::uint64_t bytes = 0;           ///< length of the region
  std::uint64_t address = 0;
  std::uint64_t key = 0;

  [[nodiscard]] std::size_t size() const noexcept { return bytes; }
  /// Returns the address `offset` bytes into the region.
  [[nodiscard]] RemoteAddress at(std::uint64_t offset) const noexcept;
};
static_assert(sizeof(RemoteRegion) == 40);

/// An address in a peer's region: the target of a put or an atomic operation, the source of a get.
struct RemoteAddress {
  RemoteRegion region;
  std::uint64_t offset = 0;
  /// true: mapped by map(), so that accesses are loads and stores; false: reached by the network
  bool is_mapped = false;
};

/// A part of a vectored put: `from` goes to `to`.
struct PutPiece {
  RemoteAddress to;
  Bytes from;
};
/// A part of a vectored get: `to` is filled from `from`.
struct GetPiece {
  RemoteAddress from;
  MutableBytes to;
};

inline RemoteAddress RemoteRegion::at(std::uint64_t offset) const noexcept { return {*this, offset, false}; }

}  // namespace weft
