#include "bindings/mpi/communicators/communicators_calls.hpp"
#include "bindings/mpi/processes/processes_calls.hpp"
#include "bindings/mpi/transport/world.hpp"

namespace weft::mpi {

/// No rank was started by another one.
void comm_get_parent(MPI_Comm* parent) { *parent = MPI_COMM_NULL; }

void comm_disconnect(MPI_Comm* communicator) {
  if (world != nullptr) world->endpoint.wait_drained();
  comm_free(communicator);
}

}  // namespace weft::mpi
