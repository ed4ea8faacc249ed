// A program that has called MPI_Init itself: MPI's own world tells rank and size, and exchanges.
#pragma once

#include <memory>

#include "bootstrap/launchers/launcher_exchange.hpp"

namespace weft::bootstrap::contact {

/// Returns true when this process has an MPI library that is initialized, and not finalized.
bool has_mpi();
/// The number of ranks of MPI_COMM_WORLD; has_mpi() holds.
int size_of_mpi();
/// Throws weft::Error.
std::unique_ptr<Contact> join_mpi();

}  // namespace weft::bootstrap::contact
