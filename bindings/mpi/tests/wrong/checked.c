/* Programs that WEFT_MPI_CHECK refuses: each function is one, on two ranks. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, value = 0, values[64];
static float number;
static MPI_Request request, requests[2];

static void other_type(void) {
  if (rank == 0)
    MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
  else
    MPI_Recv(&number, 1, MPI_FLOAT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* other type */
}
static void other_structure(void) {
  struct {
    int key;
    double weight;
  } pair = {1, 2};
  const int lengths[] = {1, 1};
  const MPI_Aint at[] = {0, 8};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype type;
  MPI_Type_create_struct(2, lengths, at, types, &type);
  MPI_Type_commit(&type);
  if (rank == 0)
    MPI_Send(&pair, 1, type, 1, 5, MPI_COMM_WORLD);
  else
    MPI_Recv(values, 3, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* other structure */
  MPI_Type_free(&type);
}
static void leaked_requests(void) {
  if (rank == 0) {
    MPI_Isend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request); /* first leak */
    MPI_Isend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}
/* MPI_Finalize fails, and the program does not look. */
static void leak_not_looked_at(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  leaked_requests();
}
static void leaked_handles(void) {
  MPI_Comm first, second;
  MPI_Datatype type;
  MPI_Group group;
  MPI_Comm_dup(MPI_COMM_WORLD, &first); /* first communicator */
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &second);
  MPI_Type_contiguous(3, MPI_INT, &type); /* first datatype */
  MPI_Comm_group(MPI_COMM_WORLD, &group); /* first group */
}
/* MPI allows to free them behind MPI_Finalize. */
static MPI_Info info;
static MPI_Errhandler handler;
static void handle_error(MPI_Comm* comm, int* code, ...) { (void)comm, (void)code; }
static void left_behind_finalize(void) {
  MPI_Info_create(&info); /* first info object */
  MPI_Comm_create_errhandler(handle_error, &handler);
}
static void free_both(void) {
  MPI_Info_free(&info);
  MPI_Errhandler_free(&handler);
}
static void freed_behind_finalize(void) {
  left_behind_finalize();
  atexit(free_both);
}
static void unmatched_message(void) {
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 42, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}
/* Rank 1 waits in MPI_Finalize before the message is sent. */
static void unmatched_late(void) {
  const struct timespec time = {0, 300000000};
  if (rank == 0) {
    nanosleep(&time, NULL);
    MPI_Send(&value, 1, MPI_INT, 1, 42, MPI_COMM_WORLD);
  }
}
static void receive_left(void) {
  if (rank == 0) MPI_Irecv(&value, 1, MPI_INT, 1, 42, MPI_COMM_WORLD, &request);
}
static void probed_and_left(void) {
  MPI_Message message;
  if (rank != 0) return;
  MPI_Send(values, 4, MPI_INT, 0, 5, MPI_COMM_WORLD);
  MPI_Mprobe(0, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
}
static void send_buffer_changed(void) {
  if (rank == 0) {
    MPI_Isend(values, 64, MPI_INT, 1, 5, MPI_COMM_WORLD, &request); /* a send */
    values[7] = 1;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(values, 64, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}
static void receive_buffer_changed(void) {
  if (rank == 0) {
    MPI_Irecv(values, 64, MPI_INT, 1, 5, MPI_COMM_WORLD, &request); /* a receive */
    values[7] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(values, 64, MPI_INT, 0, 5, MPI_COMM_WORLD);
  }
}
static void overlapping_receives(void) {
  MPI_Irecv(values, 32, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &requests[0]);      /* one receive */
  MPI_Irecv(values + 30, 32, MPI_INT, 1 - rank, 6, MPI_COMM_WORLD, &requests[1]); /* and another */
}
static void same_buffer(void) {
  const MPI_Comm all = MPI_COMM_WORLD;
  const int peer = 1 - rank;
  MPI_Status status;
  MPI_Sendrecv(values, 4, MPI_INT, peer, 5, values, 4, MPI_INT, peer, 5, all, &status); /* one buffer */
}
static void different_roots(void) { MPI_Bcast(&value, 1, MPI_INT, rank, MPI_COMM_WORLD); }
static void different_counts(void) {
  MPI_Allreduce(values, values + 32, 1 + rank, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void different_types(void) {
  MPI_Allgather(values, 1, rank == 0 ? MPI_INT : MPI_FLOAT, values + 32, 1, rank == 0 ? MPI_INT : MPI_FLOAT,
                MPI_COMM_WORLD);
}
static void different_operations(void) {
  MPI_Allreduce(values, values + 32, 1, MPI_INT, rank == 0 ? MPI_SUM : MPI_MAX, MPI_COMM_WORLD);
}
static void different_collectives(void) {
  if (rank == 0)
    MPI_Barrier(MPI_COMM_WORLD);
  else
    MPI_Allreduce(values, values + 32, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
/* Each rank begins another one first. */
static void other_order(void) {
  if (rank == 0) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void different_between_sides(void) {
  MPI_Comm between;
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 4, &between);
  if (rank == 0)
    MPI_Barrier(between);
  else
    MPI_Allreduce(values, values + 32, 1, MPI_INT, MPI_SUM, between);
}
static void different_of_neighbours(void) {
  const int periodic = 1, size = 2;
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  if (rank == 0)
    MPI_Neighbor_allgather(values, 1, MPI_INT, values + 32, 1, MPI_INT, ring);
  else
    MPI_Neighbor_alltoall(values, 1, MPI_INT, values + 32, 1, MPI_INT, ring);
}
/* Rank 1 does not expect what rank 0 sends. */
static void count_of_nothing(void) {
  const int sent_counts[2] = {0, rank == 0}, none[2] = {0, 0};
  MPI_Alltoallv(values, sent_counts, none, MPI_INT, values + 32, none, none, MPI_INT, MPI_COMM_WORLD);
}
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int index = 0; index < *count; ++index) ((int*)inout)[index] += ((int*)in)[index];
}
static void multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int index = 0; index < *count; ++index) ((int*)inout)[index] *= ((int*)in)[index];
}
static void different_functions(void) {
  MPI_Op own;
  MPI_Op_create(rank == 0 ? add : multiply, 1, &own);
  MPI_Allreduce(values, values + 32, 1, MPI_INT, own, MPI_COMM_WORLD);
  MPI_Op_free(&own);
}
static const int ones[2] = {1, 1}, places[2] = {0, 1};
static MPI_Datatype own_type(void) { return rank == 0 ? MPI_INT : MPI_FLOAT; }
static void types_of_lists(void) {
  MPI_Allgatherv(values, 1, own_type(), values + 32, ones, places, own_type(), MPI_COMM_WORLD);
}
static void types_for_all(void) {
  MPI_Alltoallv(values, ones, places, own_type(), values + 32, ones, places, own_type(), MPI_COMM_WORLD);
}
static void types_of_gathering(void) {
  MPI_Gatherv(values, 1, own_type(), values + 32, ones, places, MPI_INT, 0, MPI_COMM_WORLD);
}
static void types_of_scattering(void) {
  MPI_Scatterv(values, ones, places, MPI_INT, values + 32, 1, own_type(), 0, MPI_COMM_WORLD);
}
static void types_of_shares(void) {
  MPI_Reduce_scatter(values, values + 32, ones, own_type(), MPI_SUM, MPI_COMM_WORLD);
}
static void types_of_edges(void) {
  const int periodic = 1, size = 2;
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  MPI_Neighbor_alltoallv(values, ones, places, own_type(), values + 32, ones, places, MPI_INT, ring);
}
/* Rank 0 sends nothing to rank 1, which waits for it. */
static void nothing_is_sent(void) {
  const int counts[2] = {1, rank == 1};
  MPI_Alltoallv(values, counts, places, MPI_INT, values + 32, ones, places, MPI_INT, MPI_COMM_WORLD);
}
static void ready_too_early(void) {
  if (rank == 0) MPI_Rsend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* too late */
}
static void ready_in_time(void) {
  if (rank == 1) MPI_Irecv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Rsend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
  if (rank == 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void leaked_contents(void) {
  MPI_Datatype inner, outer, found;
  int integers[1];
  MPI_Aint none[1];
  MPI_Type_contiguous(2, MPI_INT, &inner);
  MPI_Type_contiguous(3, inner, &outer);
  MPI_Type_get_contents(outer, 1, 0, 1, integers, none, &found); /* contents */
  MPI_Type_free(&outer);
  MPI_Type_free(&inner);
}

static const struct {
  const char* name;
  void (*run)(void);
} programs[] = {
    {"other_type", other_type},
    {"other_structure", other_structure},
    {"leaked_requests", leaked_requests},
    {"leak_not_looked_at", leak_not_looked_at},
    {"leaked_handles", leaked_handles},
    {"left_behind_finalize", left_behind_finalize},
    {"freed_behind_finalize", freed_behind_finalize},
    {"unmatched_message", unmatched_message},
    {"unmatched_late", unmatched_late},
    {"receive_left", receive_left},
    {"probed_and_left", probed_and_left},
    {"send_buffer_changed", send_buffer_changed},
    {"receive_buffer_changed", receive_buffer_changed},
    {"overlapping_receives", overlapping_receives},
    {"same_buffer", same_buffer},
    {"different_roots", different_roots},
    {"different_counts", different_counts},
    {"different_types", different_types},
    {"different_operations", different_operations},
    {"different_collectives", different_collectives},
    {"other_order", other_order},
    {"different_between_sides", different_between_sides},
    {"different_of_neighbours", different_of_neighbours},
    {"count_of_nothing", count_of_nothing},
    {"different_functions", different_functions},
    {"types_of_lists", types_of_lists},
    {"types_for_all", types_for_all},
    {"types_of_gathering", types_of_gathering},
    {"types_of_scattering", types_of_scattering},
    {"types_of_shares", types_of_shares},
    {"types_of_edges", types_of_edges},
    {"nothing_is_sent", nothing_is_sent},
    {"ready_too_early", ready_too_early},
    {"ready_in_time", ready_in_time},
    {"leaked_contents", leaked_contents},
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (size_t index = 0; index < sizeof programs / sizeof *programs; ++index)
    if (argc > 1 && strcmp(programs[index].name, argv[1]) == 0) programs[index].run();
  MPI_Finalize();
  return EXIT_SUCCESS;
}
