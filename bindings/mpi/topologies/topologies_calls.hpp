// The calls of the group "topologies".
#pragma once

#include "bindings/mpi/communicators/communicator.hpp"

namespace weft::mpi {

void topo_test(Communicator& communicator, int* status);
void dims_create(int nodes, int dimensions, int* sizes);

void cart_create(Communicator& old, int dimensions, const int* sizes, const int* is_ring, int reorder,
                 MPI_Comm* made);
void cart_map(Communicator& communicator, int dimensions, const int* sizes, const int* is_ring, int* rank);
void cart_sub(Communicator& communicator, const int* remain, MPI_Comm* made);
void cartdim_get(Communicator& communicator, int* dimensions);
void cart_get(Communicator& communicator, int room, int* sizes, int* is_ring, int* coordinates);
void cart_coords(Communicator& communicator, int rank, int room, int* coordinates);
void cart_rank(Communicator& communicator, const int* coordinates, int* rank);
void cart_shift(Communicator& communicator, int dimension, int steps, int* source, int* destination);

void graph_create(Communicator& old, int nodes, const int* index, const int* edges, int reorder,
                  MPI_Comm* made);
void graph_map(Communicator& communicator, int nodes, const int* index, const int* edges, int* rank);
void graphdims_get(Communicator& communicator, int* nodes, int* edges);
void graph_get(Communicator& communicator, int index_room, int edges_room, int* index, int* edges);
void graph_neighbors_count(Communicator& communicator, int rank, int* count);
void graph_neighbors(Communicator& communicator, int rank, int room, int* neighbours);

void dist_graph_create(Communicator& old, int count, const int* sources, const int* degrees,
                       const int* destinations, const int* weights, Info* info, int reorder, MPI_Comm* made);
void dist_graph_create_adjacent(Communicator& old, int in_degree, const int* sources,
                                const int* source_weights, int out_degree, const int* destinations,
                                const int* destination_weights, Info* info, int reorder, MPI_Comm* made);
void dist_graph_neighbors_count(Communicator& communicator, int* in_degree, int* out_degree, int* weighted);
void dist_graph_neighbors(Communicator& communicator, int in_room, int* sources, int* source_weights,
                          int out_room, int* destinations, int* destination_weights);

}  // namespace weft::mpi
