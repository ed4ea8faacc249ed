/* ranks: 2 5 (not checked, since it is wrong)
   One rank has a shorter or a longer buffer than the root sends: it fails, and whoever waits for it goes on
   and fails where it has not got what the root has sent. */
#include "check.h"

enum { kCount = 10 };

static void broadcast(int root, int other, int count_of_other) {
  int values[2 * kCount];
  for (int i = 0; i < 2 * kCount; ++i) values[i] = rank == root ? 100 + i : -1;
  const int error = MPI_Bcast(values, rank == other ? count_of_other : kCount, MPI_INT, root, MPI_COMM_WORLD);
  int error_class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &error_class);
  if (rank == other) {
    CHECK(error_class == (count_of_other < kCount ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT));
    for (int i = count_of_other; i < 2 * kCount; ++i) CHECK(values[i] == -1);
  } else if (error_class == MPI_SUCCESS) {
    for (int i = 0; i < kCount; ++i) CHECK(values[i] == 100 + i);
  } else {
    CHECK(rank != root && error_class == MPI_ERR_COUNT);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int root = 0; root < ranks; ++root)
    for (int other = 0; other < ranks; ++other)
      if (other != root) {
        broadcast(root, other, 1);
        broadcast(root, other, 2 * kCount);
      }
  int sum = 0;
  CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(sum == ranks * (ranks - 1) / 2);
  MPI_Finalize();
  return 0;
}
