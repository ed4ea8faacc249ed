/* ranks: 2
   Communicators that are made until there are no more fail on all members, by each way to make them; when
   they have been freed there are as many again. */
#include "check.h"

enum { kMost = 100000 };
static MPI_Comm made[kMost];

static int duplicate(int index) { return MPI_Comm_dup(MPI_COMM_WORLD, &made[index]); }
static int duplicate_later(int index) {
  MPI_Request request;
  const int error = MPI_Comm_idup(MPI_COMM_WORLD, &made[index], &request);
  if (error != MPI_SUCCESS) return error;
  const int late_error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  /* The handle was given before that was known; it may be freed, and need not be. */
  if (late_error != MPI_SUCCESS && rank == 1) MPI_Comm_free(&made[index]);
  return late_error;
}
/* One of a single rank in turn: the others fail with it. */
static int split(int index) {
  return MPI_Comm_split(MPI_COMM_WORLD, index % ranks == rank ? 0 : MPI_UNDEFINED, 0, &made[index]);
}

static void make_all(int (*make)(int index)) {
  int count = 0, error_class = MPI_SUCCESS;
  while (count < kMost && error_class == MPI_SUCCESS) {
    MPI_Error_class(make(count), &error_class);
    if (error_class == MPI_SUCCESS) ++count;
  }
  CHECK(error_class == MPI_ERR_OTHER);
  int counts[2];
  MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
  CHECK(count > 10000 && counts[0] == counts[1]);
  for (int index = 0; index < count; ++index)
    if (made[index] != MPI_COMM_NULL) MPI_Comm_free(&made[index]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  make_all(duplicate);
  make_all(split);
  make_all(duplicate_later);
  MPI_Finalize();
  return 0;
}
