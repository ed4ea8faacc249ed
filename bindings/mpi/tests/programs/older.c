/* ranks: 1
   What is not part of the ABI: functions that MPI has removed, and integers of Fortran for handles. */
#include "check.h"

static int called;
static void count_call(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++called;
}

/* Bounds that a program sets count alone, also in datatypes that are made of this one. */
static void bounds(void) {
  int lengths[] = {1, 1, 1};
  MPI_Aint at[] = {-4, 0, 24}, lower, upper, extent;
  MPI_Datatype parts[] = {MPI_LB, MPI_INT, MPI_UB}, wide, pair, with_double;
  MPI_Type_struct(3, lengths, at, parts, &wide);
  MPI_Type_lb(wide, &lower);
  MPI_Type_ub(wide, &upper);
  CHECK(lower == -4 && upper == 24);
  MPI_Type_contiguous(2, wide, &pair);
  MPI_Type_extent(pair, &extent);
  CHECK(extent == 56);
  MPI_Type_commit(&pair);
  int in[14] = {0}, out[14] = {0, 1, 0, 0, 0, 0, 0, 0, 2};
  MPI_Sendrecv(out + 1, 1, pair, 0, 7, in + 1, 1, pair, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in[1] == 1 && in[8] == 2 && in[2] == 0);
  MPI_Aint far[] = {0, 100};
  MPI_Datatype both[] = {wide, MPI_DOUBLE};
  MPI_Type_struct(2, lengths, far, both, &with_double);
  MPI_Type_ub(with_double, &upper);
  CHECK(upper == 24);
  MPI_Type_free(&wide);
  MPI_Type_free(&pair);
  MPI_Type_free(&with_double);
}

/* Programs name all combiners in one switch: their numbers differ. */
static int is_removed(int combiner) {
  switch (combiner) {
    case MPI_COMBINER_HVECTOR_INTEGER:
    case MPI_COMBINER_HINDEXED_INTEGER:
    case MPI_COMBINER_STRUCT_INTEGER:
      return 1;
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
      return 0;
    default:
      return -1;
  }
}
static void removed_combiners(void) {
  int integers, addresses, types, combiner;
  MPI_Datatype made;
  MPI_Type_create_hvector(2, 1, 8, MPI_INT, &made);
  MPI_Type_get_envelope(made, &integers, &addresses, &types, &combiner);
  CHECK(is_removed(combiner) == 0 && is_removed(MPI_COMBINER_STRUCT_INTEGER) == 1);
  MPI_Type_free(&made);
  CHECK(MPI_F_STATUS_IGNORE == NULL && MPI_F_STATUSES_IGNORE == NULL);
}

/* MPICH's names for what MPI 4.1 has. */
static void deleted_errors(void) {
  int error_class, code;
  MPI_Add_error_class(&error_class);
  MPI_Add_error_code(error_class, &code);
  MPI_Add_error_string(code, "of ours");
  CHECK(MPIX_Delete_error_string(code) == MPI_SUCCESS);
  CHECK(MPIX_Delete_error_code(code) == MPI_SUCCESS);
  CHECK(MPIX_Delete_error_class(error_class) == MPI_SUCCESS);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  bounds();
  removed_combiners();
  deleted_errors();
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
