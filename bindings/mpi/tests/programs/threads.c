/* ranks: 2 4
   Several threads of each rank at once: receives and matched probes of any source and tag, communicators that
   are made and freed, collectives and waits on each thread's own communicator. */
#include <pthread.h>
#include "check.h"

enum { kThreads = 4, kMessages = 200, kRounds = 20 };

static MPI_Comm own[kThreads];
static long long taken;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void in_threads(void* (*run)(void*)) {
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], NULL, run, (void*)i) != 0) abort();
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}

/* Takes one message of any rank and tag; which thread takes it is open. Returns its tag. */
static int take(int is_probed) {
  int value = 0;
  MPI_Status status;
  if (is_probed) {
    MPI_Message message;
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
  } else {
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  }
  int count = 0;
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 1 && status.MPI_SOURCE == value / 1000 && (value % 1000 < kMessages));
  pthread_mutex_lock(&mutex);
  taken += value;
  pthread_mutex_unlock(&mutex);
  return status.MPI_TAG;
}

/* Each thread sends to every rank, and takes as many messages as its rank gets for each thread. */
static void* wildcards(void* argument) {
  const int thread = (int)(long)argument;
  int values[kMessages];
  MPI_Request requests[kMessages];
  for (int i = 0; i < kMessages; ++i) {
    values[i] = rank * 1000 + i;
    MPI_Isend(&values[i], 1, MPI_INT, (rank + i) % ranks, thread * kMessages + i, MPI_COMM_WORLD,
              &requests[i]);
  }
  for (int i = 0; i < kMessages; ++i) CHECK(take((i + thread) % 2) < kThreads * kMessages);
  MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
  return NULL;
}

static void* communicators(void* argument) {
  const int thread = (int)(long)argument;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm copy, part, later;
    MPI_Request request;
    int sum = 0, value = rank + thread;
    MPI_Comm_idup(own[thread], &later, &request);
    MPI_Comm_dup(own[thread], &copy);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, copy);
    CHECK(sum == ranks * (ranks - 1) / 2 + ranks * thread);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_split(later, rank % 2, rank, &part);
    MPI_Bcast(&value, 1, MPI_INT, 0, part);
    CHECK(value == rank % 2 + thread);
    MPI_Request both[2];
    int from_left = -1;
    MPI_Irecv(&from_left, 1, MPI_INT, (rank + ranks - 1) % ranks, round, copy, &both[0]);
    MPI_Issend(&rank, 1, MPI_INT, (rank + 1) % ranks, round, copy, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    CHECK(from_left == (rank + ranks - 1) % ranks);
    MPI_Comm_free(&part);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&later);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(level == MPI_THREAD_MULTIPLE);
  in_threads(wildcards);
  long long all = 0, expected = 0;
  MPI_Allreduce(&taken, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < kMessages; ++i) expected += kThreads * (r * 1000 + i);
  CHECK(all == expected);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
  in_threads(communicators);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&own[i]);
  MPI_Finalize();
  return 0;
}
