// Whether all members call the same collective in the same place, with the attribute mpi_check.
#pragma once

#include "bindings/mpi/check/finding.hpp"
#include "bindings/mpi/datatypes/datatype.hpp"
#include "bindings/mpi/operations/operation.hpp"

namespace weft::mpi {

/// What the arguments of a collective say that must be the same on all members.
struct CollectiveCall {
  static constexpr MPI_Count kAny = -1;
  int root = -1;            // -1: it has none
  MPI_Count amount = kAny;  // bytes that each member contributes or gets
  const Reduction* operation = nullptr;
};

/// Compares the collective that the current call is about to begin with that of the previous member of the
/// communicator, as soon as its description comes. Ends the job where they differ.
[[gnu::cold]] void call_the_roll(Communicator& communicator, const CollectiveCall& call);
/// Waits until all comparisons have been made.
void finish_roll_calls();

/// The bytes of elements; kAny where a count does not say it.
[[nodiscard]] inline MPI_Count amount_of(MPI_Count count, MPI_Datatype type) {
  const auto* const found = find<Datatype>(type);
  return found == nullptr || count < 0 ? CollectiveCall::kAny : count * found->size;
}

}  // namespace weft::mpi
