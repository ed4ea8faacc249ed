/* ranks: 1 3
   MPI_Finalize by a handler of exit that the program has registered before MPI_Init, as objects with static
   storage do. */
#include "check.h"

static void finalize(void) {
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == ranks * (ranks - 1) / 2);
  MPI_Finalize();
}

int main(int argc, char** argv) {
  atexit(finalize);
  begin(&argc, &argv);
  return 0;
}
