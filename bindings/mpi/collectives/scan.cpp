// Inclusive and exclusive scans.
#include "bindings/mpi/collectives/algorithms.hpp"
#include "bindings/mpi/collectives/checks.hpp"
#include "bindings/mpi/collectives/collectives_calls.hpp"

#include <algorithm>
#include <utility>

namespace weft::mpi {

namespace {

/// What a scan has of the ranks below goes on with what this one adds, to the rank above: segment by segment
/// where the vector may be cut.
Task scan_by_chain(Channel channel, const void* sent, void* received, MPI_Count count, Type type,
                   Op operation, bool is_exclusive) {
  Exchange below(channel), above(channel);
  const int rank = channel.rank();
  const bool has_above = rank + 1 < channel.size(), in_place = is_in_place(sent);
  if (!is_exclusive && !in_place) copy_elements(type, count, sent, type, count, received);
  const algorithms::Segments cut = algorithms::may_be_cut(operation, type)
                                       ? algorithms::Segments(type, count, algorithms::kSegmentBytes)
                                       : algorithms::Segments(count);
  // Inclusive: the ranks below arrive here. Exclusive: what goes on is made here, unless it is made where
  // this rank's own values lie, and the ranks below arrive here then.
  Scratch scratch(type, rank == 0 ? 0 : count);
  for (MPI_Count segment = 0; segment < cut.number(); ++segment) {
    const MPI_Count first = cut.begin(segment), part = cut.elements(segment);
    std::byte* const result = element(received, first, type);
    std::byte* const other = element(scratch.get(), first, type);
    const void* const own = in_place ? result : element(sent, first, type);
    if (rank == 0) {
      if (has_above) above.send(own, part, type, 1);
      continue;
    }
    std::byte* const arrived = is_exclusive && !in_place ? result : other;
    below.receive(arrived, part, type, rank - 1);
    co_await below.settled();
    if (below.has_failed()) break;
    const void* sum = result;
    if (is_exclusive && !in_place && has_above) {
      copy_elements(type, part, own, type, part, other);
      sum = other;
    }
    if (!is_exclusive || has_above) operation->apply(arrived, const_cast<void*>(sum), part, type);
    if (has_above) above.send(sum, part, type, rank + 1);
  }
  co_await above.settled();
  if (is_exclusive && in_place && rank > 0) copy_elements(type, count, scratch.get(), type, count, received);
  below.check();
  above.check();
}

/// Distances that double. `sum` is of the ranks from one to this one; what arrives from further below goes in
/// front of it, and of what this rank returns.
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

Task scan_checked(const Channel& channel, const void* sent, void* received, MPI_Count count, Datatype& type,
                  Reduction& operation, bool is_exclusive) {
  check_intra(channel.communicator);
  check_reduction(count, type, operation);
  check_apart(sent, received, count);
  // The first rank has no result of an exclusive scan.
  if (!is_exclusive || channel.rank() > 0) check_result(sent, received, count, type);
  if (algorithms::scans_by_chain(channel.size(), count * type.size, algorithms::may_be_cut(operation, type)))
    return scan_by_chain(channel, sent, received, count, type, operation, is_exclusive);
  return scan_by_doubling(channel, sent, received, count, type, operation, is_exclusive);
}

}  // namespace

Task scan(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
          Reduction& operation) {
  return scan_checked(channel, sent, received, count, type, operation, false);
}

Task exscan(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
            Reduction& operation) {
  return scan_checked(channel, sent, received, count, type, operation, true);
}

}  // namespace weft::mpi
