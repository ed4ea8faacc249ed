/* Messages of MPI, from a rank to itself, so that one process does everything; the same arguments as the
   other programs of this folder. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWindow = 64 };
static const MPI_Comm world = MPI_COMM_WORLD;
static double sent, received;
static MPI_Request requests[2 * kWindow];

static void expected(long messages) {
  for (long message = 0; message < messages; ++message) {
    MPI_Irecv(&received, 1, MPI_DOUBLE, 0, 1, world, requests);
    MPI_Send(&sent, 1, MPI_DOUBLE, 0, 1, world);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
  }
}

static void unexpected(long messages) {
  for (long message = 0; message < messages; ++message) {
    MPI_Send(&sent, 1, MPI_DOUBLE, 0, 1, world);
    MPI_Recv(&received, 1, MPI_DOUBLE, 0, 1, world, MPI_STATUS_IGNORE);
  }
}

static void windows(long messages) {
  for (long message = 0; message < messages; message += kWindow) {
    for (int i = 0; i < kWindow; ++i) MPI_Irecv(&received, 1, MPI_DOUBLE, 0, 1, world, &requests[i]);
    for (int i = 0; i < kWindow; ++i) MPI_Isend(&sent, 1, MPI_DOUBLE, 0, 1, world, &requests[kWindow + i]);
    MPI_Waitall(2 * kWindow, requests, MPI_STATUSES_IGNORE);
  }
}

int main(int count, char** arguments) {
  const struct {
    const char* name;
    void (*run)(long messages);
  } paths[] = {{"mpi_send_receive", expected}, {"mpi_unexpected", unexpected}, {"mpi_window", windows}};
  for (size_t path = 0; count > 2 && path < sizeof paths / sizeof *paths; ++path)
    if (strcmp(arguments[1], paths[path].name) == 0) {
      MPI_Init(NULL, NULL);
      paths[path].run(strtol(arguments[2], NULL, 10));
      MPI_Finalize();
      return 0;
    }
  fprintf(stderr, "usage: %s PATH MESSAGES\n", arguments[0]);
  return 2;
}
