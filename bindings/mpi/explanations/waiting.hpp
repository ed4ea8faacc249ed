// Waits of MPI calls, as explanations of jobs that do not go on name them (docs/guide/diagnosis.md).
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/objects/current_call.hpp"
#include "bindings/mpi/transport/world.hpp"

namespace weft::mpi {

/// What a wait is for.
struct WaitPurpose {
  enum class What : std::uint8_t { several, receive, send, probe, collective, creation, partitions, program };
  What what = What::several;
  const Communicator* communicator = nullptr;
  int peer =
      MPI_ANY_SOURCE;     // of a message: a rank of the communicator; of a collective: 1 if it is immediate
  int tag = MPI_ANY_TAG;  // of a message; of a collective its number, from 1
};

/// Whether somebody may ask what this process waits for; set by MPI_Init.
extern bool waits_are_explained;

/// Waits until the condition holds; for explained jobs.
[[gnu::cold]] void wait_explained(bool (*holds)(const void*) noexcept, const void* context,
                                  Completion* completion, const WaitPurpose& purpose) noexcept;

/// Waits until the condition holds, in words of MPI where anybody asks. `purpose()` is called only then.
template <class Purpose>
void wait_in_call(bool (*holds)(const void*) noexcept, const void* context, Completion* completion,
                  const Purpose& purpose) noexcept {
  if (waits_are_explained) [[unlikely]]
    return wait_explained(holds, context, completion, purpose());
  world->endpoint.wait_condition({holds, context, completion, {current_call, {}, -1, false, false}});
}

/// From MPI_Init to MPI_Finalize: explanations know of communicators, tags and collectives.
void open_explanations();
void close_explanations() noexcept;

/// Waits for all ranks of the job in the current call.
void wait_for_all_ranks();

}  // namespace weft::mpi
