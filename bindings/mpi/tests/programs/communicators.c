/* ranks: 1 2 3 5
   Communicators that are duplicated, split, made of groups, and of two groups; their attributes, names, infos
   and error handlers. */
#include "check.h"

static int copied, deleted;
static int copy(MPI_Comm from, int key, void* extra, void* in, void* out, int* flag) {
  (void)from;
  (void)key;
  ++copied;
  *(int**)out = (int*)in + *(int*)extra;
  *flag = 1;
  return MPI_SUCCESS;
}
static int drop(MPI_Comm from, int key, void* in, void* extra) {
  (void)from;
  (void)key;
  (void)in;
  (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}

static void ring(MPI_Comm comm) {
  int own, size, got = -1;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &size);
  MPI_Sendrecv(&own, 1, MPI_INT, (own + 1) % size, 3, &got, 1, MPI_INT, (own + size - 1) % size, 3, comm,
               MPI_STATUS_IGNORE);
  CHECK(got == (own + size - 1) % size);
  int sum = 0;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == size * (size - 1) / 2);
}

static void duplicates(void) {
  MPI_Comm comm, later;
  MPI_Request request;
  int key, extra = 1, values[4] = {0}, flag, result;
  void* value;
  MPI_Comm_create_keyval(copy, drop, &key, &extra);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, values);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_get_attr(comm, key, &value, &flag);
  CHECK(flag && value == values + 1 && copied == 1);
  MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm_idup(MPI_COMM_WORLD, &later, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  /* A message in one does not match a receive in another. */
  int in = -1, out = 4;
  MPI_Irecv(&in, 1, MPI_INT, rank, MPI_ANY_TAG, later, &request);
  MPI_Send(&out, 1, MPI_INT, rank, 1, comm);
  MPI_Iprobe(rank, 1, later, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  out = 5;
  MPI_Send(&out, 1, MPI_INT, rank, 1, later);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in == 5);
  MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
  CHECK(in == 4);
  ring(comm);
  ring(later);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&later);
  CHECK(comm == MPI_COMM_NULL && deleted == 2);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  CHECK(deleted == 3);
  MPI_Comm_free_keyval(&key);
}

static void parts(void) {
  MPI_Comm comm;
  int own, size;
  MPI_Status status;
  /* Backwards in two halves. */
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &size);
  CHECK(own == size - 1 - rank / 2);
  ring(comm);
  int in, out = own;
  MPI_Sendrecv(&out, 1, MPI_INT, (own + 1) % size, 1, &in, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &status);
  CHECK(status.MPI_SOURCE == (own + size - 1) % size && in == status.MPI_SOURCE);
  MPI_Comm_free(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &comm);
  CHECK((comm == MPI_COMM_NULL) == (rank == 0));
  if (comm != MPI_COMM_NULL) {
    ring(comm);
    MPI_Comm_free(&comm);
  }
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
  ring(comm);
  MPI_Comm_free(&comm);
  /* A group of all but rank 0; only its members take part in MPI_Comm_create_group. */
  MPI_Group world, group;
  int excluded[] = {0};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_excl(world, 1, excluded, &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
  CHECK((comm == MPI_COMM_NULL) == (rank == 0));
  if (comm != MPI_COMM_NULL) {
    ring(comm);
    MPI_Comm_free(&comm);
  }
  if (rank != 0) {
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 17, &comm);
    ring(comm);
    MPI_Comm_free(&comm);
  }
  if (ranks > 1) MPI_Group_free(&group);
  MPI_Group_free(&world);
  for (int i = 0; i < 300; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_free(&comm);
  }
}

