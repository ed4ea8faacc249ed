// Memory of coroutines and of what they compute with: pooled by thread, so that a collective that has run
// before allocates nothing.
#pragma once

#include <cstddef>

namespace weft::mpi {

[[nodiscard]] void* allocate_frame(std::size_t size);
void free_frame(void* frame, std::size_t size) noexcept;

}  // namespace weft::mpi
