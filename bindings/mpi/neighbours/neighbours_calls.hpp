// The calls of the group "neighbours": collectives along the edges of a topology, as tasks.
#pragma once

#include "bindings/mpi/collectives/launch.hpp"
#include "bindings/mpi/objects/numbers.hpp"
#include "bindings/mpi/roll_call/blocks.hpp"

namespace weft::mpi {

/// How many neighbours this rank gets messages from, and sends them to.
[[nodiscard]] int in_degree(const Communicator& communicator);
[[nodiscard]] int out_degree(const Communicator& communicator);

Task neighbor_allgather(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type,
                        void* received, MPI_Count received_count, Datatype& received_type);
Task neighbor_allgatherv(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type,
                         void* received, Numbers counts, Numbers displacements, Datatype& received_type);
Task neighbor_alltoall(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type,
                       void* received, MPI_Count received_count, Datatype& received_type);
Task neighbor_alltoallv(Channel channel, const void* sent, Numbers sent_counts, Numbers sent_displacements,
                        Datatype& sent_type, void* received, Numbers received_counts,
                        Numbers received_displacements, Datatype& received_type);
Task neighbor_alltoallw(Channel channel, const void* sent, Numbers sent_counts, Numbers sent_displacements,
                        const MPI_Datatype* sent_types, void* received, Numbers received_counts,
                        Numbers received_displacements, const MPI_Datatype* received_types);

/// With the attribute mpi_check: whether what goes along each edge is awaited at its end.
[[gnu::cold]] void compare_edges(const Channel& channel, const BlockList& sent, const BlockList& awaited);

}  // namespace weft::mpi