static void two_groups(void) {
  if (ranks < 2) return;
  MPI_Comm half, inter, merged;
  const int color = rank % 2;
  int own, remote, sum = 0, result = -1;
  MPI_Comm_split(MPI_COMM_WORLD, color, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - color, 9, &inter);
  MPI_Comm_rank(inter, &own);
  MPI_Comm_remote_size(inter, &remote);
  CHECK(remote == (color == 0 ? ranks / 2 : (ranks + 1) / 2));
  if (own < remote && own < ranks - remote) {
    MPI_Sendrecv(&rank, 1, MPI_INT, own, 2, &result, 1, MPI_INT, own, 2, inter, MPI_STATUS_IGNORE);
    CHECK(result == (color == 0 ? rank + 1 : rank - 1));
  }
  /* Each side gets the sum of the other one. */
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
  int expected = 0;
  for (int r = 1 - color; r < ranks; r += 2) expected += r;
  CHECK(sum == expected);
  result = rank == 0 ? 77 : -1;
  MPI_Bcast(&result, 1, MPI_INT, color == 0 ? (own == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter);
  CHECK(color == 0 || result == 77);
  /* Two at a time, which the root begins in another order than those that receive. */
  MPI_Comm second;
  MPI_Comm_dup(inter, &second);
  const int root = color == 0 ? (own == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
  int values[2] = {rank == 0 ? 5 : -1, rank == 0 ? 6 : -1};
  MPI_Request both[2];
  const int begun_first = color == 0 ? 1 : 0;
  for (int turn = 0; turn < 2; ++turn) {
    const int which = turn == 0 ? begun_first : 1 - begun_first;
    MPI_Ibcast(&values[which], 1, MPI_INT, root, which == 0 ? inter : second, &both[which]);
  }
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  CHECK(color == 0 || (values[0] == 5 && values[1] == 6));
  MPI_Comm_free(&second);
  MPI_Barrier(inter);
  MPI_Intercomm_merge(inter, color, &merged);
  MPI_Comm_rank(merged, &own);
  CHECK(own == (color == 0 ? rank / 2 : (ranks + 1) / 2 + rank / 2));
  ring(merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static int handled;
static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  MPI_Error_class(*code, &handled);
}
static void handlers(void) {
  MPI_Comm comm;
  MPI_Errhandler errhandler, set;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_create_errhandler(handler, &errhandler);
  MPI_Comm_set_errhandler(comm, errhandler);
  MPI_Comm_get_errhandler(comm, &set);
  CHECK(set == errhandler);
  MPI_Errhandler_free(&set);
  MPI_Errhandler_free(&errhandler);
  CHECK(MPI_Send(&rank, 1, MPI_INT, 5, 0, comm) == MPI_ERR_RANK && handled == MPI_ERR_RANK);
  MPI_Comm_free(&comm);
}

static void names_and_infos(void) {
  char text[MPI_MAX_OBJECT_NAME];
  int length, flag;
  MPI_Info info, used;
  MPI_Comm_get_name(MPI_COMM_WORLD, text, &length);
  CHECK(strcmp(text, "MPI_COMM_WORLD") == 0 && length == 14);
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Comm comm;
  MPI_Comm_dup_with_info(MPI_COMM_SELF, info, &comm);
  MPI_Comm_get_info(comm, &used);
  length = sizeof text;
  MPI_Info_get_string(used, "mpi_assert_no_any_tag", &length, text, &flag);
  CHECK(flag && strcmp(text, "true") == 0 && length == 5);
  MPI_Info_get_string(used, "key", &length, text, &flag);
  CHECK(!flag); /* means nothing to the library, and is ignored */
  MPI_Info_free(&info);
  MPI_Info_free(&used);
  MPI_Comm_free(&comm);
  int* largest;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &flag);
  CHECK(flag && *largest >= 32767);
}

/* Keys that are freed where their attribute is deleted, and again by who made them. */
static int free_key(MPI_Comm from, int key, void* value, void* extra) {
  (void)from;
  (void)value;
  (void)extra;
  return MPI_Comm_free_keyval(&key);
}
static void keys_freed_more_than_once(void) {
  int key, same;
  MPI_Comm copy_of_self;
  MPI_Comm_dup(MPI_COMM_SELF, &copy_of_self);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_key, &key, NULL);
  same = key;
  MPI_Comm_set_attr(copy_of_self, key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Comm_free(&copy_of_self);
  MPI_Comm_free_keyval(&key);
  CHECK(key == MPI_KEYVAL_INVALID);
  MPI_Comm_free_keyval(&same);
  /* The last attribute is deleted by MPI_Finalize. */
}

/* A communicator whose attribute refuses to be deleted, once, keeps it and is freed by the second call. */
static int refuse_once(MPI_Comm from, int key, void* value, void* extra) {
  (void)from;
  (void)key;
  (void)extra;
  return ++*(int*)value == 1 ? MPI_ERR_OTHER : MPI_SUCCESS;
}
static void no_end_where_an_attribute_refuses(void) {
  int key, deletions = 0, flag = 0;
  void* value = NULL;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse_once, &key, NULL);
  MPI_Comm_set_attr(comm, key, &deletions);
  CHECK(MPI_Comm_free(&comm) != MPI_SUCCESS && comm != MPI_COMM_NULL);
  CHECK(MPI_Comm_get_attr(comm, key, &value, &flag) == MPI_SUCCESS && flag && value == &deletions);
  CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL && deletions == 2);
  MPI_Comm_free_keyval(&key);
}

