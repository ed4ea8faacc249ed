// Reductions to one rank and to all. Values are combined in the order of ranks, whatever the operation.
#include "bindings/mpi/collectives/collectives_calls.hpp"
#include "bindings/mpi/collectives/inter.hpp"
#include "bindings/mpi/collectives/intra.hpp"

#include <utility>

namespace weft::mpi {

Task reduce_to_root(Channel channel, const void* sent, void* received, MPI_Count count, Type type,
                    Op operation, int root) {
  Exchange exchange(channel);
  const int rank = channel.rank(), size = channel.size();
  // Only a commutative operation may begin at any rank; others end at rank 0, which sends the result on.
  const int top = operation->is_commutative ? root : 0;
  const int place = (rank - top + size) % size;
  const void* const own = is_in_place(sent) ? received : sent;
  if (size == 1) {
    if (!is_in_place(sent)) copy_elements(type, count, sent, type, count, received);
    co_return;
  }
  Scratch first(type, count), second(type, count);
  void* sum = first.get();
  void* other = second.get();
  copy_elements(type, count, own, type, count, sum);
  for (int mask = 1; mask < size; mask *= 2) {
    if ((place & mask) != 0) {
      exchange.send(sum, count, type, (place - mask + top) % size);
      co_await exchange;
      break;
    }
    if (place + mask >= size) continue;
    exchange.receive(other, count, type, (place + mask + top) % size);
    co_await exchange;
    operation->apply(sum, other, count, type);
    std::swap(sum, other);
  }
  if (top == root) {
    if (rank == root) copy_elements(type, count, sum, type, count, received);
  } else if (rank == 0) {
    exchange.send(sum, count, type, root);
    co_await exchange;
  } else if (rank == root) {
    exchange.receive(received, count, type, 0);
    co_await exchange;
  }
}

Task reduce_to_all(Channel channel, const void* sent, void* received, MPI_Count count, Type type,
                   Op operation) {
  Exchange exchange(channel);
  const int rank = channel.rank(), size = channel.size();
  if (!is_in_place(sent)) copy_elements(type, count, sent, type, count, received);
  if (size == 1) co_return;
  Scratch scratch(type, count), second(type, count);
  void* sum = second.get();
  void* other = scratch.get();
  copy_elements(type, count, received, type, count, sum);
  int power = 1;
  while (power * 2 <= size) power *= 2;
  // Of the first ranks, pairs of neighbours become one, so that a power of two is left.
  const int extra = size - power;
  int place = rank - extra;
  if (rank < 2 * extra) {
    place = rank / 2;
    if (rank % 2 == 0) {
      exchange.send(sum, count, type, rank + 1);
      exchange.receive(received, count, type, rank + 1);
      co_await exchange;
      co_return;
    }
    exchange.receive(other, count, type, rank - 1);
    co_await exchange;
    operation->apply(other, sum, count, type);
  }
  for (int mask = 1; mask < power; mask *= 2) {
    const int partner = place ^ mask, partner_rank = partner < extra ? partner * 2 + 1 : partner + extra;
    exchange.receive(other, count, type, partner_rank);
    exchange.send(sum, count, type, partner_rank);
    co_await exchange;
    if (partner < place) {
      operation->apply(other, sum, count, type);
    } else {
      operation->apply(sum, other, count, type);
      std::swap(sum, other);
    }
  }
  if (rank < 2 * extra) exchange.send(sum, count, type, rank - 1);
  copy_elements(type, count, sum, type, count, received);
  co_await exchange;
}

namespace {

/// Reduced at rank 0, which gives each rank its block.
Task reduce_and_distribute(Channel channel, const void* sent, void* received, Blocks blocks, Type type,
                           Op operation) {
  const int size = channel.size();
  MPI_Count total = 0;
  for (int rank = 0; rank < size; ++rank) total += blocks.count_of(rank);
  const void* const own = is_in_place(sent) ? received : sent;
  Scratch whole(type, channel.rank() == 0 ? total : 0);
  co_await reduce_to_root(channel, own, whole.get(), total, type, operation, 0);
  // Blocks lie one behind the other.
  Exchange exchange(channel);
  if (channel.rank() != 0) {
    exchange.receive(received, blocks.count_of(channel.rank()), type, 0);
  } else {
    MPI_Count offset = 0;
    for (int rank = 0; rank < size; ++rank) {
      if (rank == 0)
        copy_elements(type, blocks.count_of(0), whole.get(), type, blocks.count_of(0), received);
      else
        exchange.send(element(whole.get(), offset, type), blocks.count_of(rank), type, rank);
      offset += blocks.count_of(rank);
    }
  }
  co_await exchange;
}

void check_reduction(const Datatype& type, const Reduction& operation) {
  check_committed(type);
  check_operation(operation, type);
}

}  // namespace

Task reduce(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
            Reduction& operation, int root) {
  check_root(channel.communicator, root);
  check_reduction(type, operation);
  if (channel.communicator.is_inter())
    return inter_reduce(channel, sent, received, count, type, operation, root);
  return reduce_to_root(channel, sent, received, count, type, operation, root);
}

Task allreduce(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
               Reduction& operation) {
  check_reduction(type, operation);
  if (channel.communicator.is_inter())
    return inter_reduce_to_all(channel, sent, received, count, type, operation);
  return reduce_to_all(channel, sent, received, count, type, operation);
}

Task reduce_scatter(Channel channel, const void* sent, void* received, Numbers counts, Datatype& type,
                    Reduction& operation) {
  check_reduction(type, operation);
  const Blocks blocks{counts, {}};
  if (channel.communicator.is_inter())
    return inter_reduce_scatter(channel, sent, received, blocks, type, operation);
  return reduce_and_distribute(channel, sent, received, blocks, type, operation);
}

Task reduce_scatter_block(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
                          Reduction& operation) {
  check_reduction(type, operation);
  const Blocks blocks{{}, {}, count};
  if (channel.communicator.is_inter())
    return inter_reduce_scatter(channel, sent, received, blocks, type, operation);
  return reduce_and_distribute(channel, sent, received, blocks, type, operation);
}

}  // namespace weft::mpi
