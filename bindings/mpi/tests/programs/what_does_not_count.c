/* ranks: 1 3
   Arguments of collectives that do not count on a rank may be anything: a datatype that never was one, null
   pointers for arrays. */
#include "check.h"

enum { kMost = 8 };
static const MPI_Datatype no_datatype = (MPI_Datatype)0x10000; /* nothing lies there */
static MPI_Comm comm = MPI_COMM_WORLD;

static void finish(MPI_Request* request, int is_persistent) {
  if (is_persistent) MPI_Start(request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
  if (is_persistent) MPI_Request_free(request);
}

/* Calls one form of a collective: the one that waits, the immediate one, the persistent one. */
#define IN_FORM(form, name, ...)                                                    \
  do {                                                                              \
    MPI_Request request;                                                            \
    if ((form) == 0) MPI_##name(__VA_ARGS__, comm);                                 \
    if ((form) == 1) MPI_I##name##_of(__VA_ARGS__, comm, &request);                 \
    if ((form) == 2) MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request); \
    if ((form) > 0) finish(&request, (form) == 2);                                  \
  } while (0)
#define MPI_IGather_of MPI_Igather
#define MPI_IGatherv_of MPI_Igatherv
#define MPI_IScatter_of MPI_Iscatter
#define MPI_IScatterv_of MPI_Iscatterv
#define MPI_IAllgather_of MPI_Iallgather
#define MPI_IAllgatherv_of MPI_Iallgatherv
#define MPI_IAlltoall_of MPI_Ialltoall
#define MPI_IAlltoallv_of MPI_Ialltoallv
#define MPI_IAlltoallw_of MPI_Ialltoallw

static void check_values(const int* values, int factor) {
  for (int each = 0; each < ranks; ++each) CHECK(values[each] == factor * each);
}

static void rooted(int form, int root) {
  int all[kMost], own = 3 * rank, counts[kMost], displacements[kMost];
  for (int each = 0; each < ranks; ++each) {
    all[each] = each == root ? own : -1;
    counts[each] = 1;
    displacements[each] = each;
  }
  if (rank == root) {
    IN_FORM(form, Gather, MPI_IN_PLACE, 7, no_datatype, all, 1, MPI_INT, root);
    check_values(all, 3);
    IN_FORM(form, Scatter, all, 1, MPI_INT, MPI_IN_PLACE, 7, no_datatype, root);
    IN_FORM(form, Gatherv, MPI_IN_PLACE, 7, no_datatype, all, counts, displacements, MPI_INT, root);
    check_values(all, 3);
    IN_FORM(form, Scatterv, all, counts, displacements, MPI_INT, MPI_IN_PLACE, 7, no_datatype, root);
  } else {
    IN_FORM(form, Gather, &own, 1, MPI_INT, NULL, 7, no_datatype, root);
    own = -1;
    IN_FORM(form, Scatter, NULL, 7, no_datatype, &own, 1, MPI_INT, root);
    CHECK(own == 3 * rank);
    IN_FORM(form, Gatherv, &own, 1, MPI_INT, NULL, NULL, NULL, no_datatype, root);
    own = -1;
    IN_FORM(form, Scatterv, NULL, NULL, NULL, no_datatype, &own, 1, MPI_INT, root);
    CHECK(own == 3 * rank);
  }
}

static void in_place(int form) {
  int all[kMost], counts[kMost], displacements[kMost], bytes[kMost];
  MPI_Datatype types[kMost];
  for (int each = 0; each < ranks; ++each) {
    all[each] = each == rank ? 5 * rank : -1;
    counts[each] = 1;
    displacements[each] = each;
    bytes[each] = each * (int)sizeof(int);
    types[each] = MPI_INT;
  }
  IN_FORM(form, Allgather, MPI_IN_PLACE, 7, no_datatype, all, 1, MPI_INT);
  check_values(all, 5);
  IN_FORM(form, Allgatherv, MPI_IN_PLACE, 7, no_datatype, all, counts, displacements, MPI_INT);
  check_values(all, 5);
  for (int each = 0; each < ranks; ++each) all[each] = rank;
  IN_FORM(form, Alltoall, MPI_IN_PLACE, 7, no_datatype, all, 1, MPI_INT);
  check_values(all, 1);
  for (int each = 0; each < ranks; ++each) all[each] = rank;
  IN_FORM(form, Alltoallv, MPI_IN_PLACE, NULL, NULL, no_datatype, all, counts, displacements, MPI_INT);
  check_values(all, 1);
  for (int each = 0; each < ranks; ++each) all[each] = rank;
  IN_FORM(form, Alltoallw, MPI_IN_PLACE, NULL, NULL, NULL, all, counts, bytes, types);
  check_values(all, 1);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int form = 0; form < 3; ++form) {
    for (int root = 0; root < ranks; ++root) rooted(form, root);
    in_place(form);
  }
  /* A null pointer is no datatype of the ABI, and often written where none is meant. */
  int all[kMost], own = rank;
  MPI_Gather(&own, 1, MPI_INT, rank == 0 ? all : NULL, rank == 0, rank == 0 ? MPI_INT : NULL, 0, comm);
  if (rank == 0) check_values(all, 1);
  MPI_Finalize();
  return 0;
}
