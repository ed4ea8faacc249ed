// Intercommunicators: made of two groups whose leaders can reach each other, split, and merged.
#pragma once

#include "bindings/mpi/creation/creation.hpp"

namespace weft::mpi {

/// MPI_Comm_split and MPI_Comm_create of an intercommunicator; nullptr where this rank is in no part, or the
/// other side has none of it.
[[nodiscard]] Communicator* split_inter(Communicator& communicator, int color, int key);
[[nodiscard]] Communicator* create_inter(Communicator& communicator, Group& group);

/// MPI_Intercomm_create with arguments that have been checked; `between` and the rank there of the other
/// group's leader count on the leader.
[[nodiscard]] Communicator* connect(Communicator& local, int local_leader, Communicator* between,
                                    int remote_leader, int tag);

}  // namespace weft::mpi
