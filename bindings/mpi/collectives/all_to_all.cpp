// Every rank to every rank: all messages at once, each rank beginning behind itself, so that no rank is
// everybody's first.
#include "bindings/mpi/collectives/checks.hpp"
#include "bindings/mpi/collectives/collectives_calls.hpp"

namespace weft::mpi {

namespace {

/// One side of an exchange of blocks: equal ones, ones of different sizes, or ones of different datatypes,
/// whose displacements are bytes.
struct Side {
  Side(MPI_Count equal, Datatype& of) noexcept : count(equal), type(&of) {}
  Side(Numbers lengths, Numbers at, Datatype& of) noexcept : counts(lengths), displacements(at), type(&of) {}
  Side(Numbers lengths, Numbers at, const MPI_Datatype* of) noexcept
      : counts(lengths), displacements(at), types(of) {}

  [[nodiscard]] Datatype& type_of(int rank) const {
    return types != nullptr ? *find<Datatype>(types[rank]) : *type;
  }
  [[nodiscard]] MPI_Count count_of(int rank) const noexcept {
    return counts.is_null() ? count : counts[rank];
  }
  [[nodiscard]] MPI_Count bytes_of(int rank) const {
    const MPI_Count elements = count_of(rank);
    return elements == 0 ? 0 : elements * type_of(rank).size;
  }
  /// Where there is a list of counts, blocks without bytes do not travel: both ranks know that.
  [[nodiscard]] bool has_message(int rank) const { return counts.is_null() || bytes_of(rank) > 0; }
  [[nodiscard]] std::byte* block(const void* buffer, int rank) const {
    if (types != nullptr) return shifted(buffer, displacements[rank]);
    return element(buffer, counts.is_null() ? rank * count : displacements[rank], *type);
  }
  /// Fails where an argument is none.
  void check(const BufferNames& names, const void* buffer, int ranks) const {
    if (types == nullptr) return check_blocks(names, buffer, {counts, displacements, count}, ranks, *type);
    for (int rank = 0; rank < ranks; ++rank) {
      if (counts[rank] == 0) continue;
      const auto* const own = find<Datatype>(types[rank]);
      if (own == nullptr) fail(MPI_ERR_TYPE, "the datatype for rank %d is MPI_DATATYPE_NULL or none", rank);
      check_elements(names.counts, counts[rank], *own);
    }
  }

  MPI_Count count = 0;
  Numbers counts, displacements;
  Datatype* type = nullptr;
  const MPI_Datatype* types = nullptr;
};

Task exchange_all(Channel channel, const void* sent, Side out, void* received, Side in) {
  Exchange exchange(channel);
  const Communicator& communicator = channel.communicator;
  const int ranks = communicator.peers().size();
  const bool in_place = is_in_place(sent);
  // What is to be sent in place lies where messages are to arrive: all of it is packed first.
  MPI_Count all_bytes = 0;
  for (int rank = 0; in_place && rank < ranks; ++rank) all_bytes += in.bytes_of(rank);
  const Block packed = make_block(all_bytes);
  std::byte* end = packed.get();
  for (int rank = 0; in_place && rank < ranks; ++rank) {
    if (in.bytes_of(rank) == 0) continue;
    pack_elements(in.type_of(rank), in.count_of(rank), in.block(received, rank), end);
    end += in.bytes_of(rank);
  }
  const auto packed_block = [&](int of) {
    std::byte* block = packed.get();
    for (int rank = 0; rank < of; ++rank) block += in.bytes_of(rank);
    return block;
  };
  const int own = communicator.is_inter() ? -1 : communicator.rank, first = own < 0 ? 0 : own;
  for (int step = 0; step < ranks; ++step) {
    const int from = (first + step) % ranks;
    if (from != own && in.has_message(from))
      exchange.receive(in.block(received, from), in.count_of(from), in.type_of(from), from);
  }
  for (int step = 0; step < ranks; ++step) {
    const int to = (first - step + ranks) % ranks;
    if (!(in_place ? in : out).has_message(to) || (in_place && to == own)) continue;
    if (in_place)
      exchange.send_bytes(packed_block(to), in.bytes_of(to), to);
    else if (to != own)
      exchange.send(out.block(sent, to), out.count_of(to), out.type_of(to), to);
    else if (in.has_message(own))
      exchange.copy(out.type_of(own), out.count_of(own), out.block(sent, own), in.type_of(own),
                    in.count_of(own), in.block(received, own));
  }
  co_await exchange;
}

Task exchange_checked(const Channel& channel, const void* sent, const Side& out, void* received,
                      const Side& in) {
  const Communicator& communicator = channel.communicator;
  const int ranks = communicator.peers().size(), own = communicator.rank;
  in.check(kReceived, received, ranks);
  const bool in_place = !communicator.is_inter() && is_in_place(sent);
  if (!in_place) out.check(kSent, sent, ranks);
  if (!in_place && !communicator.is_inter() && out.bytes_of(own) > 0 && in.bytes_of(own) > 0 &&
      &out.type_of(own) == &in.type_of(own))
    check_apart(out.block(sent, own), in.block(received, own), in.count_of(own));
  if (!in_place && out.counts.is_null() && in.counts.is_null())
    check_overlap(sent, ranks * out.count, *out.type, received, ranks * in.count, *in.type);
  return exchange_all(channel, sent, out, received, in);
}

}  // namespace

Task alltoall(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
              MPI_Count received_count, Datatype& received_type) {
  return exchange_checked(channel, sent, {sent_count, sent_type}, received, {received_count, received_type});
}

Task alltoallv(Channel channel, const void* sent, Numbers sent_counts, Numbers sent_displacements,
               Datatype& sent_type, void* received, Numbers received_counts, Numbers received_displacements,
               Datatype& received_type) {
  if (!is_in_place(sent)) check_list("sendcounts", sent_counts);
  check_list("recvcounts", received_counts);
  return exchange_checked(channel, sent, {sent_counts, sent_displacements, sent_type}, received,
                          {received_counts, received_displacements, received_type});
}

Task alltoallw(Channel channel, const void* sent, Numbers sent_counts, Numbers sent_displacements,
               const MPI_Datatype* sent_types, void* received, Numbers received_counts,
               Numbers received_displacements, const MPI_Datatype* received_types) {
  if (!is_in_place(sent)) check_list("sendcounts", sent_counts);
  if (!is_in_place(sent)) check_types(sent_types);
  check_types(received_types);
  check_list("recvcounts", received_counts);
  return exchange_checked(channel, sent, {sent_counts, sent_displacements, sent_types}, received,
                          {received_counts, received_displacements, received_types});
}

}  // namespace weft::mpi
