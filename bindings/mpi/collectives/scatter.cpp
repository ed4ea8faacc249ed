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
    const auto block_of = [&](int rank) { return element(sent, blocks.offset_of(rank), sent_type); };
    for (int rank = 0; rank < channel.size(); ++rank)
      if (rank != root) exchange.send(block_of(rank), blocks.count_of(rank), sent_type, rank);
    // While the others fetch theirs.
    if (!is_in_place(received) && received_count > 0)
      exchange.copy(sent_type, blocks.count_of(root), block_of(root), received_type, received_count,
                    received);
  }
  co_await exchange;
}

namespace {

Task distribute_checked(const Channel& channel, const void* sent, const Blocks& blocks, Datatype& sent_type,
                        void* received, MPI_Count received_count, Datatype& received_type, int root) {
  const Communicator& communicator = channel.communicator;
  check_root(communicator, root);
  const bool is_root = communicator.is_root(root);
  if (is_root) check_blocks(kSent, sent, blocks, communicator.peers().size(), sent_type);
  const bool receives = communicator.is_inter() ? root >= 0 : !is_root || !is_in_place(received);
  if (receives) check_block(kReceived, received, received_count, received_type);
  if (receives && is_root)
    check_own_block(received, received_count, received_type, sent, blocks, sent_type, communicator);
  if (communicator.is_inter())
    return inter_distribute(channel, sent, blocks, sent_type, received, received_count, received_type, root);
  return distribute(channel, sent, blocks, sent_type, received, received_count, received_type, root);
}

}  // namespace

Task scatter(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
             MPI_Count received_count, Datatype& received_type, int root) {
  return distribute_checked(channel, sent, {{}, {}, sent_count}, sent_type, received, received_count,
                            received_type, root);
}

Task scatterv(Channel channel, const void* sent, Numbers counts, Numbers displacements, Datatype& sent_type,
              void* received, MPI_Count received_count, Datatype& received_type, int root) {
  if (channel.communicator.is_root(root)) check_list("sendcounts", counts);
  return distribute_checked(channel, sent, {counts, displacements}, sent_type, received, received_count,
                            received_type, root);
}

}  // namespace weft::mpi
