// Scattering from one rank.
#include "bindings/mpi/collectives/collectives_calls.hpp"
#include "bindings/mpi/collectives/inter.hpp"
#include "bindings/mpi/collectives/intra.hpp"

namespace weft::mpi {

Task distribute(Channel channel, const void* sent, Blocks blocks, Type sent_type, void* received,
                MPI_Count received_count, Type received_type, int root) {
  Exchange exchange(channel);
  if (channel.rank() != root) {
    exchange.receive(received, received_count, received_type, root);
  } else {
    for (int rank = 0; rank < channel.size(); ++rank) {
      const void* const from = element(sent, blocks.offset_of(rank), sent_type);
      if (rank != root)
        exchange.send(from, blocks.count_of(rank), sent_type, rank);
      else if (!is_in_place(received))
        copy_elements(sent_type, blocks.count_of(rank), from, received_type, received_count, received);
    }
  }
  co_await exchange;
}

Task scatter(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
             MPI_Count received_count, Datatype& received_type, int root) {
  check_root(channel.communicator, root);
  const Blocks blocks{{}, {}, sent_count};
  if (channel.communicator.is_inter())
    return inter_distribute(channel, sent, blocks, sent_type, received, received_count, received_type, root);
  return distribute(channel, sent, blocks, sent_type, received, received_count, received_type, root);
}

Task scatterv(Channel channel, const void* sent, Numbers counts, Numbers displacements, Datatype& sent_type,
              void* received, MPI_Count received_count, Datatype& received_type, int root) {
  check_root(channel.communicator, root);
  const Blocks blocks{counts, displacements};
  if (channel.communicator.is_inter())
    return inter_distribute(channel, sent, blocks, sent_type, received, received_count, received_type, root);
  return distribute(channel, sent, blocks, sent_type, received, received_count, received_type, root);
}

}  // namespace weft::mpi
