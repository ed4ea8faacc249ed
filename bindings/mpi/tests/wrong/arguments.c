/* Calls with arguments that are wrong, on one or two ranks: each function is one. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, value = 0, values[4];
static double number, sum;

static void wrong_root(void) { MPI_Bcast(&value, 1, MPI_INT, 5, MPI_COMM_WORLD); }
static void wrong_operation(void) { MPI_Allreduce(&number, &sum, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD); }
static void freed_communicator(void) {
  MPI_Comm mine, copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  copy = mine;
  MPI_Comm_free(&mine);
  MPI_Barrier(copy);
}
static void freed_datatype(void) {
  MPI_Datatype mine, copy;
  MPI_Type_contiguous(2, MPI_INT, &mine);
  MPI_Type_commit(&mine);
  copy = mine;
  MPI_Type_free(&mine);
  MPI_Send(values, 1, copy, 0, 5, MPI_COMM_WORLD);
}
static void ended_request(void) {
  MPI_Request request, copy;
  MPI_Irecv(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request);
  copy = request;
  MPI_Send(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Wait(&copy, MPI_STATUS_IGNORE);
}
static void started_twice(void) {
  MPI_Request request;
  MPI_Recv_init(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request);
  MPI_Start(&request);
  MPI_Start(&request);
}
static void predefined_freed(void) {
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm_free(&world);
}
static void no_intracommunicator(void) {
  MPI_Comm both;
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 3, &both);
  MPI_Scan(&value, values, 1, MPI_INT, MPI_SUM, both);
}
static void twice_finalized(void) {
  MPI_Finalize();
  MPI_Finalize();
}
static void after_finalize(void) {
  MPI_Finalize();
  MPI_Comm_size(MPI_COMM_WORLD, &value);
}
static void truncated_collective(void) { MPI_Bcast(values, rank == 0 ? 4 : 1, MPI_INT, 0, MPI_COMM_WORLD); }
static void no_buffer_attached(void) { MPI_Bsend(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD); }
static void no_place_for_the_result(void) { MPI_Comm_dup(MPI_COMM_WORLD, NULL); }
static void same_buffer_twice(void) { MPI_Allreduce(&value, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }

static void without_finalize(void) { exit(EXIT_SUCCESS); }
static void child_that_ends(void) {
  const pid_t child = fork();
  if (child == 0) exit(EXIT_SUCCESS);
  waitpid(child, NULL, 0);
}
static void one_without_finalize(void) {
  if (rank == 0) exit(EXIT_SUCCESS);
}
static void waits_for_one_without_finalize(void) {
  if (rank == 0) exit(EXIT_SUCCESS);
  MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static const struct {
  const char* name;
  void (*run)(void);
} programs[] = {
    {"wrong_root", wrong_root},
    {"wrong_operation", wrong_operation},
    {"freed_communicator", freed_communicator},
    {"freed_datatype", freed_datatype},
    {"ended_request", ended_request},
    {"started_twice", started_twice},
    {"predefined_freed", predefined_freed},
    {"no_intracommunicator", no_intracommunicator},
    {"twice_finalized", twice_finalized},
    {"after_finalize", after_finalize},
    {"truncated_collective", truncated_collective},
    {"no_buffer_attached", no_buffer_attached},
    {"no_place_for_the_result", no_place_for_the_result},
    {"same_buffer_twice", same_buffer_twice},
    {"without_finalize", without_finalize},
    {"child_that_ends", child_that_ends},
    {"one_without_finalize", one_without_finalize},
    {"waits_for_one_without_finalize", waits_for_one_without_finalize},
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (size_t index = 0; index < sizeof programs / sizeof *programs; ++index)
    if (argc > 1 && strcmp(programs[index].name, argv[1]) == 0) programs[index].run();
  MPI_Finalize();
  return EXIT_SUCCESS;
}
