// Elements of a datatype to bytes one behind the other, and back.
#pragma once

#include "bindings/mpi/datatypes/datatype.hpp"

#include <weft/types.hpp>

#include <cstddef>
#include <span>

namespace weft::mpi {

/// Copies `count` elements at `from` to `to`, which has room for count * type.size bytes.
void pack_elements(const Datatype& type, MPI_Count count, const void* from, std::byte* to) noexcept;
/// Copies `bytes` bytes, at most those of `count` elements, to elements at `to`.
void unpack_elements(const Datatype& type, MPI_Count count, const std::byte* from, MPI_Count bytes,
                     void* to) noexcept;
/// Copies elements of one type to elements of another one: as many bytes as both have.
void copy_elements(const Datatype& from_type, MPI_Count from_count, const void* from, const Datatype& to_type,
                   MPI_Count to_count, void* to);

/// Stores where `count` elements at `buffer` lie, one piece behind the other. Returns the number of pieces;
/// 0 when they are more than `pieces` has room for.
[[nodiscard]] std::size_t pieces_of(const Datatype& type, MPI_Count count, const void* buffer,
                                    std::span<MutableBytes> pieces) noexcept;

/// The whole basic elements in the first `bytes` bytes of packed elements; `rest` gets the bytes behind them.
[[nodiscard]] MPI_Count basics_within(const Datatype& type, MPI_Count bytes, MPI_Count& rest) noexcept;

/// Address `offset` bytes behind an address of the program.
[[nodiscard]] inline std::byte* shifted(const void* address, MPI_Aint offset) noexcept {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::intptr_t>(address) + offset);
}

}  // namespace weft::mpi
