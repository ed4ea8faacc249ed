// Graph topologies, whole and distributed.
#include "bindings/mpi/collectives/collectives_calls.hpp"
#include "bindings/mpi/creation/creation.hpp"
#include "bindings/mpi/roll_call/roll_call.hpp"
#include "bindings/mpi/topologies/topologies_calls.hpp"
#include "bindings/mpi/topologies/topology.hpp"

#include <algorithm>

namespace weft::mpi {

namespace {

WholeGraph& graph_of(const Communicator& communicator) {
  return topology_of<WholeGraph>(communicator, "graph");
}
OwnEdges& edges_of(const Communicator& communicator) {
  return topology_of<OwnEdges>(communicator, "distributed graph");
}

void check_graph(const Communicator& communicator, int nodes, const int* index, const int* edges) {
  if (communicator.is_inter()) fail(MPI_ERR_COMM, "an intercommunicator; an intracommunicator is needed");
  if (nodes < 0 || nodes > communicator.size)
    fail(MPI_ERR_ARG, "a graph of %d nodes in a communicator of %d ranks", nodes, communicator.size);
  for (int node = 0; node < nodes; ++node)
    if (index[node] < (node == 0 ? 0 : index[node - 1]))
      fail(MPI_ERR_ARG, "the index of node %d is lower than that before it", node);
  for (int edge = 0; nodes > 0 && edge < index[nodes - 1]; ++edge)
    if (edges[edge] < 0 || edges[edge] >= nodes)
      fail(MPI_ERR_ARG, "edge %d leads to node %d; 0 to %d are there", edge, edges[edge], nodes - 1);
}

bool has_weights(const int* weights) { return weights != MPI_UNWEIGHTED; }

void check_ranks(const Communicator& communicator, int count, const int* ranks, const char* what) {
  if (count < 0) fail(MPI_ERR_ARG, "%d %ss; 0 or more are needed", count, what);
  for (int index = 0; index < count; ++index)
    if (ranks[index] < 0 || ranks[index] >= communicator.size)
      fail(MPI_ERR_RANK, "%s %d; a rank from 0 to %d is needed", what, ranks[index], communicator.size - 1);
}

void make(Communicator& old, std::unique_ptr<OwnEdges> edges, MPI_Comm* made) {
  Communicator* const communicator = copy_of_communicator(old, agree_on_context(old));
  communicator->topology = std::move(edges);
  *made = handle_of<MPI_Comm>(communicator);
}

}  // namespace

void graph_create(Communicator& old, int nodes, const int* index, const int* edges, int, MPI_Comm* made) {
  check_graph(old, nodes, index, edges);
  *made = MPI_COMM_NULL;
  if (nodes == 0) return;
  call_the_roll_of_creation(old);
  Communicator* const communicator = split(old, old.rank < nodes ? 0 : MPI_UNDEFINED, old.rank);
  if (communicator == nullptr) return;
  auto graph = std::make_unique<WholeGraph>();
  graph->index.assign(index, index + nodes);
  graph->edges.assign(edges, edges + index[nodes - 1]);
  communicator->topology = std::move(graph);
  *made = handle_of<MPI_Comm>(communicator);
}

void graph_map(Communicator& communicator, int nodes, const int* index, const int* edges, int* rank) {
  check_graph(communicator, nodes, index, edges);
  *rank = communicator.rank < nodes ? communicator.rank : MPI_UNDEFINED;
}

void graphdims_get(Communicator& communicator, int* nodes, int* edges) {
  const WholeGraph& graph = graph_of(communicator);
  *nodes = static_cast<int>(graph.index.size());
  *edges = static_cast<int>(graph.edges.size());
}

void graph_get(Communicator& communicator, int index_room, int edges_room, int* index, int* edges) {
  const WholeGraph& graph = graph_of(communicator);
  std::copy_n(graph.index.begin(),
              std::min<std::size_t>(graph.index.size(), static_cast<std::size_t>(std::max(0, index_room))),
              index);
  std::copy_n(graph.edges.begin(),
              std::min<std::size_t>(graph.edges.size(), static_cast<std::size_t>(std::max(0, edges_room))),
              edges);
}

void graph_neighbors_count(Communicator& communicator, int rank, int* count) {
  const WholeGraph& graph = graph_of(communicator);
  check_ranks(communicator, 1, &rank, "rank");
  *count = graph.count_of(rank);
}

void graph_neighbors(Communicator& communicator, int rank, int room, int* neighbours) {
  const WholeGraph& graph = graph_of(communicator);
  check_ranks(communicator, 1, &rank, "rank");
  const int count = std::min(room, graph.count_of(rank));
  std::copy_n(graph.edges.begin() + graph.first_of(rank), count, neighbours);
}

void dist_graph_create_adjacent(Communicator& old, int in_degree, const int* sources,
                                const int* source_weights, int out_degree, const int* destinations,
                                const int* destination_weights, Info*, int, MPI_Comm* made) {
  check_ranks(old, in_degree, sources, "source");
  check_ranks(old, out_degree, destinations, "destination");
  auto edges = std::make_unique<OwnEdges>();
  edges->sources.assign(sources, sources + in_degree);
  edges->destinations.assign(destinations, destinations + out_degree);
  edges->is_weighted = has_weights(source_weights) || has_weights(destination_weights);
  if (has_weights(source_weights) && source_weights != MPI_WEIGHTS_EMPTY)
    edges->source_weights.assign(source_weights, source_weights + in_degree);
  if (has_weights(destination_weights) && destination_weights != MPI_WEIGHTS_EMPTY)
    edges->destination_weights.assign(destination_weights, destination_weights + out_degree);
  call_the_roll_of_creation(old);
  make(old, std::move(edges), made);
}

void dist_graph_create(Communicator& old, int count, const int* sources, const int* degrees,
                       const int* destinations, const int* weights, Info*, int, MPI_Comm* made) {
  check_ranks(old, count, sources, "source");
  // Each rank gets the edges that any rank has named for it: all edges go to all, source, destination and
  // weight of each.
  const bool is_weighted = has_weights(weights);
  std::vector<int> own;
  for (int index = 0, edge = 0; index < count; ++index) {
    if (degrees[index] < 0)
      fail(MPI_ERR_ARG, "source %d has %d edges; 0 or more are needed", sources[index], degrees[index]);
    check_ranks(old, degrees[index], destinations + edge, "destination");
    for (int end = edge + degrees[index]; edge < end; ++edge) {
      own.push_back(sources[index]);
      own.push_back(destinations[edge]);
      own.push_back(is_weighted && weights != MPI_WEIGHTS_EMPTY ? weights[edge] : 1);
    }
  }
  call_the_roll_of_creation(old);
  std::vector<int> counts(static_cast<std::size_t>(old.size)), places(static_cast<std::size_t>(old.size));
  int own_count = static_cast<int>(own.size()), total = 0;
  run(old, allgather(Channel(old), &own_count, 1, int_type, counts.data(), 1, int_type));
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    places[rank] = total;
    total += counts[rank];
  }
  std::vector<int> all(static_cast<std::size_t>(total) + 1);
  run(old, allgatherv(Channel(old), own.data(), own_count, int_type, all.data(), Numbers(counts.data()),
                      Numbers(places.data()), int_type));
  auto edges = std::make_unique<OwnEdges>();
  edges->is_weighted = is_weighted;
  for (int at = 0; at < total; at += 3) {
    const int* const edge = all.data() + at;
    if (edge[1] == old.rank) {
      edges->sources.push_back(edge[0]);
      edges->source_weights.push_back(edge[2]);
    }
    if (edge[0] == old.rank) {
      edges->destinations.push_back(edge[1]);
      edges->destination_weights.push_back(edge[2]);
    }
  }
  make(old, std::move(edges), made);
}

