/* ranks: 2 4
   Arguments that are refused with a class of MPI, and leave the communicator as it was: buffers that are one,
   null pointers, grids that are too large. */
#include "check.h"

enum { kCount = 2 };

static int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}
#define REFUSED(error_class, call) CHECK(class_of(call) == (error_class))

static int *values, *results, *counts, *offsets;
static MPI_Datatype* types;

/* What would be copied to where it lies. */
static void one_buffer(void) {
  const MPI_Comm all = MPI_COMM_WORLD;
  if (rank == 0) {
    REFUSED(MPI_ERR_BUFFER, MPI_Gather(values, kCount, MPI_INT, values, kCount, MPI_INT, 0, all));
    REFUSED(MPI_ERR_BUFFER, MPI_Gatherv(values, kCount, MPI_INT, values, counts, offsets, MPI_INT, 0, all));
    REFUSED(MPI_ERR_BUFFER, MPI_Scatter(values, kCount, MPI_INT, values, kCount, MPI_INT, 0, all));
    REFUSED(MPI_ERR_BUFFER, MPI_Scatterv(values, counts, offsets, MPI_INT, values, kCount, MPI_INT, 0, all));
    REFUSED(MPI_ERR_BUFFER, MPI_Reduce(values, values, kCount, MPI_INT, MPI_SUM, 0, all));
  }
  int* const own = values + rank * kCount;
  REFUSED(MPI_ERR_BUFFER, MPI_Allgather(own, kCount, MPI_INT, values, kCount, MPI_INT, all));
  REFUSED(MPI_ERR_BUFFER, MPI_Allgatherv(own, kCount, MPI_INT, values, counts, offsets, MPI_INT, all));
  REFUSED(MPI_ERR_BUFFER, MPI_Alltoall(values, kCount, MPI_INT, values, kCount, MPI_INT, all));
  REFUSED(MPI_ERR_BUFFER,
          MPI_Alltoallv(values, counts, offsets, MPI_INT, values, counts, offsets, MPI_INT, all));
  REFUSED(MPI_ERR_BUFFER, MPI_Alltoallw(values, counts, offsets, types, values, counts, offsets, types, all));
  REFUSED(MPI_ERR_BUFFER, MPI_Reduce_scatter(values, values, counts, MPI_INT, MPI_SUM, all));
  REFUSED(MPI_ERR_BUFFER, MPI_Reduce_scatter_block(values, values, kCount, MPI_INT, MPI_SUM, all));
  REFUSED(MPI_ERR_BUFFER, MPI_Scan(values, values, kCount, MPI_INT, MPI_SUM, all));
  REFUSED(MPI_ERR_BUFFER, MPI_Exscan(values, values, kCount, MPI_INT, MPI_SUM, all));
  MPI_Request request;
  REFUSED(MPI_ERR_BUFFER,
          MPI_Ialltoallv(values, counts, offsets, MPI_INT, values, counts, offsets, MPI_INT, all, &request));
  REFUSED(MPI_ERR_BUFFER, MPI_Iallgather(own, kCount, MPI_INT, values, kCount, MPI_INT, all, &request));
}

static void null_buffers(void) {
  const MPI_Comm all = MPI_COMM_WORLD;
  REFUSED(MPI_ERR_BUFFER, MPI_Bcast(NULL, 1, MPI_INT, 0, all));
  REFUSED(MPI_ERR_BUFFER, MPI_Allreduce(NULL, results, 1, MPI_INT, MPI_SUM, all));
  REFUSED(MPI_ERR_BUFFER, MPI_Allreduce(values, NULL, 1, MPI_INT, MPI_SUM, all));
  REFUSED(MPI_ERR_BUFFER, MPI_Allgather(values, 1, MPI_INT, NULL, 1, MPI_INT, all));
  REFUSED(MPI_ERR_BUFFER, MPI_Alltoall(NULL, 1, MPI_INT, results, 1, MPI_INT, all));
  if (rank != 0) REFUSED(MPI_ERR_BUFFER, MPI_Reduce(MPI_IN_PLACE, NULL, 1, MPI_INT, MPI_SUM, 0, all));
  CHECK(MPI_Bcast(NULL, 0, MPI_INT, 0, all) == MPI_SUCCESS);
  CHECK(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, all) == MPI_SUCCESS);
}

static void null_pointers(void) {
  MPI_Group group;
  MPI_Comm copy;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  REFUSED(MPI_ERR_ARG, MPI_Group_translate_ranks(group, 1, NULL, group, results));
  REFUSED(MPI_ERR_ARG, MPI_Group_translate_ranks(group, 1, values, group, NULL));
  REFUSED(MPI_ERR_ARG, MPI_Group_incl(group, 1, NULL, &group));
  REFUSED(MPI_ERR_ARG, MPI_Type_indexed(1, NULL, NULL, MPI_INT, types));
  REFUSED(MPI_ERR_ARG, MPI_Type_extent(MPI_INT, NULL));
  REFUSED(MPI_ERR_ARG, MPI_Type_lb(MPI_INT, NULL));
  REFUSED(MPI_ERR_ARG, MPI_Type_ub(MPI_INT, NULL));
  REFUSED(MPI_ERR_ARG, MPI_Cart_create(MPI_COMM_WORLD, 1, NULL, NULL, 0, &copy));
  /* The copy's errors end the job; this one is looked for where errors on no object are. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  REFUSED(MPI_ERR_ARG, MPI_Comm_create(copy, group, NULL));
  MPI_Comm_free(&copy);
  MPI_Group_free(&group);
}

/* Functions that would be called later. */
static void null_functions(void) {
  MPI_Errhandler handler;
  MPI_Op operation;
  REFUSED(MPI_ERR_ARG, MPI_Comm_create_errhandler(NULL, &handler));
  REFUSED(MPI_ERR_ARG, MPI_Session_create_errhandler(NULL, &handler));
  REFUSED(MPI_ERR_ARG, MPI_Op_create(NULL, 1, &operation));
  REFUSED(MPI_ERR_ARG, MPI_Op_create_c(NULL, 1, &operation));
}

static void too_large_a_grid(void) {
  int sizes[] = {ranks, ranks}, is_ring[] = {0, 0};
  MPI_Comm grid = MPI_COMM_WORLD;
  REFUSED(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, is_ring, 0, &grid));
  CHECK(grid == MPI_COMM_NULL);
}

/* A message that ends within an element. */
static void part_of_an_element(void) {
  MPI_Datatype pair;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  if (rank == 0) REFUSED(MPI_ERR_TYPE, MPI_Recv(results, 1, pair, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (rank == 1) MPI_Send(values, 3, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
  MPI_Type_free(&pair);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const size_t number = (size_t)ranks * kCount;
  values = calloc(number, sizeof(int));
  results = calloc(number, sizeof(int));
  counts = calloc(number, sizeof(int));
  offsets = calloc(number, sizeof(int));
  types = calloc((size_t)ranks, sizeof(MPI_Datatype));
  for (int i = 0; i < ranks; ++i) {
    counts[i] = kCount;
    offsets[i] = i * kCount;
    types[i] = MPI_INT;
  }
  one_buffer();
  null_buffers();
  null_pointers();
  null_functions();
  too_large_a_grid();
  part_of_an_element();
  int sum = 0;
  CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(sum == ranks * (ranks - 1) / 2);
  free(values);
  free(results);
  free(counts);
  free(offsets);
  free(types);
  MPI_Finalize();
  return 0;
}
