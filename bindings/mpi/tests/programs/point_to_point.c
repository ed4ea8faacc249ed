/* ranks: 1 2 4
   Sends in every mode and of every size arrive in order, with their statuses; wildcards, probes and PROC_NULL
   do what they must. */
#include "check.h"

static int next_rank, before;

static void ring_of_sizes(void) {
  for (int size = 0; size <= 1 << 20; size = size == 0 ? 1 : size * 8) {
    unsigned char* out = malloc(size + 1);
    unsigned char* in = calloc(size + 1, 1);
    memset(out, rank + 1, size);
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(in, size, MPI_BYTE, before, 5, MPI_COMM_WORLD, &request);
    MPI_Send(out, size, MPI_BYTE, next_rank, 5, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    int count = -1;
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(request == MPI_REQUEST_NULL && count == size && status.MPI_SOURCE == before && status.MPI_TAG == 5);
    for (int i = 0; i < size; ++i) CHECK(in[i] == before + 1);
    free(out);
    free(in);
  }
}

static void order_with_wildcards(void) {
  enum { kMessages = 200 };
  int values[kMessages];
  MPI_Request requests[kMessages];
  for (int i = 0; i < kMessages; ++i) values[i] = i;
  for (int i = 0; i < kMessages; ++i)
    MPI_Isend(&values[i], 1, MPI_INT, next_rank, i % 7, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < kMessages; ++i) {
    int value = -1;
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK(value == i && status.MPI_TAG == i % 7 && status.MPI_SOURCE == before);
  }
  MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
}

static void modes(void) {
  int value = rank, got = -1;
  char buffer[4096];
  void* detached;
  int size;
  MPI_Request request;
  MPI_Buffer_attach(buffer, sizeof buffer);
  MPI_Bsend(&value, 1, MPI_INT, next_rank, 1, MPI_COMM_WORLD);
  MPI_Recv(&got, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(got == before);
  MPI_Buffer_detach(&detached, &size);
  CHECK(detached == buffer && size == (int)sizeof buffer);
  got = -1;
  MPI_Irecv(&got, 1, MPI_INT, before, 2, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Rsend(&value, 1, MPI_INT, next_rank, 2, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(got == before);
  got = -1;
  MPI_Issend(&value, 1, MPI_INT, next_rank, 3, MPI_COMM_WORLD, &request);
  MPI_Recv(&got, 1, MPI_INT, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(got == before);
  MPI_Sendrecv_replace(&value, 1, MPI_INT, next_rank, 4, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(value == before);
}

/* A synchronous send has not ended before its receive is posted, which the next rank does when it is told to.
 */
static void synchronous(void) {
  int value = rank, got = -1, flag = 0, go = 1;
  MPI_Request request;
  MPI_Issend(&value, 1, MPI_INT, next_rank, 30, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 100; ++i) {
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
  }
  MPI_Send(&go, 1, MPI_INT, next_rank, 31, MPI_COMM_WORLD);
  MPI_Recv(&go, 1, MPI_INT, before, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(&got, 1, MPI_INT, before, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(got == before);
}

static void probes(void) {
  double values[3] = {rank, rank + 1, rank + 2}, got[3];
  MPI_Status status;
  MPI_Message message;
  int count, flag = 0;
  MPI_Send(values, 3, MPI_DOUBLE, next_rank, 9, MPI_COMM_WORLD);
  MPI_Probe(before, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  CHECK(count == 3 && status.MPI_TAG == 9 && status.MPI_SOURCE == before);
  MPI_Iprobe(before, 9, MPI_COMM_WORLD, &flag, &status);
  CHECK(flag);
  MPI_Mprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &message, &status);
  MPI_Iprobe(before, 9, MPI_COMM_WORLD, &flag, &status);
  CHECK(!flag);
  MPI_Mrecv(got, 3, MPI_DOUBLE, &message, &status);
  CHECK(message == MPI_MESSAGE_NULL && got[2] == before + 2);
}

static void nobody(void) {
  int value = 7;
  MPI_Status status;
  MPI_Request request;
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  CHECK(value == 7 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
  MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

/* The message that is received first is sent behind very many others. */
static void many_unexpected(void) {
  enum { kMany = 30000 };
  static int sent[kMany + 1];
  static MPI_Request requests[kMany + 1];
  for (int i = 0; i <= kMany; ++i) {
    sent[i] = i;
    MPI_Isend(&sent[i], 1, MPI_INT, next_rank, i == kMany ? 2 : 1, MPI_COMM_WORLD, &requests[i]);
  }
  int value = -1;
  MPI_Recv(&value, 1, MPI_INT, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(value == kMany);
  for (int i = 0; i < kMany; ++i) {
    MPI_Recv(&value, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(value == i);
  }
  MPI_Waitall(kMany + 1, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  next_rank = (rank + 1) % ranks;
  before = (rank + ranks - 1) % ranks;
  ring_of_sizes();
  order_with_wildcards();
  modes();
  synchronous();
  probes();
  nobody();
  many_unexpected();
  MPI_Finalize();
  return 0;
}
