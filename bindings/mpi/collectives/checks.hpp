// Arguments of collectives, checked.
#pragma once

#include "bindings/mpi/collectives/exchange.hpp"
#include "bindings/mpi/objects/numbers.hpp"

namespace weft::mpi {

/// A root: a rank, or on an intercommunicator also MPI_ROOT and MPI_PROC_NULL.
void check_root(const Communicator& communicator, int root);
/// Refuses a count below 0; `argument` is its name. Calls look only at arguments that count on this rank.
void check_count(const char* argument, MPI_Count count);
/// Elements that are to be moved: a count, and a datatype that is committed unless there are none.
void check_elements(const char* argument, MPI_Count count, const Datatype& type);
/// The same of `ranks` blocks.
void check_blocks(const char* argument, Numbers counts, int ranks, const Datatype& type);
/// `received`: null where this rank gets no result.
void check_reduction(const void* sent, const void* received, MPI_Count count, const Datatype& type,
                     const Reduction& operation);
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
