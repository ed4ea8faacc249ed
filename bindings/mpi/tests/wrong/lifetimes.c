/* Calls before MPI_Init, and behind MPI_Finalize: each function is a program, on two ranks. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int rank, value = 0;
static MPI_Comm own;
static MPI_Datatype type;
static MPI_Request request;

static void begin(void) {
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}
static void datatype_before(void) {
  MPI_Type_contiguous(2, MPI_INT, &type); /* too early */
  begin();
}
static void dimensions_before(void) {
  int dimensions[2] = {0, 0};
  MPI_Dims_create(4, 2, dimensions);
  begin();
}
static void datatype_behind(void) {
  begin();
  MPI_Finalize();
  MPI_Type_contiguous(2, MPI_INT, &type);
}
static void freed_behind(void) {
  begin();
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Finalize();
  MPI_Type_free(&type);
}
static void communicator_behind(void) {
  begin();
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Finalize();
  MPI_Barrier(own);
}
static void send_behind(void) {
  begin();
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Finalize();
  MPI_Send(&value, 1, MPI_INT, 1 - rank, 5, own);
}
static void wait_behind(void) {
  begin();
  MPI_Irecv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
  MPI_Finalize();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void start_behind(void) {
  begin();
  MPI_Recv_init(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
  MPI_Finalize();
  MPI_Start(&request);
}
/* What is allowed there. */
static void allowed(void) {
  MPI_Info info;
  int flag, length, subversion;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  for (int round = 0; round < 2; ++round) {
    MPI_Initialized(&flag);
    MPI_Finalized(&flag);
    MPI_Get_version(&value, &subversion);
    MPI_Get_library_version(text, &length);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_free(&info);
    MPI_Error_class(MPI_ERR_RANK, &value);
    MPI_Error_string(MPI_ERR_RANK, text, &length);
    value = (int)MPI_Wtime();
    if (round == 0) begin();
    if (round == 0) MPI_Finalize();
  }
}

static const struct {
  const char* name;
  void (*run)(void);
} programs[] = {
    {"datatype_before", datatype_before},
    {"dimensions_before", dimensions_before},
    {"datatype_behind", datatype_behind},
    {"freed_behind", freed_behind},
    {"communicator_behind", communicator_behind},
    {"send_behind", send_behind},
    {"wait_behind", wait_behind},
    {"start_behind", start_behind},
    {"allowed", allowed},
};

int main(int argc, char** argv) {
  for (size_t index = 0; index < sizeof programs / sizeof *programs; ++index)
    if (argc > 1 && strcmp(programs[index].name, argv[1]) == 0) programs[index].run();
  return EXIT_SUCCESS;
}
