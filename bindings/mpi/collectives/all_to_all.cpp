// Every rank to every rank: all messages at once, each rank beginning behind itself, so that no rank is
// everybody's first.
#include "bindings/mpi/collectives/checks.hpp"
#include "bindings/mpi/collectives/collectives_calls.hpp"

#include <vector>

namespace weft::mpi {

namespace {

/// Both sides of an exchange of blocks: equal ones, ones of different sizes, or ones of different datatypes,
/// whose displacements are bytes.
struct Side {
  MPI_Count count = 0;
  Numbers counts, displacements;
  Datatype* type = nullptr;
  const MPI_Datatype* types = nullptr;

  [[nodiscard]] Datatype& type_of(int rank) const {
    Datatype* const own = types != nullptr ? find<Datatype>(types[rank]) : type;
    if (own == nullptr) fail(MPI_ERR_TYPE, "the datatype for rank %d is MPI_DATATYPE_NULL or none", rank);
    return *own;
  }
  [[nodiscard]] MPI_Count count_of(int rank) const noexcept {
    return counts.is_null() ? count : counts[rank];
  }
  [[nodiscard]] std::byte* block(const void* buffer, int rank) const {
    if (types != nullptr) return shifted(buffer, displacements[rank]);
    return element(buffer, counts.is_null() ? rank * count : displacements[rank], *type);
  }
  void hold(std::vector<Type>& held, int ranks) const {
    if (types == nullptr)
      held.emplace_back(*type);
    else
      for (int rank = 0; rank < ranks; ++rank)
        if (count_of(rank) > 0) held.emplace_back(type_of(rank));
  }
};

Task exchange_all(Channel channel, const void* sent, Side out, void* received, Side in) {
  Exchange exchange(channel);
  const Communicator& communicator = channel.communicator;
  const int ranks = communicator.peers().size();
  std::vector<Type> held;
  in.hold(held, ranks);
  std::vector<std::unique_ptr<std::byte[]>> copies;
  const bool in_place = is_in_place(sent);
  if (!in_place) out.hold(held, ranks);
  if (in_place) {
    // What is to be sent lies where messages are to arrive: all of it is packed first.
    for (int rank = 0; rank < ranks; ++rank) {
      const Datatype& type = in.type_of(rank);
      copies.push_back(
          std::make_unique<std::byte[]>(static_cast<std::size_t>(type.size * in.count_of(rank) + 1)));
      pack_elements(type, in.count_of(rank), in.block(received, rank), copies.back().get());
    }
  }
  const int first = communicator.is_inter() ? 0 : communicator.rank;
  for (int step = 0; step < ranks; ++step) {
    const int from = (first + step) % ranks;
    if (!communicator.is_inter() && from == communicator.rank) continue;
    if (in.count_of(from) > 0 || in.types == nullptr)
      exchange.receive(in.block(received, from), in.count_of(from), in.type_of(from), from);
  }
  for (int step = 0; step < ranks; ++step) {
    const int to = (first - step + ranks) % ranks;
    const bool is_own = !communicator.is_inter() && to == communicator.rank;
    if (in_place) {
      if (!is_own && (in.count_of(to) > 0 || in.types == nullptr))
        exchange.send(copies[static_cast<std::size_t>(to)].get(), in.count_of(to) * in.type_of(to).size,
                      byte_type, to);
    } else if (out.count_of(to) == 0 && out.types != nullptr) {
      continue;
    } else if (is_own) {
      copy_elements(out.type_of(to), out.count_of(to), out.block(sent, to), in.type_of(to), in.count_of(to),
                    in.block(received, to));
    } else {
      exchange.send(out.block(sent, to), out.count_of(to), out.type_of(to), to);
    }
  }
  co_await exchange;
}

}  // namespace

Task alltoall(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type, void* received,
              MPI_Count received_count, Datatype& received_type) {
  check_committed(received_type);
  return exchange_all(channel, sent, {sent_count, {}, {}, &sent_type, nullptr}, received,
                      {received_count, {}, {}, &received_type, nullptr});
}

Task alltoallv(Channel channel, const void* sent, Numbers sent_counts, Numbers sent_displacements,
               Datatype& sent_type, void* received, Numbers received_counts, Numbers received_displacements,
               Datatype& received_type) {
  check_committed(received_type);
  return exchange_all(channel, sent, {0, sent_counts, sent_displacements, &sent_type, nullptr}, received,
                      {0, received_counts, received_displacements, &received_type, nullptr});
}

Task alltoallw(Channel channel, const void* sent, Numbers sent_counts, Numbers sent_displacements,
               const MPI_Datatype* sent_types, void* received, Numbers received_counts,
               Numbers received_displacements, const MPI_Datatype* received_types) {
  return exchange_all(channel, sent, {0, sent_counts, sent_displacements, nullptr, sent_types}, received,
                      {0, received_counts, received_displacements, nullptr, received_types});
}

}  // namespace weft::mpi
