// The calls of the group "processes": of jobs whose ranks all start together.
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"

namespace weft::mpi {

void comm_get_parent(MPI_Comm* parent);
void comm_disconnect(MPI_Comm* communicator);

}  // namespace weft::mpi
