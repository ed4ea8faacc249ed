/* ranks: 2 5 (not checked, since it is wrong)
   One rank has a shorter buffer than the root sends: it alone fails, and whoever waits for it goes on. */
#include "check.h"

enum { kCount = 10 };

static void broadcast(int root, int shorter) {
  int values[kCount];
  for (int i = 0; i < kCount; ++i) values[i] = rank == root ? 100 + i : -1;
  const int error = MPI_Bcast(values, rank == shorter ? 1 : kCount, MPI_INT, root, MPI_COMM_WORLD);
  int error_class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &error_class);
  CHECK(error_class == (rank == shorter ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
  for (int i = 1; rank == shorter && i < kCount; ++i) CHECK(values[i] == -1);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int root = 0; root < ranks; ++root)
    for (int shorter = 0; shorter < ranks; ++shorter)
      if (shorter != root) broadcast(root, shorter);
  int sum = 0;
  CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(sum == ranks * (ranks - 1) / 2);
  MPI_Finalize();
  return 0;
}
