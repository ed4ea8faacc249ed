/* ranks: 1
   What is not part of the ABI: functions that MPI has removed, and integers of Fortran for handles. */
#include "check.h"

static int called;
static void count_call(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++called;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  struct {
    int number;
    double value;
  } pair[2];
  MPI_Aint first, displacements[2], extent, lower, upper;
  MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE}, type, vector, indexed;
  int lengths[2] = {1, 1}, size;
  MPI_Address(pair, &first);
  MPI_Address(&pair[0].number, &displacements[0]);
  MPI_Address(&pair[0].value, &displacements[1]);
  for (int i = 0; i < 2; ++i) displacements[i] -= first;
  MPI_Type_struct(2, lengths, displacements, parts, &type);
  MPI_Type_extent(type, &extent);
  MPI_Type_lb(type, &lower);
  PMPI_Type_ub(type, &upper);
  CHECK(extent == (MPI_Aint)sizeof pair[0] && lower == 0 && upper == extent);
  MPI_Type_hvector(2, 1, 16, MPI_INT, &vector);
  MPI_Type_size(vector, &size);
  MPI_Type_extent(vector, &extent);
  CHECK(size == 8 && extent == 20);
  MPI_Type_hindexed(2, lengths, displacements, MPI_INT, &indexed);
  MPI_Type_size(indexed, &size);
  CHECK(size == 8);

  MPI_Errhandler handler, found;
  MPI_Errhandler_create(count_call, &handler);
  MPI_Errhandler_set(MPI_COMM_WORLD, handler);
  MPI_Errhandler_get(MPI_COMM_WORLD, &found);
  CHECK(MPI_Send(NULL, 0, MPI_INT, -7, 0, MPI_COMM_WORLD) != MPI_SUCCESS && called == 1);
  CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(found)) == found);
  MPI_Errhandler_free(&found);
  MPI_Errhandler_free(&handler);

  CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
  CHECK(PMPI_Type_f2c(PMPI_Type_c2f(type)) == type);
  CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NULL)) == MPI_MESSAGE_NULL);
  MPI_Status status, copy;
  MPI_Fint numbers[MPI_F_STATUS_SIZE];
  MPI_Sendrecv(&size, 1, MPI_INT, 0, 6, &called, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &status);
  MPI_Status_c2f(&status, numbers);
  CHECK(numbers[MPI_F_TAG] == 6 && numbers[MPI_F_SOURCE] == 0);
  MPI_Status_f2c(numbers, &copy);
  CHECK(memcmp(&status, &copy, sizeof status) == 0);

  MPI_Type_free(&type);
  MPI_Type_free(&vector);
  MPI_Type_free(&indexed);
  MPI_Finalize();
  return 0;
}
