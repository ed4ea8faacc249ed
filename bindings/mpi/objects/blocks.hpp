// Memory for payloads that are packed, or combined, on their way: pooled, so that what has run before
// allocates nothing, and finds its pages there.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

namespace weft::mpi {

/// A block of at least `bytes` bytes, aligned to a cache line. std::bad_alloc when there is no memory.
[[nodiscard]] std::byte* allocate_block(MPI_Count bytes);
/// nullptr is no block. Any thread may give back what another one has taken.
void free_block(std::byte* block) noexcept;

struct FreeBlock {
  void operator()(std::byte* block) const noexcept { free_block(block); }
};
using Block = std::unique_ptr<std::byte[], FreeBlock>;
[[nodiscard]] inline Block make_block(MPI_Count bytes) { return Block(allocate_block(bytes)); }

}  // namespace weft::mpi
