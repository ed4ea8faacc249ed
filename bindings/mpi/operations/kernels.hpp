// Loops over the elements of predefined datatypes, one for each operation and type that goes with it.
#pragma once

#include "bindings/mpi/datatypes/datatype.hpp"

namespace weft::mpi {

/// inout[i] = in[i] operation inout[i].
using Kernel = void (*)(const void* in, void* inout, MPI_Count count);

/// The loop for an operation (its number in the ABI) on a native type; for pairs `second` is the type of the
/// index. nullptr where MPI has no such operation.
[[nodiscard]] Kernel find_kernel(int op, Native native, Native second) noexcept;

}  // namespace weft::mpi
