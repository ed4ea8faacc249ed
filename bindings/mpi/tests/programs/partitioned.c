/* ranks: 1 2
   Partitioned communication: partitions of both sides that differ, datatypes whose elements they cut, empty
   ones, room for more and for less, requests that are started before the other side has prepared its own, and
   what is refused. */
#include "check.h"

static int peer;

static int class_of(int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  return class;
}

/* `total` integers in `sent` partitions here, and in `received` there; the receiver's integers lie `stride`
 * apart. */
static void cut(int total, int sent, int received, int stride) {
  int* out = malloc(sizeof(int) * (size_t)(total + 1));
  int* in = malloc(sizeof(int) * (size_t)(total * stride + 1));
  MPI_Datatype spaced;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(stride * (int)sizeof(int)), &spaced);
  MPI_Type_commit(&spaced);
  MPI_Precv_init(in, received, total / received, spaced, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[0]);
  MPI_Psend_init(out, sent, total / sent, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Type_free(&spaced);
  for (int round = 0; round < 3; ++round) {
    int flag = 0;
    for (int i = 0; i < total; ++i) out[i] = 1000 * round + i;
    for (int i = 0; i < total * stride; ++i) in[i] = -1;
    MPI_Startall(2, requests);
    for (int i = sent - 1; i >= 0; --i) {
      MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE);
      CHECK(!flag);
      MPI_Pready(i, requests[1]);
    }
    for (int i = 0; i < received; ++i) {
      do MPI_Parrived(requests[0], i, &flag);
      while (!flag);
      for (int at = i * (total / received); at < (i + 1) * (total / received); ++at)
        CHECK(in[at * stride] == 1000 * round + at && (stride == 1 || in[at * stride + 1] == -1));
    }
    int count = -1;
    MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    CHECK(count == total && statuses[0].MPI_SOURCE == peer && statuses[0].MPI_TAG == 4);
    MPI_Parrived(requests[0], 0, &flag);
    CHECK(flag);
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  free(out);
  free(in);
}

