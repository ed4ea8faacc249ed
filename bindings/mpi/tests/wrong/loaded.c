/* A library that a program loads: the place in it is named. */
#include <mpi.h>

void call_wrongly(void);
void call_wrongly(void) {
  MPI_Comm none = MPI_COMM_NULL;
  MPI_Barrier(none); /* in a library */
}
