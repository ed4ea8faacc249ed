// The data representation external32: big-endian, with sizes that the standard fixes.
#pragma once

#include "bindings/mpi/datatypes/datatype.hpp"

#include <cstddef>

namespace weft::mpi {

/// The bytes of one element in external32.
[[nodiscard]] MPI_Count external_size(const Datatype& type) noexcept;
void write_external(const Datatype& type, MPI_Count count, const void* from, std::byte* to) noexcept;
void read_external(const Datatype& type, MPI_Count count, const std::byte* from, void* to) noexcept;

}  // namespace weft::mpi