/* The receiver has room for more than is sent: by many requests one after the other. */
static void more_room(int sent, int received) {
  enum { kInts = 12 };
  int out[kInts], in[2 * kInts + 1], flag = 0, count = -1;
  MPI_Status status;
  for (int i = 0; i < kInts; ++i) out[i] = i;
  for (int round = 0; round < 100; ++round) {
    MPI_Request receive, send;
    for (int i = 0; i <= 2 * kInts; ++i) in[i] = -1;
    MPI_Precv_init(in, received, 2 * kInts / received, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &receive);
    MPI_Psend_init(out, sent, kInts / sent, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Start(&receive);
    MPI_Start(&send);
    MPI_Pready_range(0, sent - 1, send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    do MPI_Parrived(receive, 0, &flag);
    while (!flag);
    MPI_Wait(&receive, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == kInts);
    for (int i = 0; i <= 2 * kInts; ++i) CHECK(in[i] == (i < kInts ? i : -1));
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
  }
}

/* A receiver that has too little room takes what comes nevertheless, and the sender goes on. */
static void less_room(void) {
  enum { kInts = 100000 };
  static int out[kInts], in[1];
  for (int round = 0; round < 40; ++round) {
    MPI_Request receive, send;
    MPI_Precv_init(in, 1, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Psend_init(out, 1, round % 2 == 0 ? kInts : 2, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &send);
    MPI_Start(&receive);
    MPI_Start(&send);
    MPI_Pready(0, send);
    CHECK(class_of(MPI_Wait(&receive, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
  }
}

/* Elements of two integers, cut by partitions of one. */
static void cut_elements(void) {
  int in[12], out[6] = {0, 1, 2, 3, 4, 5}, flag;
  MPI_Datatype pair;
  MPI_Request requests[2];
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  for (int i = 0; i < 12; ++i) in[i] = -1;
  MPI_Precv_init(in, 3, 1, pair, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Psend_init(out, 2, 3, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Startall(2, requests);
  MPI_Pready_range(0, 1, requests[1]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  /* An element spans three integers. */
  const int expected[9] = {0, -1, 1, 2, -1, 3, 4, -1, 5};
  for (int i = 0; i < 9; ++i) CHECK(in[i] == expected[i]);
  MPI_Parrived(requests[0], 2, &flag);
  CHECK(flag);
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  MPI_Type_free(&pair);
}

static void empty_and_late(void) {
  int in = -1, out = 7, flag, list[2] = {1, 0};
  MPI_Request receive, send;
  /* Nothing arrives before it is ready, even where it is nothing. */
  MPI_Precv_init(NULL, 2, 0, MPI_INT, peer, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  MPI_Start(&receive);
  MPI_Parrived(receive, 1, &flag);
  CHECK(!flag);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Psend_init(NULL, 2, 0, MPI_INT, peer, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  MPI_Start(&send);
  MPI_Pready_list(2, list, send);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  /* To nobody. */
  MPI_Psend_init(&out, 1, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  MPI_Precv_init(&in, 1, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  MPI_Start(&send);
  MPI_Start(&receive);
  MPI_Pready(0, send);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  CHECK(in == -1);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  /* Prepared on both sides and never started; and a receive whose sender never comes. */
  MPI_Precv_init(&in, 1, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  MPI_Psend_init(&out, 1, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  MPI_Precv_init(&in, 1, 1, MPI_INT, peer, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  MPI_Request_free(&receive);
}

/* Each receive is that of one send, also where both are freed before the message that announces the send has
 * come. */
static void freed_before_the_other_side(void) {
  int in = -1, out = 7;
  MPI_Request receive, send;
  MPI_Precv_init(&in, 1, 1, MPI_CHAR, peer, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  MPI_Request_free(&receive);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Psend_init(&out, 1, 1, MPI_CHAR, peer, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  MPI_Request_free(&send);
  MPI_Psend_init(&out, 1, 1, MPI_INT, peer, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  MPI_Precv_init(&in, 1, 1, MPI_INT, peer, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  MPI_Start(&send);
  MPI_Start(&receive);
  MPI_Pready(0, send);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  CHECK(in == 7);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
}

static void refused(void) {
  int in[2], out[4] = {0};
  MPI_Request send, receive;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Precv_init(in, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &receive)) == MPI_ERR_RANK);
  CHECK(class_of(MPI_Precv_init(in, 1, 1, MPI_INT, peer, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &receive)) == MPI_ERR_TAG);
  CHECK(class_of(MPI_Psend_init(out, 1, -1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send)) ==
        MPI_ERR_COUNT);
  MPI_Psend_init(out, 2, 2, MPI_INT, peer, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  MPI_Precv_init(in, 1, 2, MPI_INT, peer, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  CHECK(class_of(MPI_Pready(0, send)) == MPI_ERR_REQUEST);
  MPI_Start(&send);
  MPI_Start(&receive);
  CHECK(class_of(MPI_Pready(2, send)) == MPI_ERR_ARG);
  CHECK(MPI_Pready(1, send) == MPI_SUCCESS);
  CHECK(class_of(MPI_Pready(1, send)) == MPI_ERR_ARG);
  CHECK(MPI_Pready(0, send) == MPI_SUCCESS);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  /* The sender has twice as much. */
  CHECK(class_of(MPI_Wait(&receive, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  less_room();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  peer = ranks - 1 - rank;
  cut(12, 3, 3, 1);
  cut(12, 4, 3, 1);
  cut(12, 1, 6, 1);
  cut(12, 6, 2, 3);
  cut(1 << 16, 64, 16, 1);
  more_room(3, 6);
  more_room(4, 1);
  more_room(1, 24);
  cut_elements();
  empty_and_late();
  freed_before_the_other_side();
  refused();
  MPI_Finalize();
  return 0;
}
