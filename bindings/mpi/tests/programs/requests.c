/* ranks: 1 2 3
   Every form of waiting and testing, persistent requests, cancelled receives, freed and generalised requests.
 */
#include "check.h"

static int next_rank, before;

static void several(void) {
  enum { kRequests = 6 };
  int in[kRequests], out[kRequests];
  MPI_Request requests[2 * kRequests + 1];
  MPI_Status statuses[2 * kRequests + 1];
  for (int form = 0; form < 6; ++form) {
    requests[2 * kRequests] = MPI_REQUEST_NULL;
    for (int i = 0; i < kRequests; ++i) {
      in[i] = -1;
      out[i] = 100 * form + i;
      MPI_Irecv(&in[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &requests[2 * i]);
      MPI_Isend(&out[i], 1, MPI_INT, next_rank, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    int done = 0, flag = 0, index, indices[2 * kRequests + 1], some;
    while (done < 2 * kRequests) {
      if (form == 0) {
        MPI_Waitall(2 * kRequests + 1, requests, statuses);
        for (int i = 0; i < kRequests; ++i)
          CHECK(statuses[2 * i].MPI_TAG == i && statuses[2 * i].MPI_ERROR == MPI_SUCCESS);
        done = 2 * kRequests;
      } else if (form == 1) {
        MPI_Testall(2 * kRequests + 1, requests, &flag, statuses);
        done = flag ? 2 * kRequests : 0;
      } else if (form == 2) {
        MPI_Waitany(2 * kRequests + 1, requests, &index, statuses);
        CHECK(index >= 0 && index < 2 * kRequests && requests[index] == MPI_REQUEST_NULL);
        ++done;
      } else if (form == 3) {
        MPI_Testany(2 * kRequests + 1, requests, &index, &flag, statuses);
        done += flag;
      } else {
        if (form == 4) MPI_Waitsome(2 * kRequests + 1, requests, &some, indices, statuses);
        if (form == 5) MPI_Testsome(2 * kRequests + 1, requests, &some, indices, statuses);
        CHECK(some >= (form == 4 ? 1 : 0));
        done += some;
      }
    }
    for (int i = 0; i < kRequests; ++i) CHECK(in[i] == 100 * form + i);
    for (int i = 0; i < 2 * kRequests; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
    MPI_Waitany(2 * kRequests, requests, &index, statuses);
    CHECK(index == MPI_UNDEFINED);
  }
}

static void persistent(void) {
  int in = -1, out = -1, flag;
  MPI_Request requests[2];
  MPI_Recv_init(&in, 1, MPI_INT, before, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(&out, 1, MPI_INT, next_rank, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  CHECK(flag);
  for (int round = 0; round < 100; ++round) {
    out = round;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in == round && requests[0] != MPI_REQUEST_NULL);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  CHECK(requests[0] == MPI_REQUEST_NULL);
}

static void cancelled(void) {
  int value = 5, flag = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag && value == 5);
}

/* Sends that no receive matches: a synchronous one and a large one, to others and to oneself. */
static void cancelled_sends(void) {
  enum { kLarge = 1 << 20 };
  char* out = malloc(kLarge);
  memset(out, 1, kLarge);
  const int to[2] = {next_rank, rank};
  for (int i = 0; i < 2; ++i)
    for (int form = 0; form < 3; ++form) {
      MPI_Request request;
      MPI_Status status;
      int flag = 0, token = 0;
      if (form == 0) MPI_Issend(out, 1, MPI_CHAR, to[i], 9, MPI_COMM_WORLD, &request);
      if (form == 1) MPI_Isend(out, kLarge, MPI_CHAR, to[i], 9, MPI_COMM_WORLD, &request);
      if (form == 2) MPI_Send_init(out, kLarge, MPI_CHAR, to[i], 9, MPI_COMM_WORLD, &request);
      if (form == 2) MPI_Start(&request);
      MPI_Cancel(&request);
      if (to[i] == rank) {
        /* It ends without a receive, and without a wait. */
        while (!flag) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
      }
      MPI_Wait(&request, &status);
      MPI_Test_cancelled(&status, &flag);
      CHECK(flag);
      if (form == 2) MPI_Request_free(&request);
      /* Nothing of it is there. */
      MPI_Sendrecv(&rank, 1, MPI_INT, next_rank, 8, &token, 1, MPI_INT, before, 8, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      CHECK(!flag);
      MPI_Barrier(MPI_COMM_WORLD); /* before others send again */
    }
  free(out);
}

/* One that is freed before it ends keeps its record until then: another request is not ended in its place. */
static void freed_before_their_end(void) {
  int first = -1, second = -1, flag = 0;
  MPI_Request request;
  MPI_Irecv(&first, 1, MPI_INT, rank, 8, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  MPI_Irecv(&second, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &request);
  MPI_Send(&rank, 1, MPI_INT, rank, 8, MPI_COMM_WORLD);
  for (int i = 0; i < 100; ++i) {
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
  }
  MPI_Send(&rank, 1, MPI_INT, rank, 9, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(first == rank && second == rank);
}

/* More communicators than there may be at a time, each freed before its last request ends. */
static void outlive_their_communicators(void) {
  for (int i = 0; i < 20000; ++i) {
    int in = -1;
    MPI_Request request;
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, own, &request);
    MPI_Send(&i, 1, MPI_INT, 0, 1, own);
    MPI_Comm_free(&own);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in == i);
  }
}

static void freed(void) {
  int in = -1, out = rank;
  MPI_Request request;
  MPI_Isend(&out, 1, MPI_INT, next_rank, 8, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  MPI_Recv(&in, 1, MPI_INT, before, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == before);
}

static int queried, freed_count;
static int query(void* extra, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_INT, *(int*)extra);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 3;
  ++queried;
  return MPI_SUCCESS;
}
static int release(void* extra) {
  (void)extra;
  ++freed_count;
  return MPI_SUCCESS;
}
static int cancel(void* extra, int complete) {
  (void)extra;
  (void)complete;
  return MPI_SUCCESS;
}
static void generalized(void) {
  int extra = 11, flag, count;
  MPI_Request request;
  MPI_Status status;
  MPI_Grequest_start(query, release, cancel, &extra, &request);
  MPI_Test(&request, &flag, &status);
  CHECK(!flag);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 11 && status.MPI_SOURCE == 3 && queried == 1 && freed_count == 1);
}

static int class_of(int code) {
  int error_class;
  MPI_Error_class(code, &error_class);
  return error_class;
}
/* Each inquiry asks the request anew; what its function returns is the code of the call. */
static int query_code;
static int fail_to_query(void* extra, MPI_Status* status) {
  (void)extra;
  (void)status;
  return query_code;
}
static void failing_queries(void) {
  int flag, own_class;
  MPI_Request request;
  MPI_Status status;
  MPI_Grequest_start(fail_to_query, release, cancel, NULL, &request);
  MPI_Grequest_complete(request);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Add_error_class(&own_class);
  const int codes[] = {MPI_SUCCESS, MPI_ERR_ARG, own_class, MPI_SUCCESS};
  for (int each = 0; each < 4; ++each) {
    query_code = codes[each];
    CHECK(MPI_Request_get_status(request, &flag, &status) == query_code && flag);
    CHECK(MPI_Request_get_status_all(1, &request, &flag, MPI_STATUSES_IGNORE) == query_code && flag);
  }
  query_code = own_class;
  CHECK(MPI_Wait(&request, &status) == own_class);
  MPI_Remove_error_class(own_class);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}
static void errors_are_told(void) {
  MPI_Comm comm;
  int big[8] = {0}, small;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Isendrecv(big, 8, MPI_INT, 0, 1, &small, 1, MPI_INT, 0, 1, comm, &request);
  CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
  /* The last reference to the communicator is the request's. */
  MPI_Irecv(&small, 1, MPI_INT, 0, 2, comm, &request);
  MPI_Send(big, 8, MPI_INT, 0, 2, comm);
  MPI_Comm_free(&comm);
  CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
}
static void flush_ends_when_all_has_left(void) {
  enum { kInts = 200000 };
  static int out[kInts], in[kInts];
  int size = kInts * (int)sizeof(int) + MPI_BSEND_OVERHEAD, flag;
  char *memory = malloc((size_t)size), *detached;
  MPI_Request request;
  out[kInts - 1] = 7;
  MPI_Buffer_attach(memory, size);
  MPI_Bsend(out, kInts, MPI_INT, rank, 9, MPI_COMM_WORLD);
  MPI_Buffer_iflush(&request);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  MPI_Recv(in, kInts, MPI_INT, rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in[kInts - 1] == 7);
  MPI_Buffer_iflush(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Buffer_detach(&detached, &size);
  CHECK(detached == memory);
  free(memory);
}
/* And of sends that are refused no request is left, which MPI_Finalize would tell. */
static void full_buffers_leave_requests_as_they_were(void) {
  char memory[MPI_BSEND_OVERHEAD + 16], *detached;
  int big[256] = {0}, size, in[256];
  MPI_Comm comm;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Buffer_attach(memory, sizeof memory);
  CHECK(class_of(MPI_Bsend(big, 256, MPI_INT, 0, 3, comm)) == MPI_ERR_BUFFER);
  CHECK(class_of(MPI_Ibsend(big, 256, MPI_INT, 0, 3, comm, &request)) == MPI_ERR_BUFFER);
  MPI_Bsend_init(big, 256, MPI_INT, 0, 3, comm, &request);
  CHECK(class_of(MPI_Start(&request)) == MPI_ERR_BUFFER);
  MPI_Buffer_detach(&detached, &size);
  CHECK(detached == memory);
  char more[MPI_BSEND_OVERHEAD + sizeof big];
  MPI_Buffer_attach(more, sizeof more);
  CHECK(MPI_Start(&request) == MPI_SUCCESS);
  MPI_Recv(in, 256, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  MPI_Buffer_detach(&detached, &size);
  MPI_Comm_free(&comm);
}
/* Programs test such a receive once, and then do without its buffer. */
static void messages_to_oneself_end_in_few_tests(void) {
  static char out[40000], in[40000];
  for (int bytes = 4; bytes <= (int)sizeof out; bytes *= 10) {
    MPI_Request send, receive;
    MPI_Message message;
    int tests = 0, flag = 0;
    MPI_Issend(out, bytes, MPI_CHAR, rank, 6, MPI_COMM_WORLD, &send);
    MPI_Mprobe(rank, 6, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, bytes, MPI_CHAR, &message, &receive);
    for (; !flag; ++tests) MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
    CHECK(tests < 5);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
  }
}
/* A message takes less than MPI_BSEND_OVERHEAD beside its bytes, as programs assume that leave it out. */
static void buffers_hold_many_messages(void) {
  enum { kBytes = 100000, kMessages = 10, kLittle = 96 };
  static char out[kBytes], in[kBytes];
  int size = kMessages * (kBytes + kLittle);
  char *memory = malloc((size_t)size), *detached;
  MPI_Buffer_attach(memory, size);
  for (int index = 0; index < kMessages; ++index)
    MPI_Bsend(out, kBytes, MPI_CHAR, next_rank, 4, MPI_COMM_WORLD);
  for (int index = 0; index < kMessages; ++index)
    MPI_Recv(in, kBytes, MPI_CHAR, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Buffer_detach(&detached, &size);
  free(memory);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  next_rank = (rank + 1) % ranks;
  before = (rank + ranks - 1) % ranks;
  several();
  persistent();
  cancelled();
  cancelled_sends();
  freed_before_their_end();
  outlive_their_communicators();
  freed();
  generalized();
  failing_queries();
  errors_are_told();
  flush_ends_when_all_has_left();
  full_buffers_leave_requests_as_they_were();
  messages_to_oneself_end_in_few_tests();
  buffers_hold_many_messages();
  MPI_Finalize();
  return 0;
}
