/* Says its rank, its program's number, its arguments, and the variables A and B. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, size, found, *number;
  char folder[4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
  const char *a = getenv("A"), *b = getenv("B");
  printf("%d of %d, program %d in %s: A=%s B=%s", rank, size, found ? *number : -1,
         getcwd(folder, sizeof folder), a ? a : "", b ? b : "");
  for (int index = 1; index < argc; ++index) printf(" [%s]", argv[index]);
  printf("\n");
  MPI_Finalize();
  return 0;
}
