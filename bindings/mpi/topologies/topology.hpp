// Virtual topologies, which communicators carry.
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace weft::mpi {

/// A grid; the last dimension varies fastest.
struct Grid final : Topology {
  [[nodiscard]] int kind() const noexcept override { return MPI_CART; }
  [[nodiscard]] std::unique_ptr<Topology> copy() const override { return std::make_unique<Grid>(*this); }
  [[nodiscard]] int dimensions() const noexcept { return static_cast<int>(sizes.size()); }
  [[nodiscard]] std::vector<int> coordinates_of(int rank) const;
  /// MPI_PROC_NULL where a coordinate lies outside a dimension that is no ring.
  [[nodiscard]] int rank_of(const std::vector<int>& coordinates) const;
  /// Where `steps` steps along a dimension lead from a rank.
  [[nodiscard]] int moved(int rank, int dimension, int steps) const;

  std::vector<int> sizes;
  std::vector<int> is_ring;
};

/// A graph that all ranks know: neighbours of rank r are edges[index[r - 1]] to edges[index[r] - 1].
struct WholeGraph final : Topology {
  [[nodiscard]] int kind() const noexcept override { return MPI_GRAPH; }
  [[nodiscard]] std::unique_ptr<Topology> copy() const override {
    return std::make_unique<WholeGraph>(*this);
  }
  [[nodiscard]] int first_of(int rank) const noexcept {
    return rank == 0 ? 0 : index[static_cast<std::size_t>(rank - 1)];
  }
  [[nodiscard]] int count_of(int rank) const noexcept {
    return index[static_cast<std::size_t>(rank)] - first_of(rank);
  }

  std::vector<int> index, edges;
};

/// A graph of which each rank knows its own edges.
struct OwnEdges final : Topology {
  [[nodiscard]] int kind() const noexcept override { return MPI_DIST_GRAPH; }
  [[nodiscard]] std::unique_ptr<Topology> copy() const override { return std::make_unique<OwnEdges>(*this); }

  std::vector<int> sources, destinations, source_weights, destination_weights;
  bool is_weighted = false;
};

/// The neighbours of this rank, as neighbourhood collectives take them in order; some may be MPI_PROC_NULL.
/// The tag of a message tells which of several edges between the same two ranks it goes along, where that
/// matters.
struct Neighbours {
  std::vector<int> sources, destinations;
  std::vector<int> source_tags, destination_tags;
};
[[nodiscard]] Neighbours neighbours_of(const Communicator& communicator);

/// The topology of a communicator; fails where it has none of this type.
template <class T>
T& topology_of(const Communicator& communicator, const char* what) {
  auto* const topology = dynamic_cast<T*>(communicator.topology.get());
  if (topology == nullptr) fail(MPI_ERR_TOPOLOGY, "the communicator has no %s topology", what);
  return *topology;
}

}  // namespace weft::mpi
