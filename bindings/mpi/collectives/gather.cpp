// Gathering to one rank.
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
      if (rank == root) {
        if (!is_in_place(sent) && sent_count > 0)
          exchange.copy(sent_type, sent_count, sent, received_type, blocks.count_of(rank), to);
      } else {
        exchange.receive(to, blocks.count_of(rank), received_type, rank);
      }
    }
  }
  co_await exchange;
}

namespace {

Task collect_checked(const Channel& channel, const void* sent, MPI_Count sent_count, Datatype& sent_type,
                     void* received, const Blocks& blocks, Datatype& received_type, int root) {
  const Communicator& communicator = channel.communicator;
  check_root(communicator, root);
  const bool is_root = communicator.is_root(root);
  if (is_root) check_blocks(kReceived, received, blocks, communicator.peers().size(), received_type);
  const bool sends = communicator.is_inter() ? root >= 0 : !is_root || !is_in_place(sent);
  if (sends) check_block(kSent, sent, sent_count, sent_type);
  if (sends && is_root)
    check_own_block(sent, sent_count, sent_type, received, blocks, received_type, communicator);
  if (communicator.is_inter())
    return inter_collect(channel, sent, sent_count, sent_type, received, blocks, received_type, root);
  return collect(channel, sent, sent_count, sent_type, received, blocks, received_type, root);
}

}  // namespace

Task gather(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
            MPI_Count received_count, Datatype& received_type, int root) {
  return collect_checked(channel, sent, sent_count, sent_type, received, {{}, {}, received_count},
                         received_type, root);
}

Task gatherv(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
             Numbers counts, Numbers displacements, Datatype& received_type, int root) {
  if (channel.communicator.is_root(root)) check_list("recvcounts", counts);
  return collect_checked(channel, sent, sent_count, sent_type, received, {counts, displacements},
                         received_type, root);
}

}  // namespace weft::mpi
