// Waits of MPI calls, as explanations of jobs that do not go on name them (docs/guide/diagnosis.md).
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/objects/current_call.hpp"
#include "bindings/mpi/transport/world.hpp"

#include <atomic>
#include <cstdint>

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

/// Waits that last longer, in nanoseconds, may be for ever (deadlocks/stuck.hpp); 0: nobody looks.
extern std::int64_t patience_ns;

/// Generalised requests that the program has not completed, which it may do while all ranks wait.
inline std::atomic<int> generalised_requests{0};

/// Waits until the condition holds, or no longer than that. Returns whether it has held.
bool wait_patiently(bool (*holds)(const void*) noexcept, const void* context,
                    Completion* completion) noexcept;
/// Goes on with a wait that has not held.
[[gnu::cold]] void wait_stuck(bool (*holds)(const void*) noexcept, const void* context,
                              Completion* completion, const WaitPurpose& purpose) noexcept;

/// Waits until the condition holds, in words of MPI where anybody asks, or it lasts for long. `purpose()` is
/// called only then.
template <class Purpose>
void wait_in_call(bool (*holds)(const void*) noexcept, const void* context, Completion* completion,
                  const Purpose& purpose) noexcept {
  if (waits_are_explained) [[unlikely]]
    return wait_explained(holds, context, completion, purpose());
  if (!wait_patiently(holds, context, completion)) [[unlikely]]
    wait_stuck(holds, context, completion, purpose());
}

/// From MPI_Init to MPI_Finalize: explanations know of communicators, tags and collectives.
void open_explanations();
void close_explanations() noexcept;

/// Waits for all ranks of the job in the current call.
void wait_for_all_ranks();
/// The same, while what others send is taken.
void wait_for_all_ranks_attentively();

}  // namespace weft::mpi
