// How memory of ranks is named between them.
#pragma once

#include <cstdint>

namespace weft::network {

/// Name of a region of a rank on the wire; a stale generation is refused.
struct RegionName {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
};

/// Keys that a network adds to the name of a region so that peers can reach it without its owner's help.
struct RegionKeys {
  std::uint64_t address = 0;
  std::uint64_t key = 0;
};

/// Bytes of a peer's region, from `offset` on. `region_size` is the size that the owner has told.
struct RemoteMemory {
  RegionName region;
  RegionKeys keys;
  std::uint64_t region_size = 0;
  std::uint64_t offset = 0;
  std::uint8_t device = 0;  // of the peer: its Sink gets the immediate of a put
  RegionName local{};       // of this rank, that holds the bytes here; generation 0: not known
};

/// An atomic operation that a network can leave to devices, on 8 bytes at a multiple of 8.
struct NativeAtomic {
  bool is_compare_swap = false;  // else `operand` is added
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
};

/// Memory of this rank that a peer may fetch.
struct Offer {
  std::uint64_t key = 0;  // by which the peer names it; 0: nothing is offered
  void* registration = nullptr;
};
/// Bytes of memory that a peer has offered, from `offset` on.
struct OfferedMemory {
  std::uint64_t address = 0;  // in the peer's process, where the offered memory begins
  std::uint64_t key = 0;
  std::uint64_t offset = 0;
  std::uint8_t device = 0;  // of the peer: carries the bytes
};

/// Memory of this rank into which one peer may put once.
struct Landing {
  std::uint64_t address = 0;  // by which the peer names it, with the key
  std::uint64_t key = 0;
  void* registration = nullptr;  // null: it is not open
  [[nodiscard]] bool is_open() const noexcept { return registration != nullptr; }
};
/// A landing of a peer.
struct RemoteLanding {
  std::uint64_t address = 0;
  std::uint64_t key = 0;
  std::uint64_t name = 0;   // tells the peer which of its landings was put into
  std::uint8_t device = 0;  // of the peer: opened the landing
};

}  // namespace weft::network
