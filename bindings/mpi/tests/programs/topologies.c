/* ranks: 1 2 4 6
   Grids, graphs and distributed graphs: who is whose neighbour, and collectives along their edges. */
#include "check.h"

static void grid(void) {
  int sizes[2] = {0, 0}, rings[2] = {1, 0}, at[2], own, source, destination, dimensions, status;
  MPI_Comm comm, row;
  MPI_Dims_create(ranks, 2, sizes);
  CHECK(sizes[0] * sizes[1] == ranks && sizes[0] >= sizes[1]);
  MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, rings, 0, &comm);
  MPI_Topo_test(comm, &status);
  MPI_Cartdim_get(comm, &dimensions);
  MPI_Comm_rank(comm, &own);
  MPI_Cart_coords(comm, own, 2, at);
  CHECK(status == MPI_CART && dimensions == 2 && at[0] == own / sizes[1] && at[1] == own % sizes[1]);
  MPI_Cart_shift(comm, 0, 1, &source, &destination);
  CHECK(destination == (own + sizes[1]) % ranks && source == (own + ranks - sizes[1]) % ranks);
  MPI_Cart_shift(comm, 1, 1, &source, &destination);
  CHECK(destination == (at[1] + 1 < sizes[1] ? own + 1 : MPI_PROC_NULL));

  /* What goes backwards arrives in front: also where both neighbours are the same rank, or this one. */
  int out[4], in[4], expected[4];
  for (int edge = 0; edge < 4; ++edge) {
    out[edge] = 10 * own + edge;
    in[edge] = expected[edge] = -1;
  }
  for (int d = 0; d < 2; ++d) {
    MPI_Cart_shift(comm, d, 1, &source, &destination);
    if (source != MPI_PROC_NULL) expected[2 * d] = 10 * source + 2 * d + 1;
    if (destination != MPI_PROC_NULL) expected[2 * d + 1] = 10 * destination + 2 * d;
  }
  MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
  for (int edge = 0; edge < 4; ++edge) CHECK(in[edge] == expected[edge]);
  MPI_Request requests[2];
  int again[4] = {-1, -1, -1, -1};
  memset(in, 0xff, sizeof in);
  MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm, &requests[0]);
  MPI_Ineighbor_alltoall(out, 1, MPI_INT, again, 1, MPI_INT, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int edge = 0; edge < 4; ++edge) CHECK(in[edge] == expected[edge] && again[edge] == expected[edge]);

  int remain[2] = {0, 1}, size;
  MPI_Cart_sub(comm, remain, &row);
  MPI_Comm_size(row, &size);
  MPI_Comm_rank(row, &own);
  CHECK(size == sizes[1] && own == at[1]);
  MPI_Comm_free(&row);
  MPI_Comm_free(&comm);
}

/* The factors that lie nearest, and a grid without dimensions, which has one rank. */
static void balance(void) {
  const int cases[][6] = {
      {72, 2, 9, 8, 0, 0}, {180, 2, 15, 12, 0, 0}, {240, 3, 8, 6, 5, 0}, {1 << 16, 4, 16, 16, 16, 16}};
  for (int i = 0; i < 4; ++i) {
    int sizes[4] = {0};
    MPI_Dims_create(cases[i][0], cases[i][1], sizes);
    for (int axis = 0; axis < cases[i][1]; ++axis) CHECK(sizes[axis] == cases[i][2 + axis]);
  }
  int size = ranks, is_ring = 1, keep = 0, dimensions = -1;
  MPI_Comm line, point;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &is_ring, 0, &line);
  MPI_Cart_sub(line, &keep, &point);
  CHECK((point == MPI_COMM_NULL) == (rank != 0));
  if (rank == 0) {
    MPI_Cartdim_get(point, &dimensions);
    CHECK(dimensions == 0);
    MPI_Comm_free(&point);
  }
  MPI_Comm_free(&line);
}

static void ring_of_edges(void) {
  MPI_Comm comm;
  int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks, in = -1, out = rank, degrees = 1,
      counts[3], weight = 7;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &comm);
  MPI_Neighbor_allgather(&out, 1, MPI_INT, &in, 1, MPI_INT, comm);
  CHECK(in == before);
  MPI_Dist_graph_neighbors_count(comm, &counts[0], &counts[1], &counts[2]);
  CHECK(counts[0] == 1 && counts[1] == 1 && counts[2] == 0);
  MPI_Comm_free(&comm);
  /* The same, each edge named by the rank that it leads to. */
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &before, &degrees, &rank, &weight, MPI_INFO_NULL, 0, &comm);
  int source = -1, source_weight = -1, destination = -1, destination_weight = -1;
  MPI_Dist_graph_neighbors(comm, 1, &source, &source_weight, 1, &destination, &destination_weight);
  CHECK(source == before && destination == after && source_weight == 7 && destination_weight == 7);
  in = -1;
  MPI_Neighbor_allgather(&out, 1, MPI_INT, &in, 1, MPI_INT, comm);
  CHECK(in == before);
  MPI_Comm_free(&comm);
  /* A graph that all know: a ring with both directions. */
  int indices[16], edges[32], neighbours[2];
  for (int r = 0; r < ranks; ++r) {
    indices[r] = 2 * r + 2;
    edges[2 * r] = (r + ranks - 1) % ranks;
    edges[2 * r + 1] = (r + 1) % ranks;
  }
  MPI_Graph_create(MPI_COMM_WORLD, ranks, indices, edges, 0, &comm);
  MPI_Graph_neighbors(comm, rank, 2, neighbours);
  CHECK(neighbours[0] == before && neighbours[1] == after);
  MPI_Comm_free(&comm);
}

/* A rank without edges has no arrays; a graph without weights needs no place for them. */
static void null_arrays(void) {
  MPI_Comm comm;
  int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks, in = -1, out = -1, zero = 0, one = 1,
      weight = 3;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &comm);
  MPI_Dist_graph_neighbors(comm, 1, &in, NULL, 1, &out, NULL);
  CHECK(in == before && out == after);
  MPI_Comm_free(&comm);
  /* Rank 0 is its own neighbour, and the only one that has any. */
  for (int is_adjacent = 0; is_adjacent < 2; ++is_adjacent) {
    const int degree = rank == 0;
    int *at = degree ? &zero : NULL, *weights = degree ? &weight : NULL;
    if (is_adjacent)
      MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, at, weights, degree, at, weights, MPI_INFO_NULL,
                                     0, &comm);
    else
      MPI_Dist_graph_create(MPI_COMM_WORLD, degree, at, degree ? &one : NULL, at, weights, MPI_INFO_NULL, 0,
                            &comm);
    int found[4] = {-1, -1, -1, -1};
    MPI_Dist_graph_neighbors(comm, degree, degree ? &found[0] : NULL, degree ? &found[1] : NULL, degree,
                             degree ? &found[2] : NULL, degree ? &found[3] : NULL);
    if (degree) CHECK(found[0] == 0 && found[1] == 3 && found[2] == 0 && found[3] == 3);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, degree ? &found[0] : NULL, 1, MPI_INT, comm);
    MPI_Comm_free(&comm);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  grid();
  ring_of_edges();
  balance();
  null_arrays();
  MPI_Finalize();
  return 0;
}
