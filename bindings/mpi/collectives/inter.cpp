#include "bindings/mpi/collectives/inter.hpp"

namespace weft::mpi {

Task inter_barrier(Channel channel) {
  co_await disseminate(channel.local());
  Exchange exchange(channel);
  if (channel.rank() == 0) {
    exchange.receive(nullptr, 0, byte_type, 0);
    exchange.send(nullptr, 0, byte_type, 0);
    co_await exchange;
  }
  co_await disseminate(channel.local());
}

Task inter_broadcast(Channel channel, void* buffer, MPI_Count count, Type type, int root) {
  Exchange exchange(channel);
  if (root == MPI_PROC_NULL) co_return;
  if (root == MPI_ROOT) {
    exchange.send(buffer, count, type, 0);
    co_await exchange;
    co_return;
  }
  if (channel.rank() == 0) exchange.receive(buffer, count, type, root);
  co_await exchange;
  co_await broadcast(channel.local(), buffer, count, type, 0);
}

Task inter_collect(Channel channel, const void* sent, MPI_Count sent_count, Type sent_type, void* received,
                   Blocks blocks, Type received_type, int root) {
  Exchange exchange(channel);
  if (root == MPI_ROOT)
    for (int rank = 0; rank < channel.communicator.peers().size(); ++rank)
      exchange.receive(element(received, blocks.offset_of(rank), received_type), blocks.count_of(rank),
                       received_type, rank);
  else if (root != MPI_PROC_NULL)
    exchange.send(sent, sent_count, sent_type, root);
  co_await exchange;
}

Task inter_distribute(Channel channel, const void* sent, Blocks blocks, Type sent_type, void* received,
                      MPI_Count received_count, Type received_type, int root) {
  Exchange exchange(channel);
  if (root == MPI_ROOT)
    for (int rank = 0; rank < channel.communicator.peers().size(); ++rank)
      exchange.send(element(sent, blocks.offset_of(rank), sent_type), blocks.count_of(rank), sent_type, rank);
  else if (root != MPI_PROC_NULL)
    exchange.receive(received, received_count, received_type, root);
  co_await exchange;
}

Task inter_gather_to_all(Channel channel, const void* sent, MPI_Count sent_count, Type sent_type,
                         void* received, Blocks blocks, Type received_type) {
  Exchange exchange(channel);
  for (int rank = 0; rank < channel.communicator.peers().size(); ++rank) {
    exchange.receive(element(received, blocks.offset_of(rank), received_type), blocks.count_of(rank),
                     received_type, rank);
    exchange.send(sent, sent_count, sent_type, rank);
  }
  co_await exchange;
}

Task inter_reduce(Channel channel, const void* sent, void* received, MPI_Count count, Type type, Op operation,
                  int root) {
  Exchange exchange(channel);
  if (root == MPI_PROC_NULL) co_return;
  if (root == MPI_ROOT) {
    exchange.receive(received, count, type, 0);
    co_await exchange;
    co_return;
  }
  Scratch sum(type, count);
  co_await reduce_to_root(channel.local(), sent, sum.get(), count, type, operation, 0);
  if (channel.rank() == 0) exchange.send(sum.get(), count, type, root);
  co_await exchange;
}

Task inter_reduce_to_all(Channel channel, const void* sent, void* received, MPI_Count count, Type type,
                         Op operation) {
  Exchange exchange(channel);
  Scratch sum(type, count);
  co_await reduce_to_root(channel.local(), sent, sum.get(), count, type, operation, 0);
  if (channel.rank() == 0) {
    exchange.receive(received, count, type, 0);
    exchange.send(sum.get(), count, type, 0);
    co_await exchange;
  }
  co_await broadcast(channel.local(), received, count, type, 0);
}

Task inter_reduce_scatter(Channel channel, const void* sent, void* received, Blocks blocks, Type type,
                          Op operation) {
  // What one group contributes is scattered in the other one; both have the same total.
  Exchange exchange(channel);
  MPI_Count total = 0;
  for (int rank = 0; rank < channel.size(); ++rank) total += blocks.count_of(rank);
  Scratch sum(type, total), other(type, total);
  co_await reduce_to_root(channel.local(), sent, sum.get(), total, type, operation, 0);
  if (channel.rank() == 0) {
    exchange.receive(other.get(), total, type, 0);
    exchange.send(sum.get(), total, type, 0);
    co_await exchange;
  }
  Exchange inside(channel.local());
  MPI_Count offset = 0;
  for (int rank = 0; rank < channel.size(); ++rank) {
    if (channel.rank() == 0 && rank != 0)
      inside.send(element(other.get(), offset, type), blocks.count_of(rank), type, rank);
    if (channel.rank() == 0 && rank == 0)
      copy_elements(type, blocks.count_of(0), other.get(), type, blocks.count_of(0), received);
    offset += blocks.count_of(rank);
  }
  if (channel.rank() != 0) inside.receive(received, blocks.count_of(channel.rank()), type, 0);
  co_await inside;
}

}  // namespace weft::mpi
