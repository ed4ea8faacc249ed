// Memory that the host cannot touch, and where its bytes are.
#pragma once

#include <cstddef>

namespace weft::accelerator {

/// Maps `size` bytes twice: the address that is returned allows no access; view_of() finds the other one.
/// Throws weft::Error. Any thread.
[[nodiscard]] void* allocate_inaccessible(std::size_t size);
void free_inaccessible(void* memory) noexcept;
/// The accessible address of one in such memory; nullptr for any other.
[[nodiscard]] void* view_of(const void* address) noexcept;

}  // namespace weft::accelerator
