// The end of blocking receives.
#pragma once

#include "bindings/mpi/requests/request.hpp"

namespace weft::mpi {

/// Stores a status where the program wants one; its MPI_ERROR stays.
void store_status(MPI_Status* to, const MPI_Status& status) noexcept;
/// Waits for a receive, gives its request back, and fails with its error.
void finish_receive(Request* request, MPI_Status* status);

}  // namespace weft::mpi
