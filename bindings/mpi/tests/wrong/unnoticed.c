/* Programs whose ranks call different collectives, whose messages are the same: each function is one, on two
   or three ranks. They come to their end, and are told there. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, value = 0, values[64];
static MPI_Request request;

static void broadcast_and_scatter(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD); /* a broadcast */
  else
    MPI_Scatter(values, 1, MPI_INT, &value, 1, MPI_INT, 0, MPI_COMM_WORLD); /* a scatter */
}
static void gather_and_reduce(void) {
  if (rank == 0)
    MPI_Gather(&value, 1, MPI_INT, values, 1, MPI_INT, 0, MPI_COMM_WORLD);
  else
    MPI_Reduce(&value, values, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}
/* Rank 1 has sent nothing to rank 2 before it tells it of its calls. */
static void between_strangers(void) {
  int sum;
  MPI_Reduce(&rank, &sum, 1, MPI_INT, rank == 2 ? MPI_MAX : MPI_SUM, 0, MPI_COMM_WORLD);
}
static void other_operation(void) {
  MPI_Allreduce(&value, values, 1, MPI_INT, rank == 0 ? MPI_SUM : MPI_MAX, MPI_COMM_WORLD);
}
static void other_elements(void) {
  double numbers[2] = {0};
  long integers[2] = {0};
  if (rank == 0)
    MPI_Allreduce(numbers, numbers + 1, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  else
    MPI_Allreduce(integers, integers + 1, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}
static void other_root(void) {
  MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? 0 : 1, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}
/* An immediate one begins before and behind another one. */
static void other_order(void) {
  if (rank == 0) MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank != 0) MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
/* The root goes on. */
static void one_more(void) {
  for (int round = 0; round < 40; ++round) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD); /* one more */
}
static void grid_and_part(void) {
  const int periodic = 0;
  MPI_Comm made;
  if (rank == 0)
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &made);
  else
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made);
  MPI_Comm_free(&made);
}
static void on_one_that_is_freed(void) {
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_set_name(own, "own");
  MPI_Exscan(&value, values, 1, MPI_INT, rank == 0 ? MPI_SUM : MPI_PROD, own);
  MPI_Comm_free(&own);
}
static void long_ago(void) {
  other_operation();
  for (int round = 0; round < 2000; ++round) MPI_Barrier(MPI_COMM_WORLD);
}
static void between_sides(void) {
  MPI_Comm side, between;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 4, &between);
  MPI_Comm_set_name(between, "sides");
  MPI_Allreduce(&value, values, 1, MPI_INT, rank == 0 ? MPI_SUM : MPI_MAX, between);
}
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int index = 0; index < *count; ++index) ((int*)inout)[index] += ((int*)in)[index];
}
static void multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int index = 0; index < *count; ++index) ((int*)inout)[index] *= ((int*)in)[index];
}
static void other_function(void) {
  MPI_Op own;
  MPI_Op_create(rank == 0 ? add : multiply, 1, &own);
  MPI_Allreduce(&value, values, 1, MPI_INT, own, MPI_COMM_WORLD); /* other function */
  MPI_Op_free(&own);
}
static void gather_and_gatherv(void) {
  const int ones[] = {1, 1, 1}, places[] = {0, 1, 2};
  if (rank == 0)
    MPI_Gatherv(&value, 1, MPI_INT, values, ones, places, MPI_INT, 0, MPI_COMM_WORLD);
  else
    MPI_Gather(&value, 1, MPI_INT, values, 1, MPI_INT, 0, MPI_COMM_WORLD);
}
static void one_of_three(void) {
  MPI_Bcast(&value, 1, MPI_INT, rank == 1 ? 1 : 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void called_by_none_but_one(void) {
  if (rank == 0) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD); /* but one */
}
static void groups_of_other_order(void) {
  const int orders[2][2] = {{0, 1}, {1, 0}};
  MPI_Group all, both;
  MPI_Comm made;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 2, orders[rank], &both);
  MPI_Comm_create_group(MPI_COMM_WORLD, both, 3, &made);
}

static const struct {
  const char* name;
  void (*run)(void);
} programs[] = {
    {"broadcast_and_scatter", broadcast_and_scatter},
    {"gather_and_reduce", gather_and_reduce},
    {"between_strangers", between_strangers},
    {"other_operation", other_operation},
    {"other_elements", other_elements},
    {"other_root", other_root},
    {"other_order", other_order},
    {"one_more", one_more},
    {"grid_and_part", grid_and_part},
    {"on_one_that_is_freed", on_one_that_is_freed},
    {"long_ago", long_ago},
    {"between_sides", between_sides},
    {"other_function", other_function},
    {"gather_and_gatherv", gather_and_gatherv},
    {"one_of_three", one_of_three},
    {"called_by_none_but_one", called_by_none_but_one},
    {"groups_of_other_order", groups_of_other_order},
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t index = 0; index < sizeof programs / sizeof *programs; ++index)
    if (argc > 1 && strcmp(programs[index].name, argv[1]) == 0) programs[index].run();
  MPI_Finalize();
  return EXIT_SUCCESS;
}
