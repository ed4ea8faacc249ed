/* ranks: 1 3
   Sessions without MPI_Init: process sets, communicators and intercommunicators of groups, error handlers,
   buffers. */
#include "check.h"

static int called;
static void count_call(MPI_Session* session, int* code, ...) {
  (void)session;
  (void)code;
  ++called;
}
static int class_of(int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  return class;
}

static void process_sets(MPI_Session session) {
  int count = 0, length = 0, flag = 0;
  char name[MPI_MAX_PSET_NAME_LEN], value[32];
  MPI_Info info;
  CHECK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count) == MPI_SUCCESS && count >= 2);
  for (int i = 0; i < count; ++i) {
    length = 0;
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL) == MPI_SUCCESS);
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name) == MPI_SUCCESS);
    CHECK((int)strlen(name) + 1 == length);
    CHECK(MPI_Session_get_pset_info(session, name, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_get(info, "mpi_size", 31, value, &flag) == MPI_SUCCESS && flag);
    CHECK(atoi(value) == (strcmp(name, "mpi://SELF") == 0 ? 1 : ranks));
    MPI_Info_free(&info);
  }
  MPI_Group group;
  called = 0;
  CHECK(class_of(MPI_Group_from_session_pset(session, "weft://nothing", &group)) == MPI_ERR_ARG &&
        called == 1);
  CHECK(class_of(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, count, &length, name)) == MPI_ERR_ARG &&
        called == 2);
}

static void ring(MPI_Comm comm) {
  int own, size, in = -1;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &size);
  MPI_Sendrecv(&own, 1, MPI_INT, (own + 1) % size, 5, &in, 1, MPI_INT, (own + size - 1) % size, 5, comm,
               MPI_STATUS_IGNORE);
  CHECK(in == (own + size - 1) % size);
}

/* Messages of communicators of a session use its buffer. */
static void buffers(MPI_Session session, MPI_Comm comm) {
  char memory[1000 + MPI_BSEND_OVERHEAD], out[1000] = {7}, in[1000];
  void* address = NULL;
  int size = 0, own;
  MPI_Comm_rank(comm, &own);
  CHECK(class_of(MPI_Bsend(out, 1000, MPI_CHAR, own, 1, comm)) == MPI_ERR_BUFFER);
  CHECK(MPI_Session_attach_buffer(session, memory, (int)sizeof memory) == MPI_SUCCESS);
  CHECK(MPI_Bsend(out, 1000, MPI_CHAR, own, 1, comm) == MPI_SUCCESS);
  MPI_Recv(in, 1000, MPI_CHAR, own, 1, comm, MPI_STATUS_IGNORE);
  CHECK(memcmp(in, out, 1000) == 0);
  CHECK(MPI_Session_flush_buffer(session) == MPI_SUCCESS);
  CHECK(MPI_Session_detach_buffer(session, &address, &size) == MPI_SUCCESS);
  CHECK(address == memory && size == (int)sizeof memory);
}

static void two_sides(MPI_Group all) {
  MPI_Group sides[2];
  MPI_Comm between = MPI_COMM_NULL;
  int range[2][1][3] = {{{0, 0, 1}}, {{1, ranks - 1, 1}}}, remote = 0, in = -1;
  for (int i = 0; i < 2; ++i) MPI_Group_range_incl(all, 1, range[i], &sides[i]);
  const int side = rank == 0 ? 0 : 1;
  /* The remote group counts on the leader only. */
  MPI_Group others = rank < 2 ? sides[1 - side] : MPI_GROUP_NULL;
  CHECK(MPI_Intercomm_create_from_groups(sides[side], 0, others, 0, "two sides", MPI_INFO_NULL,
                                         MPI_ERRORS_RETURN, &between) == MPI_SUCCESS);
  MPI_Comm_remote_size(between, &remote);
  CHECK(remote == (side == 0 ? ranks - 1 : 1));
  int root = side == 0 ? MPI_ROOT : 0;
  in = side == 0 ? 42 : -1;
  MPI_Bcast(&in, 1, MPI_INT, root, between);
  CHECK(in == 42);
  MPI_Comm_free(&between);
  for (int i = 0; i < 2; ++i) MPI_Group_free(&sides[i]);
}

/* Of what MPI attaches to MPI_COMM_WORLD a communicator of a session has the largest tag alone. */
static void attributes(MPI_Comm comm) {
  static const int others[] = {MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE};
  MPI_Comm copy;
  int *value, flag;
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_get_attr(copy, MPI_TAG_UB, &value, &flag);
  CHECK(flag && *value >= 32767);
  for (size_t each = 0; each < sizeof others / sizeof *others; ++each) {
    MPI_Comm_get_attr(copy, others[each], &value, &flag);
    CHECK(!flag);
  }
  MPI_Comm_free(&copy);
}

int main(void) {
  for (int round = 0; round < 2; ++round) {
    MPI_Session one, other;
    MPI_Errhandler handler;
    MPI_Group all, self, rest;
    MPI_Comm comm, alone, left;
    MPI_Info info;
    char value[32];
    int flag = 0;
    CHECK(MPI_Session_create_errhandler(count_call, &handler) == MPI_SUCCESS);
    CHECK(MPI_Session_init(MPI_INFO_NULL, handler, &one) == MPI_SUCCESS);
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other) == MPI_SUCCESS);
    MPI_Errhandler_free(&handler);
    MPI_Initialized(&flag);
    CHECK(!flag);
    MPI_Session_get_info(one, &info);
    MPI_Info_get(info, "thread_level", 31, value, &flag);
    CHECK(flag && strcmp(value, "MPI_THREAD_MULTIPLE") == 0);
    MPI_Info_get(info, "mpi_thread_support_level", 31, value, &flag);
    CHECK(flag && strcmp(value, "MPI_THREAD_MULTIPLE") == 0);
    MPI_Info_free(&info);

    CHECK(MPI_Group_from_session_pset(one, "mpi://WORLD", &all) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(other, "mpi://self", &self) == MPI_SUCCESS);
    /* A handle in place of the address of one. */
    CHECK(class_of(MPI_Group_from_session_pset(other, "mpi://self", (MPI_Group*)MPI_GROUP_NULL)) ==
          MPI_ERR_ARG);
    MPI_Group_rank(all, &rank);
    MPI_Group_size(all, &ranks);
    process_sets(one);

    CHECK(MPI_Comm_create_from_group(all, "a ring", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(self, "a ring", MPI_INFO_NULL, MPI_ERRORS_RETURN, &alone) ==
          MPI_SUCCESS);
    attributes(comm);
    ring(comm);
    ring(alone);
    buffers(one, comm);
    /* Without a member of it: the error handler of what is not made learns of it. */
    MPI_Group_difference(all, self, &rest);
    if (ranks > 1)
      CHECK(class_of(MPI_Comm_create_from_group(rest, "rest", MPI_INFO_NULL, MPI_ERRORS_RETURN, &left)) ==
            MPI_ERR_GROUP);
    if (ranks > 1) two_sides(all);
    MPI_Group_free(&all);
    MPI_Group_free(&self);
    if (ranks > 1) MPI_Group_free(&rest);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&alone);
    CHECK(MPI_Session_finalize(&one) == MPI_SUCCESS && one == MPI_SESSION_NULL);
    CHECK(MPI_Session_finalize(&other) == MPI_SUCCESS);
  }
  return 0;
}
