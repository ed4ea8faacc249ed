/* Programs that never end: each function is one, on as many ranks as wrong_programs_test.py says. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size, value = 0, other;
static char large[1 << 20];

static void each_receives_first(void) {
  MPI_Recv(&value, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* each receives first */
  MPI_Send(&value, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD);
}
static void each_sends_synchronously(void) {
  MPI_Ssend(&value, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD); /* each sends synchronously */
  MPI_Recv(&value, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void each_sends_much(void) {
  MPI_Send(large, sizeof large, MPI_CHAR, 1 - rank, 5, MPI_COMM_WORLD); /* each sends much */
  MPI_Recv(large, sizeof large, MPI_CHAR, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void ring_of_receives(void) {
  MPI_Request request;
  MPI_Irecv(&value, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE); /* ring of receives */
}
static void wrong_tag(void) {
  MPI_Comm halo;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &halo); /* the ranks in reverse */
  MPI_Comm_set_name(halo, "halo");
  if (rank == 0)
    MPI_Recv(&value, 1, MPI_INT, 0, 5, halo, MPI_STATUS_IGNORE); /* wrong tag */
  else
    MPI_Send(&value, 1, MPI_INT, 1, 6, halo);
}
static void message_that_nobody_sends(void) {
  MPI_Status status;
  if (rank == 0) MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status); /* nobody sends */
}
static void collective_without_one(void) {
  if (rank != 1) MPI_Barrier(MPI_COMM_WORLD); /* collective without one */
}
static void two_collectives(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD); /* a broadcast */
  else
    MPI_Reduce(&value, &other, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD); /* a reduction */
}
static void two_roots(void) {
  int all[2];
  MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, rank, MPI_COMM_WORLD); /* two roots */
}
static void group_without_one(void) {
  const int both[] = {0, 1};
  MPI_Group all, pair;
  MPI_Comm made;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 2, both, &pair);
  if (rank == 1) MPI_Comm_create_group(MPI_COMM_WORLD, pair, 3, &made); /* group without one */
}
static void sides_without_one(void) {
  MPI_Comm side, between;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 4, &between);
  MPI_Comm_set_name(between, "sides");
  if (rank != 2) MPI_Barrier(between); /* sides without one */
}
/* The receiver has not started its request. */
static void partition_that_nobody_takes(void) {
  static int all[2][50000];
  MPI_Request request;
  if (rank == 0) {
    MPI_Psend_init(all, 2, 50000, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Pready(1, request);
  } else {
    MPI_Precv_init(all, 2, 50000, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  }
  if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE); /* partition that nobody takes */
}
static void neighbours_without_one(void) {
  const int periodic = 1;
  int in[2];
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  MPI_Comm_set_name(ring, "ring");
  if (rank != 1) MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, ring); /* neighbours without one */
}
static void partition_not_ready(void) {
  MPI_Request request;
  int four[4] = {0};
  if (rank == 0)
    MPI_Psend_init(four, 4, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  else
    MPI_Precv_init(four, 4, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  if (rank == 0) MPI_Pready_range(0, 2, request);
  MPI_Wait(&request, MPI_STATUS_IGNORE); /* partition not ready */
}
static void freed_by_one(void) {
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_set_name(own, "own");
  if (rank == 0)
    MPI_Comm_free(&own);
  else
    MPI_Barrier(own); /* freed by one */
}
static void nothing_for_one(void) {
  const int counts[] = {1, rank == 1}, zeros[] = {0, 0};
  MPI_Alltoallv(&value, counts, zeros, MPI_INT, &other, (int[]){1, 1}, zeros, MPI_INT,
                MPI_COMM_WORLD); /* nothing for one */
}
/* Both ranks wait for long, for one message. */
static void long_transfer(void) {
  const int elements = 96 << 20;
  double* const data = calloc(elements, sizeof *data);
  for (int round = 0; round < 2; ++round)
    if (rank == 0)
      MPI_Send(data, elements, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD);
    else
      MPI_Recv(data, elements, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  free(data);
}
static void computes_meanwhile(void) {
  const struct timespec time = {4, 0};
  if (rank == 0) nanosleep(&time, NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) nanosleep(&time, NULL);
}

static const struct {
  const char* name;
  void (*run)(void);
} programs[] = {
    {"each_receives_first", each_receives_first},
    {"each_sends_synchronously", each_sends_synchronously},
    {"each_sends_much", each_sends_much},
    {"ring_of_receives", ring_of_receives},
    {"wrong_tag", wrong_tag},
    {"message_that_nobody_sends", message_that_nobody_sends},
    {"collective_without_one", collective_without_one},
    {"two_collectives", two_collectives},
    {"two_roots", two_roots},
    {"group_without_one", group_without_one},
    {"sides_without_one", sides_without_one},
    {"partition_that_nobody_takes", partition_that_nobody_takes},
    {"neighbours_without_one", neighbours_without_one},
    {"partition_not_ready", partition_not_ready},
    {"freed_by_one", freed_by_one},
    {"nothing_for_one", nothing_for_one},
    {"long_transfer", long_transfer},
    {"computes_meanwhile", computes_meanwhile},
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