/* Errors of calls on no communicator: the handler of MPI_COMM_WORLD learns of them where MPI_COMM_SELF has
 * none. */
static int refuse_copy(MPI_Comm from, int key, void* extra, void* in, void* out, int* flag) {
  (void)from;
  (void)key;
  (void)extra;
  (void)in;
  (void)out;
  *flag = 0;
  return MPI_ERR_OTHER;
}
static int refuse_type_copy(MPI_Datatype from, int key, void* extra, void* in, void* out, int* flag) {
  (void)from;
  return refuse_copy(MPI_COMM_NULL, key, extra, in, out, flag);
}
static void no_copy_where_an_attribute_is_refused(void) {
  int key, type_key;
  MPI_Comm comm, made = MPI_COMM_WORLD;
  MPI_Datatype type, copied_type = MPI_INT;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(comm, key, &key);
  CHECK(MPI_Comm_dup(comm, &made) != MPI_SUCCESS && made == MPI_COMM_NULL);
  MPI_Type_create_keyval(refuse_type_copy, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_set_attr(type, type_key, &key);
  CHECK(MPI_Type_dup(type, &copied_type) != MPI_SUCCESS && copied_type == MPI_DATATYPE_NULL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&type);
  MPI_Comm_free_keyval(&key);
  MPI_Type_free_keyval(&type_key);
  MPI_Comm_free(&comm);
}

static void errors_on_nothing(void) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Type_commit(&type) != MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(MPI_Type_commit(&type) != MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* A communicator that is freed with messages under way, some of them in its own buffer. */
static void freed_with_messages(void) {
  enum { kBytes = 1 << 17 };
  char *memory = malloc(kBytes + MPI_BSEND_OVERHEAD), *out = malloc(kBytes), *in = malloc(kBytes);
  MPI_Comm comm;
  MPI_Request requests[2];
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  memset(out, rank + 1, kBytes);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_attach_buffer(comm, memory, kBytes + MPI_BSEND_OVERHEAD);
  MPI_Bsend(out, kBytes, MPI_CHAR, next, 3, comm);
  MPI_Irecv(in, kBytes, MPI_CHAR, last, 3, comm, &requests[0]);
  MPI_Ibarrier(comm, &requests[1]);
  MPI_Comm_free(&comm);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(in[0] == last + 1 && in[kBytes - 1] == last + 1);
  free(memory);
  free(out);
  free(in);
}

/* An immediate collective before a barrier on one rank, and behind it on the others. */
static void immediate_ones_count_apart(void) {
  for (int root = 0; root < ranks; ++root) {
    int own = 1 << rank, all = 0;
    MPI_Request request;
    if (rank == root) MPI_Iallreduce(&own, &all, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != root) MPI_Iallreduce(&own, &all, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(all == (1 << ranks) - 1);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  duplicates();
  parts();
  two_groups();
  handlers();
  names_and_infos();
  keys_freed_more_than_once();
  no_end_where_an_attribute_refuses();
  no_copy_where_an_attribute_is_refused();
  errors_on_nothing();
  freed_with_messages();
  if (getenv("WEFT_MPI_CHECK") == NULL)
    immediate_ones_count_apart(); /* MPI does not allow it, as the check says */
  MPI_Finalize();
  return 0;
}
