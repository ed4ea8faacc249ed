// Algorithms among the members of one group.
#pragma once

#include "bindings/mpi/collectives/checks.hpp"

namespace weft::mpi {

/// Dissemination: log2(P) rounds.
Task disseminate(Channel channel);
/// A binomial tree.
Task broadcast(Channel channel, void* buffer, MPI_Count count, Type type, int root);
/// Every rank's elements to the root.
Task collect(Channel channel, const void* sent, MPI_Count sent_count, Type sent_type, void* received,
             Blocks blocks, Type received_type, int root);
Task distribute(Channel channel, const void* sent, Blocks blocks, Type sent_type, void* received,
                MPI_Count received_count, Type received_type, int root);
/// Every rank's elements to all ranks.
Task gather_to_all(Channel channel, const void* sent, MPI_Count sent_count, Type sent_type, void* received,
                   Blocks blocks, Type received_type);
/// By a tree. Values are combined in the order of ranks, unless the operation is one of MPI's own.
Task reduce_to_root(Channel channel, const void* sent, void* received, MPI_Count count, Type type,
                    Op operation, int root);
/// All get the same bits.
Task reduce_to_all(Channel channel, const void* sent, void* received, MPI_Count count, Type type,
                   Op operation);

}  // namespace weft::mpi
