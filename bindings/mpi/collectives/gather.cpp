// Gathering to one rank, and to all.
#include "bindings/mpi/collectives/collectives_calls.hpp"
#include "bindings/mpi/collectives/inter.hpp"
#include "bindings/mpi/collectives/intra.hpp"

namespace weft::mpi {

Task collect(Channel channel, const void* sent, MPI_Count sent_count, Type sent_type, void* received,
             Blocks blocks, Type received_type, int root) {
  Exchange exchange(channel);
  if (channel.rank() != root) {
    exchange.send(sent, sent_count, sent_type, root);
  } else {
    for (int rank = 0; rank < channel.size(); ++rank) {
      void* const to = element(received, blocks.offset_of(rank), received_type);
      if (rank != root)
        exchange.receive(to, blocks.count_of(rank), received_type, rank);
      else if (!is_in_place(sent))
        copy_elements(sent_type, sent_count, sent, received_type, blocks.count_of(rank), to);
    }
  }
  co_await exchange;
}

Task circulate(Channel channel, const void* sent, MPI_Count sent_count, Type sent_type, void* received,
               Blocks blocks, Type received_type) {
  Exchange exchange(channel);
  const int rank = channel.rank(), size = channel.size();
  const auto block = [&](int of) { return element(received, blocks.offset_of(of), received_type); };
  if (!is_in_place(sent))
    copy_elements(sent_type, sent_count, sent, received_type, blocks.count_of(rank), block(rank));
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int step = 0; step + 1 < size; ++step) {
    const int out = (rank - step + size) % size, in = (rank - step - 1 + size) % size;
    exchange.receive(block(in), blocks.count_of(in), received_type, left);
    exchange.send(block(out), blocks.count_of(out), received_type, right);
    co_await exchange;
  }
}

Task gather(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
            MPI_Count received_count, Datatype& received_type, int root) {
  check_root(channel.communicator, root);
  const Blocks blocks{{}, {}, received_count};
  if (channel.communicator.is_inter())
    return inter_collect(channel, sent, sent_count, sent_type, received, blocks, received_type, root);
  return collect(channel, sent, sent_count, sent_type, received, blocks, received_type, root);
}

Task gatherv(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
             Numbers counts, Numbers displacements, Datatype& received_type, int root) {
  check_root(channel.communicator, root);
  const Blocks blocks{counts, displacements};
  if (channel.communicator.is_inter())
    return inter_collect(channel, sent, sent_count, sent_type, received, blocks, received_type, root);
  return collect(channel, sent, sent_count, sent_type, received, blocks, received_type, root);
}

Task allgather(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
               MPI_Count received_count, Datatype& received_type) {
  check_committed(received_type);
  const Blocks blocks{{}, {}, received_count};
  if (channel.communicator.is_inter())
    return inter_gather_to_all(channel, sent, sent_count, sent_type, received, blocks, received_type);
  return circulate(channel, sent, sent_count, sent_type, received, blocks, received_type);
}

Task allgatherv(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
                Numbers counts, Numbers displacements, Datatype& received_type) {
  check_committed(received_type);
  const Blocks blocks{counts, displacements};
  if (channel.communicator.is_inter())
    return inter_gather_to_all(channel, sent, sent_count, sent_type, received, blocks, received_type);
  return circulate(channel, sent, sent_count, sent_type, received, blocks, received_type);
}

}  // namespace weft::mpi
