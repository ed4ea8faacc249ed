#include "bindings/mpi/collectives/checks.hpp"
#include "bindings/mpi/neighbours/neighbours_calls.hpp"
#include "bindings/mpi/topologies/topology.hpp"

#include <algorithm>

namespace weft::mpi {

namespace {

/// What goes along edge number `index`, or comes along it.
struct Edges {
  bool is_same = false;   // the same elements along all edges
  bool is_sparse = true;  // one side has a list of counts, in which most may be 0
  MPI_Count count = 0;
  Numbers counts, displacements;
  Datatype* type = nullptr;
  const MPI_Datatype* types = nullptr;  // displacements are bytes then

  [[nodiscard]] MPI_Count count_of(int index) const noexcept {
    return counts.is_null() ? count : counts[index];
  }
  [[nodiscard]] Datatype& type_of(int index) const {
    return types != nullptr ? *find<Datatype>(types[index]) : *type;
  }
  /// Where there is a list of counts, edges without bytes have no message: both ranks know that.
  [[nodiscard]] bool has_message(int index, int neighbour) const {
    return neighbour != MPI_PROC_NULL && (!is_sparse || (count_of(index) > 0 && type_of(index).size > 0));
  }
  /// Fails where an argument is none, before anything is posted; `names` are those of the arguments.
  void check(const BufferNames& names, const void* buffer, const std::vector<int>& neighbours) const {
    const char* const what = counts.is_null() ? names.count : names.counts;
    const bool is_any = std::ranges::any_of(neighbours, [](int rank) { return rank != MPI_PROC_NULL; });
    const bool has_lists = is_sparse && !is_same;
    if (is_any && has_lists) {
      check_list(names.counts, counts);
      if (type == nullptr) check_types(types);
    }
    if (is_any && !has_lists) check_buffer(names.buffer, buffer, count, *type);
    for (std::size_t edge = 0; edge < neighbours.size(); ++edge) {
      const auto index = static_cast<int>(edge);
      if (has_lists && counts.is_null()) continue;  // only MPI_PROC_NULL
      if (has_lists && counts[index] > 0) check_list("displs", displacements);
      if (types == nullptr) {
        check_elements(what, count_of(index), *type);
      } else if (neighbours[edge] != MPI_PROC_NULL && counts[index] != 0) {
        const auto* const own = find<Datatype>(types[index]);
        if (own == nullptr)
          fail(MPI_ERR_TYPE, "the datatype for neighbour %d is MPI_DATATYPE_NULL or none", index);
        check_elements(what, counts[index], *own);
      }
    }
  }
  [[nodiscard]] std::byte* at(const void* buffer, int index) const {
    if (types != nullptr) return shifted(buffer, displacements[index]);
    if (is_same) return shifted(buffer, 0);
    return element(buffer, displacements.is_null() ? index * count : displacements[index], *type);
  }
};

Task exchange_with_neighbours(Channel channel, const void* sent, Edges out, void* received, Edges in) {
  Exchange exchange(channel);
  const Neighbours neighbours = neighbours_of(channel.communicator);
  for (std::size_t edge = 0; edge < neighbours.sources.size(); ++edge)
    if (const auto index = static_cast<int>(edge); in.has_message(index, neighbours.sources[edge]))
      exchange.receive(in.at(received, index), in.count_of(index), in.type_of(index),
                       neighbours.sources[edge], neighbours.source_tags[edge]);
  for (std::size_t edge = 0; edge < neighbours.destinations.size(); ++edge)
    if (const auto index = static_cast<int>(edge); out.has_message(index, neighbours.destinations[edge]))
      exchange.send(out.at(sent, index), out.count_of(index), out.type_of(index),
                    neighbours.destinations[edge], neighbours.destination_tags[edge]);
  co_await exchange;
}

Task checked(Channel channel, const void* sent, const Edges& out, void* received, const Edges& in) {
  if (channel.communicator.topology == nullptr)
    fail(MPI_ERR_TOPOLOGY, "the communicator has no virtual topology");
  const Neighbours neighbours = neighbours_of(channel.communicator);
  in.check(kReceived, received, neighbours.sources);
  out.check(kSent, sent, neighbours.destinations);
  // A tag for each direction, up to 64, behind the number of the collective.
  const Channel directed(channel.communicator, channel.communicator.context | 2,
                         (channel.tag << 6) & 0x7fffffff);
  return exchange_with_neighbours(directed, sent, out, received, in);
}

}  // namespace

int in_degree(const Communicator& communicator) {
  return static_cast<int>(neighbours_of(communicator).sources.size());
}
int out_degree(const Communicator& communicator) {
  return static_cast<int>(neighbours_of(communicator).destinations.size());
}

Task neighbor_allgather(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type,
                        void* received, MPI_Count received_count, Datatype& received_type) {
  return checked(channel, sent, {true, false, sent_count, {}, {}, &sent_type, nullptr}, received,
                 {false, false, received_count, {}, {}, &received_type, nullptr});
}
Task neighbor_allgatherv(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type,
                         void* received, Numbers counts, Numbers displacements, Datatype& received_type) {
  return checked(channel, sent, {true, true, sent_count, {}, {}, &sent_type, nullptr}, received,
                 {false, true, 0, counts, displacements, &received_type, nullptr});
}
Task neighbor_alltoall(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type,
                       void* received, MPI_Count received_count, Datatype& received_type) {
  return checked(channel, sent, {false, false, sent_count, {}, {}, &sent_type, nullptr}, received,
                 {false, false, received_count, {}, {}, &received_type, nullptr});
}
Task neighbor_alltoallv(Channel channel, const void* sent, Numbers sent_counts, Numbers sent_displacements,
                        Datatype& sent_type, void* received, Numbers received_counts,
                        Numbers received_displacements, Datatype& received_type) {
  return checked(channel, sent, {false, true, 0, sent_counts, sent_displacements, &sent_type, nullptr},
                 received,
                 {false, true, 0, received_counts, received_displacements, &received_type, nullptr});
}
Task neighbor_alltoallw(Channel channel, const void* sent, Numbers sent_counts, Numbers sent_displacements,
                        const MPI_Datatype* sent_types, void* received, Numbers received_counts,
                        Numbers received_displacements, const MPI_Datatype* received_types) {
  return checked(channel, sent, {false, true, 0, sent_counts, sent_displacements, nullptr, sent_types},
                 received,
                 {false, true, 0, received_counts, received_displacements, nullptr, received_types});
}

void compare_edges(const Channel& channel, const BlockList& sent, const BlockList& awaited) {
  const Neighbours neighbours = neighbours_of(channel.communicator);
  const auto blocks = [](const std::vector<int>& ranks, const std::vector<int>& tags, const BlockList& list) {
    std::vector<BlockOfMember> all;
    for (std::size_t edge = 0; edge < ranks.size(); ++edge)
      if (ranks[edge] != MPI_PROC_NULL)
        all.push_back({ranks[edge], tags[edge], list.of(static_cast<int>(edge))});
    return all;
  };
  compare_blocks(channel, true, blocks(neighbours.destinations, neighbours.destination_tags, sent),
                 blocks(neighbours.sources, neighbours.source_tags, awaited));
}

}  // namespace weft::mpi
