#include "bindings/mpi/collectives/checks.hpp"
#include "bindings/mpi/neighbours/neighbours_calls.hpp"
#include "bindings/mpi/topologies/topology.hpp"

namespace weft::mpi {

namespace {

/// What goes along edge number `index`, or comes along it.
struct Edges {
  bool is_same = false;  // the same elements along all edges
  MPI_Count count = 0;
  Numbers counts, displacements;
  Datatype* type = nullptr;
  const MPI_Datatype* types = nullptr;  // displacements are bytes then

  [[nodiscard]] MPI_Count count_of(int index) const noexcept {
    return counts.is_null() ? count : counts[index];
  }
  [[nodiscard]] Datatype& type_of(int index) const {
    Datatype* const own = types != nullptr ? find<Datatype>(types[index]) : type;
    if (own == nullptr)
      fail(MPI_ERR_TYPE, "the datatype for neighbour %d is MPI_DATATYPE_NULL or none", index);
    return *own;
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
  // Before anything is posted that would outlive a failure.
  for (std::size_t edge = 0; edge < neighbours.sources.size(); ++edge)
    static_cast<void>(in.type_of(static_cast<int>(edge)));
  for (std::size_t edge = 0; edge < neighbours.destinations.size(); ++edge)
    static_cast<void>(out.type_of(static_cast<int>(edge)));
  for (std::size_t edge = 0; edge < neighbours.sources.size(); ++edge) {
    const auto index = static_cast<int>(edge);
    exchange.receive(in.at(received, index), in.count_of(index), in.type_of(index), neighbours.sources[edge],
                     neighbours.source_tags[edge]);
  }
  for (std::size_t edge = 0; edge < neighbours.destinations.size(); ++edge) {
    const auto index = static_cast<int>(edge);
    exchange.send(out.at(sent, index), out.count_of(index), out.type_of(index), neighbours.destinations[edge],
                  neighbours.destination_tags[edge]);
  }
  co_await exchange;
}

Task checked(Channel channel, const void* sent, const Edges& out, void* received, const Edges& in) {
  if (channel.communicator.topology == nullptr)
    fail(MPI_ERR_TOPOLOGY, "the communicator has no virtual topology");
  if (out.type != nullptr) check_committed(*out.type);
  if (in.type != nullptr) check_committed(*in.type);
  // A tag for each direction, up to 64, behind the number of the collective.
  const Channel directed(channel.communicator, channel.context | 2, (channel.tag << 6) & 0x7fffffff);
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
  return checked(channel, sent, {true, sent_count, {}, {}, &sent_type, nullptr}, received,
                 {false, received_count, {}, {}, &received_type, nullptr});
}
Task neighbor_allgatherv(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type,
                         void* received, Numbers counts, Numbers displacements, Datatype& received_type) {
  return checked(channel, sent, {true, sent_count, {}, {}, &sent_type, nullptr}, received,
                 {false, 0, counts, displacements, &received_type, nullptr});
}
Task neighbor_alltoall(Channel channel, const void* sent, MPI_Count sent_count, Datatype& sent_type,
                       void* received, MPI_Count received_count, Datatype& received_type) {
  return checked(channel, sent, {false, sent_count, {}, {}, &sent_type, nullptr}, received,
                 {false, received_count, {}, {}, &received_type, nullptr});
}
Task neighbor_alltoallv(Channel channel, const void* sent, Numbers sent_counts, Numbers sent_displacements,
                        Datatype& sent_type, void* received, Numbers received_counts,
                        Numbers received_displacements, Datatype& received_type) {
  return checked(channel, sent, {false, 0, sent_counts, sent_displacements, &sent_type, nullptr}, received,
                 {false, 0, received_counts, received_displacements, &received_type, nullptr});
}
Task neighbor_alltoallw(Channel channel, const void* sent, Numbers sent_counts, Numbers sent_displacements,
                        const MPI_Datatype* sent_types, void* received, Numbers received_counts,
                        Numbers received_displacements, const MPI_Datatype* received_types) {
  return checked(channel, sent, {false, 0, sent_counts, sent_displacements, nullptr, sent_types}, received,
                 {false, 0, received_counts, received_displacements, nullptr, received_types});
}

}  // namespace weft::mpi
