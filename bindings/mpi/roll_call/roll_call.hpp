// Whether all members call the same collective in the same place, with the attribute mpi_check.
#pragma once

#include "bindings/mpi/check/finding.hpp"
#include "bindings/mpi/check/signature.hpp"
#include "bindings/mpi/collectives/exchange.hpp"
#include "bindings/mpi/datatypes/datatype.hpp"
#include "bindings/mpi/operations/operation.hpp"

namespace weft::mpi {

/// What each member contributes or gets; without a value where counts do not say it.
struct Amount {
  MPI_Count bytes = -1;
  Signature elements{};
};
/// What the arguments of a collective say that must be the same on all members.
struct CollectiveCall {
  int root = -1;  // -1: it has none
  Amount amount{};
  const Reduction* operation = nullptr;
};

/// Compares the collective that the current call begins on this channel with that of the previous member of
/// the communicator, as soon as its description comes. Ends the job where they differ. Called once for a
/// number, when nothing is wrong with the arguments: a call that is refused may be made again, or another one
/// in its place.
[[gnu::cold]] void call_the_roll(const Channel& channel, const CollectiveCall& call);
/// The same, with mpi_check, of a call that makes communicators and is about to take the communicator's next
/// number.
void call_the_roll_of_creation(Communicator& communicator);
/// Waits until all comparisons have been made.
void finish_roll_calls();

[[nodiscard]] inline Amount amount_of(MPI_Count count, MPI_Datatype type) {
  const auto* const found = find<Datatype>(type);
  if (found == nullptr || count < 0) return {};
  return {count * found->size, signature_of(*found, count)};
}

}  // namespace weft::mpi
