// Reductions of which each rank gets a block.
#include "bindings/mpi/collectives/algorithms.hpp"
#include "bindings/mpi/collectives/collectives_calls.hpp"
#include "bindings/mpi/collectives/inter.hpp"
#include "bindings/mpi/collectives/intra.hpp"

namespace weft::mpi {

namespace {

/// Reduced at rank 0, which gives each rank its block.
Task reduce_and_distribute(Channel channel, const void* own, void* received, Blocks blocks, MPI_Count total,
                           Type type, Op operation) {
  Scratch whole(type, channel.rank() == 0 ? total : 0);
  co_await reduce_to_root(channel, own, whole.get(), total, type, operation, 0);
  // Blocks lie one behind the other.
  Exchange exchange(channel);
  if (channel.rank() != 0) {
    exchange.receive(received, blocks.count_of(channel.rank()), type, 0);
  } else {
    MPI_Count offset = 0;
    for (int rank = 0; rank < channel.size(); ++rank) {
      if (rank == 0)
        copy_elements(type, blocks.count_of(0), whole.get(), type, blocks.count_of(0), received);
      else
        exchange.send(element(whole.get(), offset, type), blocks.count_of(rank), type, rank);
      offset += blocks.count_of(rank);
    }
  }
  co_await exchange;
}

/// Every rank sends each block to its owner, which combines them in the order of ranks.
Task combine_at_owners(Channel channel, const void* own, void* received, Blocks blocks, Type type,
                       Op operation) {
  Exchange exchange(channel);
  const int own_rank = channel.rank(), size = channel.size();
  const MPI_Count count = blocks.count_of(own_rank);
  Scratch scratch(type, count * size);
  const auto values_of = [&](int rank) { return element(scratch.get(), rank * count, type); };
  // Where there is a list of counts, all ranks have the same one.
  const auto has_message = [&](int rank) {
    return blocks.counts.is_null() || blocks.count_of(rank) * type->size > 0;
  };
  for (int step = 1; step < size; ++step) {
    const int from = (own_rank + step) % size;
    if (has_message(own_rank)) exchange.receive(values_of(from), count, type, from);
  }
  MPI_Count offset = 0;
  for (int rank = 0; rank < size; ++rank) {
    const void* const block = element(own, offset, type);
    if (rank == own_rank)
      copy_elements(type, count, block, type, count, values_of(rank));
    else if (has_message(rank))
      exchange.send(block, blocks.count_of(rank), type, rank);
    offset += blocks.count_of(rank);
  }
  co_await exchange;
  for (int rank = 1; rank < size; ++rank) operation->apply(values_of(rank - 1), values_of(rank), count, type);
  copy_elements(type, count, values_of(size - 1), type, count, received);
}

/// Step by step from the rank below to the one above, further away each time: the next block is on its way
/// while one is combined. Of all blocks only two are held.
Task combine_in_steps(Channel channel, const void* own, void* received, Blocks blocks, Type type,
                      Op operation) {
  const int own_rank = channel.rank(), size = channel.size();
  const MPI_Count count = blocks.count_of(own_rank);
  MPI_Count own_offset = 0;
  for (int rank = 0; rank < own_rank; ++rank) own_offset += blocks.count_of(rank);
  MPI_Count next_offset = own_offset + count;
  Exchange odd(channel), even(channel);
  const auto exchange = [&](int step) -> Exchange& { return step % 2 == 0 ? even : odd; };
  Scratch odd_values(type, count), even_values(type, count), in_place(type, own == received ? count : 0);
  const auto values = [&](int step) { return (step % 2 == 0 ? even_values : odd_values).get(); };
  // Where a list of counts says that a block has no bytes, it does not travel.
  const auto has_message = [&](int rank) { return blocks.counts.is_null() || blocks.count_of(rank) > 0; };
  const auto post = [&](int step) {
    if (step >= size) return;
    const int from = (own_rank - step + size) % size, to = (own_rank + step) % size;
    if (has_message(own_rank)) exchange(step).receive(values(step), count, type, from);
    if (to == 0) next_offset = 0;
    if (has_message(to)) exchange(step).send(element(own, next_offset, type), blocks.count_of(to), type, to);
    next_offset += blocks.count_of(to);
  };
  void* const sum = own == received ? in_place.get() : received;
  post(1);
  copy_elements(type, count, element(own, own_offset, type), type, count, sum);
  for (int step = 1; step < size && !odd.has_failed() && !even.has_failed(); ++step) {
    post(step + 1);
    co_await exchange(step).settled();
    if (!exchange(step).has_failed()) operation->apply(values(step), sum, count, type);
  }
  co_await odd.settled();
  co_await even.settled();
  odd.check();
  even.check();
  // In place, a block that others wait for may have lain here until now.
  if (sum != received) copy_elements(type, count, sum, type, count, received);
}

Task reduce_to_owners(const Channel& channel, const void* sent, void* received, const Blocks& blocks,
                      Datatype& type, Reduction& operation) {
  MPI_Count total = 0;
  for (int rank = 0; rank < channel.size(); ++rank) {
    check_count("recvcounts", blocks.count_of(rank));
    total += blocks.count_of(rank);
  }
  check_reduction(total, type, operation);
  check_apart(sent, received, blocks.count_of(channel.rank()));
  if (!is_in_place(sent)) {
    check_buffer("sendbuf", sent, total, type);
    check_overlap(sent, total, type, received, blocks.count_of(channel.rank()), type);
  }
  check_buffer("recvbuf", received, blocks.count_of(channel.rank()), type);
  if (channel.communicator.is_inter())
    return inter_reduce_scatter(channel, sent, received, blocks, type, operation);
  const void* const own = is_in_place(sent) ? received : sent;
  if (algorithms::may_be_cut(operation, type) &&
      algorithms::combines_in_steps(channel.size(), total * type.size))
    return combine_in_steps(channel, own, received, blocks, type, operation);
  if (algorithms::sends_blocks_to_owners(channel.size(), total * type.size))
    return combine_at_owners(channel, own, received, blocks, type, operation);
  return reduce_and_distribute(channel, own, received, blocks, total, type, operation);
}

}  // namespace

Task reduce_scatter(Channel channel, const void* sent, void* received, Numbers counts, Datatype& type,
                    Reduction& operation) {
  check_list("recvcounts", counts);
  return reduce_to_owners(channel, sent, received, {counts, {}}, type, operation);
}

Task reduce_scatter_block(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
                          Reduction& operation) {
  return reduce_to_owners(channel, sent, received, {{}, {}, count}, type, operation);
}

}  // namespace weft::mpi
