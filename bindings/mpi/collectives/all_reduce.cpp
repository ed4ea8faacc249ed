// Reductions to all ranks, which get the same bits.
#include "bindings/mpi/collectives/algorithms.hpp"
#include "bindings/mpi/collectives/collectives_calls.hpp"
#include "bindings/mpi/collectives/inter.hpp"
#include "bindings/mpi/collectives/intra.hpp"

#include <utility>

namespace weft::mpi {

namespace {

/// Of the first ranks pairs of neighbours become one, so that a power of two is left.
struct PowerOfTwo {
  explicit PowerOfTwo(const Channel& channel) noexcept {
    while (power * 2 <= channel.size()) power *= 2;
    extra = channel.size() - power;
    is_pair = channel.rank() < 2 * extra;
    is_out = is_pair && channel.rank() % 2 == 0;
    place = is_pair ? channel.rank() / 2 : channel.rank() - extra;
  }
  [[nodiscard]] int rank_of(int of_place) const noexcept {
    return of_place < extra ? of_place * 2 + 1 : of_place + extra;
  }

  int power = 1, extra = 0, place = 0;
  bool is_pair = false;
  bool is_out = false;  // its neighbour takes part for it
};

/// Recursive doubling: all combine all values, in the order of ranks.
Task reduce_by_doubling(Channel channel, const void* sent, void* received, MPI_Count count, Type type,
                        Op operation) {
  Exchange exchange(channel, Exchange::Traffic::both_ways);
  const int rank = channel.rank();
  const PowerOfTwo ranks(channel);
  Scratch scratch(type, count);
  void* sum = received;
  void* other = scratch.get();
  if (!is_in_place(sent)) copy_elements(type, count, sent, type, count, received);
  if (ranks.is_out) {
    exchange.send(received, count, type, rank + 1);
    co_await exchange;
    exchange.receive(received, count, type, rank + 1);
    co_await exchange;
    co_return;
  }
  if (ranks.is_pair) {
    exchange.receive(other, count, type, rank - 1);
    co_await exchange;
    operation->apply(other, sum, count, type);
  }
  for (int mask = 1; mask < ranks.power; mask *= 2) {
    const int partner = ranks.place ^ mask;
    exchange.receive(other, count, type, ranks.rank_of(partner));
    exchange.send(sum, count, type, ranks.rank_of(partner));
    co_await exchange;
    if (partner < ranks.place) {
      operation->apply(other, sum, count, type);
    } else {
      operation->apply(sum, other, count, type);
      std::swap(sum, other);
    }
  }
  if (ranks.is_pair) exchange.send(sum, count, type, rank - 1);
  if (sum != received) copy_elements(type, count, sum, type, count, received);
  co_await exchange;
}

/// Each rank combines a share of the elements, which is halved in every step, and what the steps have cut off
/// comes back in the opposite order.
Task reduce_by_shares(Channel channel, const void* sent, void* received, MPI_Count count, Type type,
                      Op operation) {
  Exchange exchange(channel, Exchange::Traffic::both_ways);
  const int rank = channel.rank();
  const PowerOfTwo ranks(channel);
  const void* own = is_in_place(sent) ? received : sent;
  Scratch scratch(type, ranks.is_out                         ? 0
                        : ranks.is_pair && is_in_place(sent) ? count
                                                             : algorithms::elements_below_cut(count) + 1);
  if (ranks.is_out) {
    exchange.send(own, count, type, rank + 1);
    co_await exchange;
    exchange.receive(received, count, type, rank + 1);
    co_await exchange;
    co_return;
  }
  if (ranks.is_pair) {
    void* const other = own == received ? scratch.get() : received;
    exchange.receive(other, count, type, rank - 1);
    co_await exchange;
    operation->apply(own == received ? other : own, received, count, type);
    own = received;
  }
  struct Range {
    MPI_Count first, end;
  };
  Range kept[32];
  kept[0] = {0, count};
  int step = 0;
  for (int mask = 1; mask < ranks.power; mask *= 2, ++step) {
    const Range whole = kept[step];
    const MPI_Count middle = whole.first + algorithms::elements_below_cut(whole.end - whole.first);
    const bool has_lower = (ranks.place & mask) == 0;
    const Range mine = has_lower ? Range{whole.first, middle} : Range{middle, whole.end};
    const Range others = has_lower ? Range{middle, whole.end} : Range{whole.first, middle};
    kept[step + 1] = mine;
    void* const sum = element(received, mine.first, type);
    void* const arrived = own == received ? scratch.get() : sum;
    const int partner = ranks.rank_of(ranks.place ^ mask);
    exchange.receive(arrived, mine.end - mine.first, type, partner);
    exchange.send(element(own, others.first, type), others.end - others.first, type, partner);
    co_await exchange;
    operation->apply(own == received ? arrived : element(own, mine.first, type), sum, mine.end - mine.first,
                     type);
    own = received;
  }
  for (int mask = ranks.power / 2; mask > 0; mask /= 2, --step) {
    const Range whole = kept[step - 1], mine = kept[step];
    const Range others =
        mine.first == whole.first ? Range{mine.end, whole.end} : Range{whole.first, mine.first};
    const int partner = ranks.rank_of(ranks.place ^ mask);
    exchange.receive(element(received, others.first, type), others.end - others.first, type, partner);
    exchange.send(element(received, mine.first, type), mine.end - mine.first, type, partner);
    co_await exchange;
  }
  if (ranks.is_pair) exchange.send(received, count, type, rank - 1);
  co_await exchange;
}

}  // namespace

Task reduce_to_all(Channel channel, const void* sent, void* received, MPI_Count count, Type type,
                   Op operation) {
  if (algorithms::may_be_cut(operation, type) &&
      algorithms::shares_all_reduce(channel.size(), count, count * type->size))
    return reduce_by_shares(channel, sent, received, count, type, operation);
  return reduce_by_doubling(channel, sent, received, count, type, operation);
}

Task allreduce(Channel channel, const void* sent, void* received, MPI_Count count, Datatype& type,
               Reduction& operation) {
  check_reduction(count, type, operation);
  check_result(sent, received, count, type);
  if (channel.communicator.is_inter())
    return inter_reduce_to_all(channel, sent, received, count, type, operation);
  return reduce_to_all(channel, sent, received, count, type, operation);
}

}  // namespace weft::mpi
