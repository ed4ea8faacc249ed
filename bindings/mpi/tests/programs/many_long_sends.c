/* ranks: 2
   The message that is received first is posted behind very many that their receiver has to ask for: long ones
   and synchronous ones. */
#include "check.h"

enum { kLong = 6000, kShort = 20000, kWords = 16 << 10, kBehind = 1, kFirst = 2, kWindow = 100 };

static MPI_Request requests[kShort + 1];

static void post(const int* words, int count, int is_synchronous, int tag, MPI_Request* request) {
  if (is_synchronous)
    MPI_Issend(words, count, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, request);
  else
    MPI_Isend(words, count, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, request);
}

static void check_message(const int* received, int count, int number) {
  CHECK(received[0] == number && received[count - 1] == number + count - 1);
}

/* Both ranks send `many`, a multiple of kWindow, and one more, which is received first. */
static void first_is_last(int many, int count, int is_synchronous, const int* sent, int* received) {
  MPI_Request window[kWindow];
  for (int i = 0; i <= many; ++i)
    post(sent + i, count, is_synchronous, i == many ? kFirst : kBehind, &requests[i]);
  MPI_Recv(received, count, MPI_INT, 1 - rank, kFirst, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check_message(received, count, many);
  for (int i = 0; i < many; i += kWindow) {
    for (int j = 0; j < kWindow; ++j)
      MPI_Irecv(received + j * count, count, MPI_INT, 1 - rank, kBehind, MPI_COMM_WORLD, &window[j]);
    MPI_Waitall(kWindow, window, MPI_STATUSES_IGNORE);
    for (int j = 0; j < kWindow; ++j) check_message(received + j * count, count, i + j);
  }
  MPI_Waitall(many + 1, requests, MPI_STATUSES_IGNORE);
}

/* As many receives wait as there were sends, and the one posted last gets its message first. */
static void many_receives(const int* sent, int* received) {
  for (int i = 0; i <= kShort; ++i)
    MPI_Irecv(received + i, 1, MPI_INT, 1 - rank, i == kShort ? kFirst : kBehind, MPI_COMM_WORLD,
              &requests[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(sent + kShort, 1, MPI_INT, 1 - rank, kFirst, MPI_COMM_WORLD);
  MPI_Wait(&requests[kShort], MPI_STATUS_IGNORE);
  for (int i = 0; i < kShort; ++i) MPI_Send(sent + i, 1, MPI_INT, 1 - rank, kBehind, MPI_COMM_WORLD);
  MPI_Waitall(kShort, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i <= kShort; ++i) CHECK(received[i] == i);
}

int main(int argc, char** argv) {
  static int sent[kShort + kWords], received[kWindow * kWords];
  begin(&argc, &argv);
  for (int i = 0; i < kShort + kWords; ++i) sent[i] = i;
  first_is_last(kLong, kWords, 0, sent, received);
  first_is_last(kShort, 2, 1, sent, received);
  many_receives(sent, received);
  MPI_Finalize();
  return 0;
}
