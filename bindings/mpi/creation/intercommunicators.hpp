// Intercommunicators: made of two groups whose leaders can reach each other, split, and merged.
#pragma once

#include "bindings/mpi/creation/creation.hpp"

namespace weft::mpi {

/// MPI_Comm_split and MPI_Comm_create of an intercommunicator; nullptr where this rank is in no part, or the
/// other side has none of it.
[[nodiscard]] Communicator* split_inter(Communicator& communicator, int color, int key);
[[nodiscard]] Communicator* create_inter(Communicator& communicator, Group& group);

}  // namespace weft::mpi
