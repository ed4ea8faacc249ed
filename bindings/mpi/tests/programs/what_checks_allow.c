/* ranks: 2
   What WEFT_MPI_CHECK must not blame, since it is right: run with it as mpi/checked. */
#include "check.h"

static int peer;

/* A datatype is freed once, however often it is committed; what MPI_Type_get_contents gives is freed, too. */
static void datatypes(void) {
  MPI_Datatype inner, outer, found;
  int integers[2];
  MPI_Aint none[1];
  MPI_Type_contiguous(2, MPI_INT, &inner);
  MPI_Type_commit(&inner);
  MPI_Type_commit(&inner);
  MPI_Type_contiguous(3, inner, &outer);
  MPI_Type_free(&inner);
  MPI_Type_get_contents(outer, 1, 0, 1, integers, none, &found);
  MPI_Type_commit(&found);
  MPI_Type_free(&found);
  MPI_Type_free(&outer);
  MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &found);
  MPI_Type_create_f90_real(6, MPI_UNDEFINED, &found);
}

/* A pair is its two elements. */
static void pairs(void) {
  int out[2] = {1, 2}, in[2] = {0, 0};
  MPI_Sendrecv(out, 1, MPI_2INT, peer, 1, in, 2, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in[0] == 1 && in[1] == 2);
}

/* Buffers of no bytes overlap nothing; two sends may be of the same one. */
static void overlaps(void) {
  int in[4], out[4] = {1, 2, 3, 4};
  MPI_Request requests[5];
  MPI_Irecv(in, 4, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(in + 1, 0, MPI_INT, peer, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(in + 2, 0, MPI_INT, peer, 3, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(out, 4, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[3]);
  MPI_Isend(out + 1, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, &requests[4]);
  MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
  MPI_Recv(in, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in[0] == 2 && in[3] == 4);
}

/* Neighbours in memory, in any order, of all lengths; each length between two others that are in use. */
static void many_buffers(void) {
  enum { kMany = 20000 };
  char* in = calloc(kMany, 64);
  MPI_Request* requests = malloc(2 * kMany * sizeof *requests);
  char* out = calloc(kMany, 64);
  for (int i = 0; i < kMany; ++i) {
    const int at = (int)((unsigned)i * 7919U % kMany);
    MPI_Irecv(in + 64 * at, at % 64 + 1, MPI_CHAR, peer, at, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(out + 64 * at, at % 64 + 1, MPI_CHAR, peer, at, MPI_COMM_WORLD, &requests[kMany + i]);
  }
  MPI_Waitall(2 * kMany, requests, MPI_STATUSES_IGNORE);
  free(in);
  free(out);
  free(requests);
}

/* The sides of an intercommunicator name their roots in other ways. */
static void intercommunicator(void) {
  MPI_Comm between, all;
  int value = rank;
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, peer, 5, &between);
  MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? MPI_ROOT : 0, between);
  CHECK(value == 0);
  MPI_Intercomm_merge(between, rank, &all);
  MPI_Barrier(between);
  MPI_Comm_free(&all);
  MPI_Comm_free(&between);
}

static void neighbours(void) {
  MPI_Comm ring;
  const int periodic = 1;
  int in[2] = {-1, -1};
  MPI_Request request;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, ring);
  CHECK(in[0] == peer && in[1] == peer);
  MPI_Ineighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, ring, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&ring);
}

/* MPI_Finalize with a session that lasts: its handles are no leaks yet. */
static void session(MPI_Session* made, MPI_Group* group) {
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, made);
  MPI_Group_from_session_pset(*made, "mpi://WORLD", group);
}

int main(int argc, char** argv) {
  MPI_Session lasting;
  MPI_Group group;
  begin(&argc, &argv);
  peer = 1 - rank;
  datatypes();
  pairs();
  overlaps();
  many_buffers();
  intercommunicator();
  neighbours();
  session(&lasting, &group);
  MPI_Finalize();
  MPI_Group_free(&group);
  MPI_Session_finalize(&lasting);
  return 0;
}
