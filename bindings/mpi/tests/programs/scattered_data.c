/* ranks: 1 2
   Datatypes with gaps: few long pieces, which travel as a list, very many runs, and datatypes that threads
   commit at the same time. Names of the predefined ones. */
#include "check.h"

#include <pthread.h>

static const MPI_Comm world = MPI_COMM_WORLD;
static int other; /* who gets and sends */

/* Blocks of 4 KiB, each behind a gap: received into one, into less room, and by a wildcard. */
static void few_long_pieces(void) {
  enum { kBlocks = 12, kInts = 1024, kStride = 1500 };
  static int memory[kBlocks * kStride], back[kBlocks * kStride], line[kBlocks * kInts];
  MPI_Datatype type;
  MPI_Status status;
  MPI_Request requests[2];
  int count;
  MPI_Type_vector(kBlocks, kInts, kStride, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < kBlocks * kStride; ++i) memory[i] = i ^ 0x5a5a;
  memset(back, 0, sizeof back);
  MPI_Irecv(back, 1, type, MPI_ANY_SOURCE, 3, world, &requests[0]);
  MPI_Isend(memory, 1, type, other, 3, world, &requests[1]);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[0], &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == kBlocks * kInts && status.MPI_SOURCE == other);
  for (int i = 0; i < kBlocks * kStride - (kStride - kInts); ++i)
    CHECK(back[i] == (i % kStride < kInts ? memory[i] : 0));
  /* A part of them, into a list; and the list into one block, sent and received again and again. */
  memset(back, 0, sizeof back);
  MPI_Sendrecv(memory, 2 * kInts + 7, MPI_INT, other, 4, back, 1, type, other, 4, world, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 2 * kInts + 7 && back[kStride] == memory[kInts] &&
        back[2 * kStride + 6] == memory[2 * kInts + 6]);
  CHECK(back[2 * kStride + 7] == 0);
  MPI_Recv_init(line, kBlocks * kInts, MPI_INT, other, 5, world, &requests[0]);
  MPI_Ssend_init(memory, 1, type, other, 5, world, &requests[1]);
  for (int round = 0; round < 3; ++round) {
    memset(line, 0, sizeof line);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kBlocks * kInts; ++i) CHECK(line[i] == memory[i / kInts * kStride + i % kInts]);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  /* A persistent receive of less than there is room for, then of all. */
  MPI_Recv_init(back, 1, type, other, 6, world, &requests[0]);
  for (int round = 0; round < 3; ++round) {
    const int ints = round == 1 ? 5 : kBlocks * kInts;
    MPI_Start(&requests[0]);
    MPI_Send(line, ints, MPI_INT, other, 6, world);
    MPI_Wait(&requests[0], &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == ints);
  }
  MPI_Request_free(&requests[0]);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  MPI_Datatype shorter;
  MPI_Type_vector(3, kInts, kStride, MPI_INT, &shorter);
  MPI_Type_commit(&shorter);
  MPI_Isend(memory, 1, type, other, 7, world, &requests[1]);
  int class = MPI_SUCCESS;
  MPI_Error_class(MPI_Recv(back, 1, shorter, other, 7, world, MPI_STATUS_IGNORE), &class);
  CHECK(class == MPI_ERR_TRUNCATE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&shorter);
  MPI_Type_free(&type);
}

/* A grid of structs with a gap: more runs than are listed, which its parts have then. */
static void very_many_runs(void) {
  enum { kRows = 150, kColumns = 140, kBytes = 12 };
  static unsigned char grid[kRows * kColumns * kBytes], back[sizeof grid];
  static unsigned char packed[kRows * kColumns * 7];
  const int lengths[] = {3, 4}, displacements[] = {0, 5};
  MPI_Datatype cell, resized, row, all;
  MPI_Type_indexed(2, lengths, displacements, MPI_BYTE, &cell);
  MPI_Type_create_resized(cell, 0, kBytes, &resized);
  MPI_Type_vector(kColumns, 1, 1, resized, &row);
  MPI_Type_create_hvector(kRows, 1, kColumns * kBytes, row, &all);
  MPI_Type_commit(&all);
  for (size_t i = 0; i < sizeof grid; ++i) grid[i] = (unsigned char)(i * 31 + i / 255);
  int position = 0, size, elements;
  MPI_Pack(grid, 1, all, packed, sizeof packed, &position, world);
  CHECK(position == (int)sizeof packed);
  for (int i = 0; i < (int)sizeof packed; ++i)
    CHECK(packed[i] == grid[i / 7 * kBytes + (i % 7 < 3 ? i % 7 : i % 7 + 2)]);
  /* Some of it arrives: the rest stays as it was. */
  MPI_Status status;
  memset(back, 0, sizeof back);
  size = 7 * 1000 + 5;
  MPI_Sendrecv(packed, size, MPI_BYTE, other, 8, back, 1, all, other, 8, world, &status);
  MPI_Get_elements(&status, all, &elements);
  CHECK(elements == size);
  for (int i = 0; i < (int)sizeof packed; ++i)
    CHECK(back[i / 7 * kBytes + (i % 7 < 3 ? i % 7 : i % 7 + 2)] == (i < size ? packed[i] : 0));
  MPI_Type_free(&cell);
  MPI_Type_free(&resized);
  MPI_Type_free(&row);
  MPI_Type_free(&all);
}

/* Threads commit datatypes that have a part in common, which nobody has committed. */
static MPI_Datatype in_common;
static void* commit(void* unused) {
  for (int round = 0; round < 50; ++round) {
    MPI_Datatype type;
    char memory[40 * 16], packed[40 * 9];
    int position = 0;
    MPI_Type_contiguous(40, in_common, &type);
    MPI_Type_commit(&type);
    memset(memory, round, sizeof memory);
    MPI_Pack(memory, 1, type, packed, sizeof packed, &position, world);
    CHECK(position == sizeof packed && packed[sizeof packed - 1] == (char)round);
    MPI_Type_free(&type);
  }
  return unused;
}
static void committed_by_threads(void) {
  for (int round = 0; round < 20; ++round) {
    const int lengths[] = {1, 8};
    const MPI_Aint displacements[] = {12, 0};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_CHAR};
    MPI_Datatype fields;
    pthread_t threads[3];
    MPI_Type_create_struct(2, lengths, displacements, types, &fields);
    MPI_Type_create_resized(fields, 0, 16, &in_common);
    for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, commit, NULL);
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
    MPI_Type_free(&fields);
    MPI_Type_free(&in_common);
  }
}

static void names(void) {
  const struct {
    MPI_Datatype type;
    const char* name;
  } rows[] = {{MPI_INT, "MPI_INT"},
              {MPI_UNSIGNED_CHAR, "MPI_UNSIGNED_CHAR"},
              {MPI_UINT64_T, "MPI_UINT64_T"},
              {MPI_AINT, "MPI_AINT"},
              {MPI_DOUBLE, "MPI_DOUBLE"},
              {MPI_LONG_LONG, "MPI_LONG_LONG_INT"},
              {MPI_INTEGER4, "MPI_INTEGER4"},
              {MPI_DOUBLE_INT, "MPI_DOUBLE_INT"},
              {MPI_C_COMPLEX, "MPI_C_COMPLEX"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Type_get_name(rows[i].type, name, &length);
    CHECK(strcmp(name, rows[i].name) == 0 && length == (int)strlen(name));
  }
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  other = (rank + 1) % ranks;
  few_long_pieces();
  very_many_runs();
  committed_by_threads();
  names();
  MPI_Finalize();
  return 0;
}
