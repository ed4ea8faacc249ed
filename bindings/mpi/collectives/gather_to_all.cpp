// Every rank's elements to all ranks.
#include "bindings/mpi/collectives/algorithms.hpp"
#include "bindings/mpi/collectives/collectives_calls.hpp"
#include "bindings/mpi/collectives/inter.hpp"
#include "bindings/mpi/collectives/intra.hpp"

#include <algorithm>

namespace weft::mpi {

namespace {

/// What a rank contributes, and where the blocks of all are to lie.
struct Gathering {
  /// Copies the rank's own block to where it is to lie.
  void copy_own(Exchange& exchange, int rank) const {
    if (!is_in_place(sent)) exchange.copy(sent_type, sent_count, sent, type, blocks.count_of(rank), at(rank));
  }
  /// Sends the rank's own block from where the caller has it: what has just been copied lies in the cache of
  /// this core, where the receiver's core fetches it slowly.
  void send_own(Exchange& exchange, int rank, int to) const {
    if (is_in_place(sent))
      exchange.send(at(rank), blocks.count_of(rank), type, to);
    else
      exchange.send(sent, sent_count, sent_type, to);
  }
  [[nodiscard]] std::byte* at(int rank) const noexcept {
    return element(received, blocks.offset_of(rank), type);
  }
  [[nodiscard]] MPI_Count bytes_of(int rank) const noexcept { return blocks.count_of(rank) * type->size; }
  /// Where there is a list of counts, blocks without bytes do not travel: all ranks have the same list.
  [[nodiscard]] bool has_message(int rank) const noexcept {
    return blocks.counts.is_null() || bytes_of(rank) > 0;
  }

  const void* sent;
  MPI_Count sent_count;
  Type sent_type;
  void* received;
  Blocks blocks;
  Type type;
};

/// Every step doubles how many blocks each rank has, packed in the order of ranks: those of an aligned group
/// where ranks go in pairs, else its own and those of the ranks behind it.
Task gather_by_doubling(Channel channel, Gathering all) {
  Exchange exchange(channel);
  const int rank = channel.rank(), size = channel.size();
  const bool is_paired = algorithms::goes_in_pairs(size);
  const int first = is_paired ? 0 : rank;  // in the packed memory
  all.copy_own(exchange, rank);
  const auto bytes_of = [&](int first_rank, int count) {
    MPI_Count bytes = 0;
    for (int index = 0; index < count; ++index) bytes += all.bytes_of((first_rank + index) % size);
    return bytes;
  };
  const Block packed = make_block(bytes_of(first, size));
  const auto place_of = [&](int of) { return packed.get() + bytes_of(first, (of - first + size) % size); };
  pack_elements(all.type, all.blocks.count_of(rank), all.at(rank), place_of(rank));
  for (int there = 1; there < size; there *= 2) {
    const int count = std::min(there, size - there);
    const int from = is_paired ? rank ^ there : (rank + there) % size;
    const int to = is_paired ? from : (rank - there + size) % size;
    const int own = is_paired ? rank & -there : rank, others = is_paired ? from & -there : from;
    exchange.receive_bytes(place_of(others), bytes_of(others, count), from);
    exchange.send_bytes(place_of(own), bytes_of(own, count), to);
    co_await exchange;
  }
  for (int step = 1; step < size; ++step) {
    const int of = (rank + step) % size;
    unpack_elements(all.type, all.blocks.count_of(of), place_of(of), all.bytes_of(of), all.at(of));
  }
}

/// Each block to each rank at once.
Task gather_directly(Channel channel, Gathering all) {
  Exchange exchange(channel);
  const int rank = channel.rank(), size = channel.size();
  for (int step = 1; step < size; ++step) {
    const int from = (rank + step) % size;
    if (all.has_message(from)) exchange.receive(all.at(from), all.blocks.count_of(from), all.type, from);
  }
  for (int step = 1; step < size && all.has_message(rank); ++step)
    all.send_own(exchange, rank, (rank - step + size) % size);
  co_await exchange;
  all.copy_own(exchange, rank);
  exchange.check();
}

/// Blocks go on to the next rank, until they have been everywhere.
Task gather_around(Channel channel, Gathering all) {
  Exchange exchange(channel);
  const int rank = channel.rank(), size = channel.size();
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int step = 0; step + 1 < size; ++step) {
    const int out = (rank - step + size) % size, in = (rank - step - 1 + size) % size;
    exchange.receive(all.at(in), all.blocks.count_of(in), all.type, left);
    if (step == 0)
      all.send_own(exchange, rank, right);
    else
      exchange.send(all.at(out), all.blocks.count_of(out), all.type, right);
    co_await exchange;
  }
  all.copy_own(exchange, rank);
  exchange.check();
}

}  // namespace

Task gather_to_all(Channel channel, const void* sent, MPI_Count sent_count, Type sent_type, void* received,
                   Blocks blocks, Type type) {
  const Gathering all{sent, sent_count, sent_type, received, blocks, type};
  const int size = channel.size();
  MPI_Count bytes = 0;
  for (int rank = 0; rank < size; ++rank) bytes += all.bytes_of(rank);
  switch (algorithms::gathers_to_all(size, bytes)) {
    case algorithms::ToAll::doubling:
      return gather_by_doubling(channel, all);
    case algorithms::ToAll::direct:
      return gather_directly(channel, all);
    case algorithms::ToAll::ring:
      break;
  }
  return gather_around(channel, all);
}

namespace {

Task gather_checked(const Channel& channel, const void* sent, MPI_Count sent_count, Datatype& sent_type,
                    void* received, const Blocks& blocks, Datatype& received_type) {
  const Communicator& communicator = channel.communicator;
  check_blocks(kReceived, received, blocks, communicator.peers().size(), received_type);
  if (communicator.is_inter() || !is_in_place(sent)) check_block(kSent, sent, sent_count, sent_type);
  if (!communicator.is_inter())
    check_own_block(sent, sent_count, sent_type, received, blocks, received_type, communicator);
  if (communicator.is_inter())
    return inter_gather_to_all(channel, sent, sent_count, sent_type, received, blocks, received_type);
  return gather_to_all(channel, sent, sent_count, sent_type, received, blocks, received_type);
}

}  // namespace

Task allgather(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
               MPI_Count received_count, Datatype& received_type) {
  return gather_checked(channel, sent, sent_count, sent_type, received, {{}, {}, received_count},
                        received_type);
}

Task allgatherv(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
                Numbers counts, Numbers displacements, Datatype& received_type) {
  check_list("recvcounts", counts);
  return gather_checked(channel, sent, sent_count, sent_type, received, {counts, displacements},
                        received_type);
}

}  // namespace weft::mpi
