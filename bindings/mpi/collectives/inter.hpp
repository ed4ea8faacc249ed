// Collectives between the two groups of an intercommunicator. Messages go to the other group; what one's own
// group does together goes through the communicator of that side.
#pragma once

#include "bindings/mpi/collectives/intra.hpp"

namespace weft::mpi {

Task inter_barrier(Channel channel);
Task inter_broadcast(Channel channel, void* buffer, MPI_Count count, Type type, int root);
Task inter_collect(Channel channel, const void* sent, MPI_Count sent_count, Type sent_type, void* received,
                   Blocks blocks, Type received_type, int root);
Task inter_distribute(Channel channel, const void* sent, Blocks blocks, Type sent_type, void* received,
                      MPI_Count received_count, Type received_type, int root);
Task inter_gather_to_all(Channel channel, const void* sent, MPI_Count sent_count, Type sent_type,
                         void* received, Blocks blocks, Type received_type);
Task inter_reduce(Channel channel, const void* sent, void* received, MPI_Count count, Type type, Op operation,
                  int root);
Task inter_reduce_to_all(Channel channel, const void* sent, void* received, MPI_Count count, Type type,
                         Op operation);
Task inter_reduce_scatter(Channel channel, const void* sent, void* received, Blocks blocks, Type type,
                          Op operation);

}  // namespace weft::mpi
