// The communicators of this process, for lines about messages: by their contexts.
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace weft::mpi {

/// Guards the names of communicators, which other threads may read, and which communicators there are.
[[nodiscard]] std::mutex& communicators_mutex() noexcept;

/// Called by communicators that begin and end.
void note_communicator(Communicator& communicator);
void forget_communicator(Communicator& communicator) noexcept;

/// Handles of those that there are name nothing from here on.
void end_communicators() noexcept;

/// How many there are.
[[nodiscard]] std::size_t known_communicators();

/// Calls visit(communicator) for the one with this context, under the mutex. Returns false where there is
/// none.
bool visit_communicator(std::uint32_t context, const std::function<void(const Communicator&)>& visit);
/// The same for all.
void visit_communicators(const std::function<void(const Communicator&)>& visit);

/// The calls on a communicator, and the two members before and behind this one among all of them, in an order
/// that all know, nearest first: ranks of MPI_COMM_WORLD, or -1.
struct KnownHistory {
  std::uint32_t context = 0;
  int before[2] = {-1, -1}, behind[2] = {-1, -1};
  std::string name;
  CallHistory history;
};
/// Of communicators with other members: up to `most` of those that there are, and the last ones that have
/// been freed, of those with calls.
[[nodiscard]] std::vector<KnownHistory> known_histories(std::size_t most);

}  // namespace weft::mpi
