/* ranks: 3
   A send that is refused when it is first posted, since as many operations are under way as there may be, can
   be cancelled as others can. Broadcasts to a rank that does not call them yet take the room: unlike sends of
   the program, they cannot be cancelled. */
#include "check.h"

enum { kRoom = 64, kLarge = 64 << 10, kTag = 5 };

/* Rank 0 tells rank 1 by rank 2: a message of its own would stay behind those that wait for room. */
static void pass_on(int from, int to) {
  char token = 1;
  if (rank == from) MPI_Send(&token, 1, MPI_CHAR, to, kTag + 1, MPI_COMM_WORLD);
  if (rank == to) MPI_Recv(&token, 1, MPI_CHAR, from, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void cancel_at_once(char* data) {
  MPI_Request request;
  MPI_Status status;
  int is_done = 0, is_cancelled = 0;
  MPI_Isend(data, kLarge, MPI_CHAR, 1, kTag, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  /* It has not left, so that it ends without rank 1, which receives nothing before. */
  for (int i = 0; i < 10000 && !is_done; ++i) MPI_Test(&request, &is_done, &status);
  CHECK(is_done);
  MPI_Test_cancelled(&status, &is_cancelled);
  CHECK(is_cancelled);
}

int main(int argc, char** argv) {
  static char data[kLarge];
  MPI_Request broadcasts[2 * kRoom];
  MPI_Comm pair;
  setenv("WEFT_REQUESTS", "64", 1); /* kRoom */
  begin(&argc, &argv);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 2, rank, &pair);
  if (rank == 0) {
    for (int i = 0; i < 2 * kRoom; ++i) MPI_Ibcast(data, kLarge, MPI_CHAR, 0, pair, &broadcasts[i]);
    cancel_at_once(data);
  }
  pass_on(0, 2);
  pass_on(2, 1);
  if (rank == 0) MPI_Waitall(2 * kRoom, broadcasts, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 2 * kRoom && rank == 1; ++i) {
    MPI_Ibcast(data, kLarge, MPI_CHAR, 0, pair, &broadcasts[i]);
    MPI_Wait(&broadcasts[i], MPI_STATUS_IGNORE);
  }
  int found = 0;
  if (rank == 1) MPI_Iprobe(0, kTag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  CHECK(!found);
  MPI_Comm_free(&pair);
  MPI_Finalize();
  return 0;
}
