// Barriers and broadcasts.
#include "bindings/mpi/collectives/algorithms.hpp"
#include "bindings/mpi/collectives/collectives_calls.hpp"
#include "bindings/mpi/collectives/inter.hpp"
#include "bindings/mpi/collectives/intra.hpp"

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

Task broadcast(Channel channel, void* buffer, MPI_Count count, Type type, int root) {
  Exchange exchange(channel);
  const int size = channel.size(), place = (channel.rank() - root + size) % size;
  int mask = 1;
  for (; mask < size; mask *= 2)
    if ((place & mask) != 0) {
      exchange.receive(buffer, count, type, (place - mask + root) % size);
      co_await exchange;
      break;
    }
  for (mask /= 2; mask > 0; mask /= 2)
    if (place + mask < size) exchange.send(buffer, count, type, (place + mask + root) % size);
  co_await exchange;
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
