/* Mistakes that are often made: each function is one, on two ranks. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, value = 0, values[64], more[64];
static MPI_Request request, copy;

/* ---- requests ---- */

static void begin_and_free(void) {
  MPI_Irecv(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request);
  copy = request;
  MPI_Request_free(&request);
}
static void freed_and_waited_for(void) {
  begin_and_free();
  MPI_Send(values, 1, MPI_INT, rank, 5, MPI_COMM_WORLD);
  MPI_Wait(&copy, MPI_STATUS_IGNORE);
}
static void freed_and_tested(void) {
  int flag;
  begin_and_free();
  MPI_Test(&copy, &flag, MPI_STATUS_IGNORE);
}
static void freed_twice(void) {
  begin_and_free();
  MPI_Request_free(&copy);
}
static void freed_and_cancelled(void) {
  begin_and_free();
  MPI_Cancel(&copy);
}
static void start_of_no_persistent_one(void) {
  MPI_Irecv(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request);
  MPI_Start(&request);
}
/* Is right. */
static void wait_for_one_not_started(void) {
  MPI_Recv_init(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}
static void no_request(void) { MPI_Isend(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, NULL); }
static void no_request_to_wait_for(void) { MPI_Wait(NULL, MPI_STATUS_IGNORE); }
static void no_flag(void) { MPI_Iprobe(rank, 5, MPI_COMM_WORLD, NULL, MPI_STATUS_IGNORE); }
static void no_status(void) { MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &value); }

/* ---- messages ---- */

static void probed_and_received_shorter(void) {
  MPI_Status status;
  MPI_Send(values, 4, MPI_INT, rank, 5, MPI_COMM_WORLD);
  MPI_Probe(rank, 5, MPI_COMM_WORLD, &status);
  MPI_Recv(more, 2, MPI_INT, rank, 5, MPI_COMM_WORLD, &status);
}
static void in_place_message(void) { MPI_Send(MPI_IN_PLACE, 1, MPI_INT, rank, 5, MPI_COMM_WORLD); }
static void* call(void* unused) {
  MPI_Sendrecv(values, 1, MPI_INT, rank, 5, more, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return unused;
}
static void another_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, call, NULL);
  pthread_join(thread, NULL);
}

static void completed_by_the_program(void) {
  MPI_Irecv(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request);
  MPI_Grequest_complete(request);
}
static void no_memory_attached(void) { MPI_Buffer_attach(NULL, 1000); }

/* ---- collectives ---- */

static void overlap_of_reduction(void) {
  MPI_Allreduce(values, values + 2, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void overlap_with_all(void) {
  MPI_Allgather(values + 1, 4, MPI_INT, values, 4, MPI_INT, MPI_COMM_WORLD);
}
static void overlap_of_all(void) { MPI_Alltoall(values, 4, MPI_INT, values + 2, 4, MPI_INT, MPI_COMM_WORLD); }
static void no_list_of_counts(void) {
  MPI_Gatherv(values, 1, MPI_INT, more, NULL, NULL, MPI_INT, 0, MPI_COMM_WORLD);
}
static void count_of_all(void) { MPI_Gather(values, 4, MPI_INT, more, 4 * size, MPI_INT, 0, MPI_COMM_WORLD); }
static void one_count_for_itself(void) {
  MPI_Allgather(values, rank == 0 ? 4 : 3, MPI_INT, more, 3, MPI_INT, MPI_COMM_WORLD);
}
static void in_place_elsewhere(void) {
  MPI_Reduce(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void no_list_of_types(void) {
  const int ones[2] = {1, 1}, zeros[2] = {0, 0};
  MPI_Alltoallw(values, ones, zeros, NULL, more, ones, zeros, NULL, MPI_COMM_WORLD);
}
static MPI_Comm ring(void) {
  const int is_ring = 1;
  MPI_Comm made;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &is_ring, 0, &made);
  return made;
}
static void no_list_for_neighbours(void) {
  const int ones[2] = {1, 1}, zeros[2] = {0, 0};
  MPI_Neighbor_alltoallv(values, NULL, zeros, MPI_INT, more, ones, zeros, MPI_INT, ring());
}
static void no_buffer_for_neighbours(void) {
  MPI_Neighbor_allgather(NULL, 1, MPI_INT, more, 1, MPI_INT, ring());
}

/* ---- communicators and handles ---- */

static void grid_of_too_many(void) {
  const int sizes[2] = {4, 4}, is_ring[2] = {0, 0};
  MPI_Comm made;
  MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, is_ring, 0, &made);
}
static void not_a_member(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, 0, &half);
  MPI_Barrier(half);
}
static void no_name(void) { MPI_Comm_set_name(MPI_COMM_WORLD, NULL); }
static void no_place_for_a_name(void) { MPI_Get_processor_name(NULL, &value); }
static void predefined_type_freed(void) {
  MPI_Datatype type = MPI_INT;
  MPI_Type_free(&type);
}
static void predefined_operation_freed(void) {
  MPI_Op operation = MPI_SUM;
  MPI_Op_free(&operation);
}

static const struct {
  const char* name;
  void (*run)(void);
} programs[] = {
    {"freed_and_waited_for", freed_and_waited_for},
    {"freed_and_tested", freed_and_tested},
    {"freed_twice", freed_twice},
    {"freed_and_cancelled", freed_and_cancelled},
    {"start_of_no_persistent_one", start_of_no_persistent_one},
    {"wait_for_one_not_started", wait_for_one_not_started},
    {"no_request", no_request},
    {"no_request_to_wait_for", no_request_to_wait_for},
    {"no_flag", no_flag},
    {"no_status", no_status},
    {"probed_and_received_shorter", probed_and_received_shorter},
    {"in_place_message", in_place_message},
    {"another_thread", another_thread},
    {"overlap_of_reduction", overlap_of_reduction},
    {"overlap_with_all", overlap_with_all},
    {"overlap_of_all", overlap_of_all},
    {"no_list_of_counts", no_list_of_counts},
    {"count_of_all", count_of_all},
    {"one_count_for_itself", one_count_for_itself},
    {"in_place_elsewhere", in_place_elsewhere},
    {"grid_of_too_many", grid_of_too_many},
    {"not_a_member", not_a_member},
    {"completed_by_the_program", completed_by_the_program},
    {"no_memory_attached", no_memory_attached},
    {"no_list_of_types", no_list_of_types},
    {"no_list_for_neighbours", no_list_for_neighbours},
    {"no_buffer_for_neighbours", no_buffer_for_neighbours},
    {"no_name", no_name},
    {"no_place_for_a_name", no_place_for_a_name},
    {"predefined_type_freed", predefined_type_freed},
    {"predefined_operation_freed", predefined_operation_freed},
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
