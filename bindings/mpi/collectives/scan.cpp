// Inclusive and exclusive scans, by distances that double.
#include "bindings/mpi/collectives/checks.hpp"
#include "bindings/mpi/collectives/collectives_calls.hpp"

#include <utility>

namespace weft::mpi {

namespace {

/// `sum` is of the ranks from one to this one; what arrives from further below goes in front of it, and of
/// what this rank returns.
Task scan_by_doubling(Channel channel, const void* sent, void* received, MPI_Count count, Type type,
                      Op operation, bool is_exclusive) {
  Exchange exchange(channel);
  const int rank = channel.rank(), size = channel.size();
  Scratch one(type, count), two(type, count), three(type, count);
  void* sum = one.get();
  void* next = two.get();
  void* arrived = three.get();
  copy_elements(type, count, is_in_place(sent) ? received : sent, type, count, sum);
  bool has_result = !is_exclusive;
  if (!is_exclusive) copy_elements(type, count, sum, type, count, received);
  for (int distance = 1; distance < size; distance *= 2) {
    if (rank + distance < size) exchange.send(sum, count, type, rank + distance);
    if (rank >= distance) exchange.receive(arrived, count, type, rank - distance);
    co_await exchange;
    if (rank < distance) continue;
    if (has_result)
      operation->apply(arrived, received, count, type);
    else
      copy_elements(type, count, arrived, type, count, received);
    has_result = true;
    copy_elements(type, count, sum, type, count, next);
    operation->apply(arrived, next, count, type);
    std::swap(sum, next);
  }
}

void check_scan(const Communicator& communicator, const Datatype& type, const Reduction& operation) {
  check_intra(communicator);
  check_committed(type);
  check_operation(operation, type);
}

}  // namespace

Task scan(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
          Reduction& operation) {
  check_scan(channel.communicator, type, operation);
  return scan_by_doubling(channel, sent, received, count, type, operation, false);
}

Task exscan(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
            Reduction& operation) {
  check_scan(channel.communicator, type, operation);
  return scan_by_doubling(channel, sent, received, count, type, operation, true);
}

}  // namespace weft::mpi
