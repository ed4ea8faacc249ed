#include "bindings/mpi/topologies/topology.hpp"

namespace weft::mpi {

std::vector<int> Grid::coordinates_of(int rank) const {
  std::vector<int> coordinates(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    coordinates[axis] = rank % sizes[axis];
    rank /= sizes[axis];
  }
  return coordinates;
}

int Grid::rank_of(const std::vector<int>& coordinates) const {
  int rank = 0;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    int at = coordinates[axis];
    if (is_ring[axis] != 0) {
      at %= sizes[axis];
      if (at < 0) at += sizes[axis];
    }
    if (at < 0 || at >= sizes[axis]) return MPI_PROC_NULL;
    rank = rank * sizes[axis] + at;
  }
  return rank;
}

int Grid::moved(int rank, int dimension, int steps) const {
  std::vector<int> coordinates = coordinates_of(rank);
  coordinates[static_cast<std::size_t>(dimension)] += steps;
  return rank_of(coordinates);
}

Neighbours neighbours_of(const Communicator& communicator) {
  Neighbours found;
  if (const auto* const grid = dynamic_cast<Grid*>(communicator.topology.get()); grid != nullptr) {
    // Backwards and forwards along each dimension. What one rank sends backwards its neighbour gets from in
    // front of it.
    for (int dimension = 0; dimension < grid->dimensions(); ++dimension)
      for (const int step : {-1, 1}) {
        found.sources.push_back(grid->moved(communicator.rank, dimension, step));
        found.destinations.push_back(grid->moved(communicator.rank, dimension, step));
        found.destination_tags.push_back(2 * dimension + (step > 0 ? 1 : 0));
        found.source_tags.push_back(2 * dimension + (step > 0 ? 0 : 1));
      }
    return found;
  }
  if (const auto* const graph = dynamic_cast<WholeGraph*>(communicator.topology.get()); graph != nullptr) {
    const auto first = graph->edges.begin() + graph->first_of(communicator.rank);
    found.sources.assign(first, first + graph->count_of(communicator.rank));
    found.destinations = found.sources;
  } else {
    const auto& own = topology_of<OwnEdges>(communicator, "virtual");
    found.sources = own.sources;
    found.destinations = own.destinations;
  }
  // Several edges between two ranks are taken in order, which messages keep.
  found.source_tags.assign(found.sources.size(), 0);
  found.destination_tags.assign(found.destinations.size(), 0);
  return found;
}

}  // namespace weft::mpi
