// Reductions to one rank. Values are combined in the order of ranks, but where the operation is one of MPI's
// own, which commute.
#include "bindings/mpi/collectives/algorithms.hpp"
#include "bindings/mpi/collectives/collectives_calls.hpp"
#include "bindings/mpi/collectives/inter.hpp"
#include "bindings/mpi/collectives/intra.hpp"

namespace weft::mpi {

namespace {

/// A binomial tree whose root is `top`: ranks below this one, nearest first, and the rank above.
struct Tree {
  Tree(const Channel& channel, int top) noexcept {
    const int size = channel.size(), place = (channel.rank() - top + size) % size;
    for (int mask = 1; mask < size; mask *= 2) {
      if ((place & mask) != 0) {
        parent = (place - mask + top) % size;
        return;
      }
      if (place + mask < size) children[count++] = (place + mask + top) % size;
    }
  }
  [[nodiscard]] bool is_root() const noexcept { return parent < 0; }

  int parent = -1;
  int count = 0;
  int children[31];
};

/// Vectors whole, in the order of ranks: `sum` is of this rank and those below it so far.
Task reduce_whole(Channel channel, const void* own, void* received, MPI_Count count, Type type, Op operation,
                  int top) {
  Exchange exchange(channel);
  const Tree tree(channel, top);
  const bool may_turn = operation->predefined_op != 0;
  Scratch first(type, !tree.is_root() && tree.count > 0 ? count : 0),
      second(type, tree.count > 0 ? count : 0);
  void* const accumulator = tree.is_root() ? received : first.get();
  const void* sum = own;
  for (int index = 0; index < tree.count; ++index) {
    const bool turned = may_turn && sum == accumulator;
    void* const other = sum == accumulator ? second.get() : accumulator;
    exchange.receive(other, count, type, tree.children[index]);
    co_await exchange;
    operation->apply(turned ? other : sum, turned ? accumulator : other, count, type);
    if (!turned) sum = other;
  }
  if (!tree.is_root()) {
    exchange.send(sum, count, type, tree.parent);
    co_await exchange;
  } else if (sum != received) {
    copy_elements(type, count, sum, type, count, received);
  }
}

/// Segment by segment: while one is combined the next ones of all children are on their way. Two exchanges
/// take turns; each has the receives of a segment, then its send.
Task reduce_segments(Channel channel, const void* own, void* received, MPI_Count count, Type type,
                     Op operation, int top) {
  const Tree tree(channel, top);
  const algorithms::Segments cut(type, count, algorithms::reduced_segment_bytes(world->way_between_hosts));
  Exchange first(channel), second(channel);
  const auto exchange = [&](MPI_Count segment) -> Exchange& { return segment % 2 == 0 ? first : second; };
  const bool in_received = tree.is_root() && own != received;  // the first child's values go there
  const Block room = make_block(2 * tree.count * cut.longest() * type->size);
  const auto values_of = [&](int child, MPI_Count segment) {
    if (child == 0 && in_received) return element(received, cut.begin(segment), type);
    return room.get() + (segment % 2 * tree.count + child) * cut.longest() * type->size;
  };
  const auto receive = [&](MPI_Count segment) {
    for (int child = 0; segment < cut.number() && child < tree.count; ++child)
      exchange(segment).receive(values_of(child, segment), cut.elements(segment), type, tree.children[child]);
  };
  receive(0);
  co_await first.settled();  // a child that has another count may send no more
  for (MPI_Count segment = 0; segment < cut.number() && !first.has_failed(); ++segment) {
    co_await exchange(segment + 1).settled();  // what lies where the next segment arrives has left
    receive(segment + 1);
    co_await exchange(segment).settled();
    if (exchange(segment).has_failed()) break;
    const void* const mine = element(own, cut.begin(segment), type);
    void* sum = tree.is_root() && !in_received ? element(received, cut.begin(segment), type)
                : tree.count > 0               ? values_of(0, segment)
                                               : const_cast<void*>(mine);
    if (sum != mine) operation->apply(mine, sum, cut.elements(segment), type);
    for (int child = sum == mine ? 0 : 1; child < tree.count; ++child)
      operation->apply(values_of(child, segment), sum, cut.elements(segment), type);
    if (!tree.is_root()) exchange(segment).send(sum, cut.elements(segment), type, tree.parent);
  }
  co_await first.settled();
  co_await second.settled();
  first.check();
  second.check();
}

}  // namespace

Task reduce_to_root(Channel channel, const void* sent, void* received, MPI_Count count, Type type,
                    Op operation, int root) {
  const int rank = channel.rank();
  const void* const own = is_in_place(sent) ? received : sent;
  if (channel.size() == 1) {
    if (!is_in_place(sent)) copy_elements(type, count, sent, type, count, received);
    co_return;
  }
  if (algorithms::may_be_cut(operation, type) && algorithms::reduces_by_segments(count * type->size)) {
    co_await reduce_segments(channel, own, received, count, type, operation, root);
    co_return;
  }
  // Only a commutative operation may begin at any rank; others end at rank 0, which sends the result on.
  const int top = operation->is_commutative ? root : 0;
  if (top == root) {
    co_await reduce_whole(channel, own, received, count, type, operation, root);
    co_return;
  }
  Scratch result(type, rank == 0 ? count : 0);
  co_await reduce_whole(channel, own, result.get(), count, type, operation, 0);
  Exchange exchange(channel);
  if (rank == 0) exchange.send(result.get(), count, type, root);
  if (rank == root) exchange.receive(received, count, type, 0);
  co_await exchange;
}

Task reduce(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
            Reduction& operation, int root) {
  const Communicator& communicator = channel.communicator;
  check_root(communicator, root);
  if (root == MPI_PROC_NULL) return inter_reduce(channel, sent, received, 0, type, operation, root);
  check_reduction(count, type, operation);
  if (communicator.is_inter() ? root != MPI_ROOT : root != channel.rank())
    check_buffer("sendbuf", sent, count, type);
  else if (communicator.is_inter())
    check_buffer("recvbuf", received, count, type);
  else
    check_result(sent, received, count, type);
  if (communicator.is_inter()) return inter_reduce(channel, sent, received, count, type, operation, root);
  return reduce_to_root(channel, sent, received, count, type, operation, root);
}

}  // namespace weft::mpi
