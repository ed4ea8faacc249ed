// Arguments of collectives, checked.
#pragma once

#include "bindings/mpi/collectives/exchange.hpp"

namespace weft::mpi {

/// A root: a rank, or on an intercommunicator also MPI_ROOT and MPI_PROC_NULL.
void check_root(const Communicator& communicator, int root);
void check_committed(const Datatype& type);
[[nodiscard]] inline bool is_in_place(const void* buffer) noexcept { return buffer == MPI_IN_PLACE; }
/// Refuses collectives that intercommunicators do not have.
void check_intra(const Communicator& communicator);

/// What a rank contributes, which lies in the receive buffer where MPI_IN_PLACE says so.
struct Sent {
  const void* buffer;
  MPI_Count count;
  Type type;
};

}  // namespace weft::mpi
