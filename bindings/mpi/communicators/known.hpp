// The communicators of this process, for lines about messages: by their contexts.
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"

#include <functional>
#include <mutex>

namespace weft::mpi {

/// Guards the names of communicators, which other threads may read, and which communicators there are.
[[nodiscard]] std::mutex& communicators_mutex() noexcept;

/// Called by communicators that begin and end.
void note_communicator(Communicator& communicator);
void forget_communicator(Communicator& communicator) noexcept;

/// How many there are.
[[nodiscard]] std::size_t known_communicators();

/// Calls visit(communicator) for the one with this context, under the mutex. Returns false where there is
/// none.
bool visit_communicator(std::uint32_t context, const std::function<void(const Communicator&)>& visit);
/// The same for all.
void visit_communicators(const std::function<void(const Communicator&)>& visit);

}  // namespace weft::mpi
