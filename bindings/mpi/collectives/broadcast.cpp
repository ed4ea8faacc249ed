// Barriers and broadcasts.
#include "bindings/mpi/collectives/algorithms.hpp"
#include "bindings/mpi/collectives/collectives_calls.hpp"
#include "bindings/mpi/collectives/inter.hpp"
#include "bindings/mpi/collectives/intra.hpp"

#include <algorithm>

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
  // A tree by the digits of the distance to the root: of the parent's the lowest that is not 0 is 0.
  const int radix = algorithms::broadcast_radix(size, world->way_between_hosts);
  int unit = 1;
  for (; unit < size; unit *= radix)
    if (const int digit = place / unit % radix; digit != 0) {
      exchange.receive(buffer, count, type, (place - digit * unit + root) % size);
      co_await exchange;
      break;
    }
  for (unit /= radix; unit > 0; unit /= radix)
    for (int child = place + unit; child < std::min(place + radix * unit, size); child += unit)
      exchange.send(buffer, count, type, (child + root) % size);
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