void dist_graph_neighbors_count(Communicator& communicator, int* in_degree, int* out_degree, int* weighted) {
  const OwnEdges& edges = edges_of(communicator);
  *in_degree = static_cast<int>(edges.sources.size());
  *out_degree = static_cast<int>(edges.destinations.size());
  *weighted = edges.is_weighted ? 1 : 0;
}

void dist_graph_neighbors(Communicator& communicator, int in_room, int* sources, int* source_weights,
                          int out_room, int* destinations, int* destination_weights) {
  const OwnEdges& edges = edges_of(communicator);
  const auto give = [](const std::vector<int>& from, int room, int* to, const char* argument) {
    const std::size_t count = std::min(from.size(), static_cast<std::size_t>(std::max(0, room)));
    if (count == 0) return;
    if (to == nullptr)
      fail(MPI_ERR_ARG, "argument '%s' is a null pointer; there are %zu values for it", argument, count);
    std::copy_n(from.begin(), count, to);
  };
  give(edges.sources, in_room, sources, "sources");
  give(edges.destinations, out_room, destinations, "destinations");
  if (!edges.is_weighted) return;
  if (has_weights(source_weights) && source_weights != MPI_WEIGHTS_EMPTY)
    give(edges.source_weights, in_room, source_weights, "sourceweights");
  if (has_weights(destination_weights) && destination_weights != MPI_WEIGHTS_EMPTY)
    give(edges.destination_weights, out_room, destination_weights, "destweights");
}

}  // namespace weft::mpi
