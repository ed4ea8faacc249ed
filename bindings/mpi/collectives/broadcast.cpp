// Barriers and broadcasts.
#include "bindings/mpi/collectives/algorithms.hpp"
#include "bindings/mpi/collectives/collectives_calls.hpp"
#include "bindings/mpi/collectives/inter.hpp"
#include "bindings/mpi/collectives/intra.hpp"
#include "bindings/mpi/communicators/fail_on.hpp"

namespace weft::mpi {

Task disseminate(Channel channel) {
  Exchange exchange(channel);
  const int rank = channel.rank(), size = channel.size();
  const bool is_paired = algorithms::goes_in_pairs(size);
  for (int distance = 1; distance < size; distance *= 2) {
    exchange.receive(nullptr, 0, byte_type, is_paired ? rank ^ distance : (rank - distance + size) % size);
    exchange.send(nullptr, 0, byte_type, is_paired ? rank ^ distance : (rank + distance) % size);
    co_await exchange;
  }
}

void check_amount(const Channel& channel, bool is_whole, MPI_Count bytes) {
  if (is_whole) return;
  fail_on(&channel.communicator, MPI_ERR_COUNT,
          "the message does not have the %lld bytes that this rank has room for: the ranks have passed "
          "different counts",
          static_cast<long long>(bytes));
}

Task broadcast(Channel channel, void* buffer, MPI_Count count, Type type, int root) {
  Exchange exchange(channel);
  // A rank that has got another amount passes on nothing, so that no rank below takes it for the whole.
  bool is_whole = true;
  const MPI_Count bytes = count * type->size;
  const int size = channel.size(), place = (channel.rank() - root + size) % size;
  int mask = 1;
  for (; mask < size; mask *= 2)
    if ((place & mask) != 0) {
      exchange.receive(buffer, count, type, (place - mask + root) % size);
      co_await exchange.settled();
      is_whole = exchange.has_brought(bytes);
      break;
    }
  for (mask /= 2; mask > 0; mask /= 2)
    if (place + mask < size) exchange.send(buffer, is_whole ? count : 0, type, (place + mask + root) % size);
  co_await exchange;
  check_amount(channel, is_whole, bytes);
}

Task barrier(Channel channel) {
  return channel.communicator.is_inter() ? inter_barrier(channel) : disseminate(channel);
}

Task bcast(Channel channel, void* buffer, MPI_Count count, Datatype& type, int root) {
  check_root(channel.communicator, root);
  if (root != MPI_PROC_NULL) {
    check_elements("count", count, type);
    check_buffer("buffer", buffer, count, type);
  }
  return channel.communicator.is_inter() ? inter_broadcast(channel, buffer, count, type, root)
                                         : broadcast(channel, buffer, count, type, root);
}

}  // namespace weft::mpi
