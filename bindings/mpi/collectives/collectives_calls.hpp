// The calls of the group "collectives", as tasks: the generated entry points run, begin or prepare them.
#pragma once

#include "bindings/mpi/collectives/launch.hpp"
#include "bindings/mpi/objects/numbers.hpp"

namespace weft::mpi {

// Each checks its arguments, and fails, before it returns the task.
Task barrier(Channel channel);
Task bcast(Channel channel, void* buffer, MPI_Count count, Datatype& type, int root);
Task gather(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
            MPI_Count received_count, Datatype& received_type, int root);
Task gatherv(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
             Numbers counts, Numbers displacements, Datatype& received_type, int root);
Task scatter(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
             MPI_Count received_count, Datatype& received_type, int root);
Task scatterv(Channel channel, const void* sent, Numbers counts, Numbers displacements, Datatype& sent_type,
              void* received, MPI_Count received_count, Datatype& received_type, int root);
Task allgather(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
               MPI_Count received_count, Datatype& received_type);
Task allgatherv(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
                Numbers counts, Numbers displacements, Datatype& received_type);
Task alltoall(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
              MPI_Count received_count, Datatype& received_type);
Task alltoallv(Channel channel, const void* sent, Numbers sent_counts, Numbers sent_displacements,
               Datatype& sent_type, void* received, Numbers received_counts, Numbers received_displacements,
               Datatype& received_type);
Task alltoallw(Channel channel, const void* sent, Numbers sent_counts, Numbers sent_displacements,
               const MPI_Datatype* sent_types, void* received, Numbers received_counts,
               Numbers received_displacements, const MPI_Datatype* received_types);
Task reduce(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
            Reduction& operation, int root);
Task allreduce(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
               Reduction& operation);
Task reduce_scatter(Channel channel, const void* sent, void* received, Numbers counts, Datatype& type,
                    Reduction& operation);
Task reduce_scatter_block(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
                          Reduction& operation);
Task scan(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
          Reduction& operation);
Task exscan(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
            Reduction& operation);

}  // namespace weft::mpi
