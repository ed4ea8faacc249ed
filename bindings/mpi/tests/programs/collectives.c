/* ranks: 1 2 3 4 5
   Every collective, blocking, immediate and persistent, also in place, of several sizes, and with an
   operation that does not commute, against what each rank can compute by itself. */
#include "check.h"

enum { kMost = 1500 }; /* elements of a rank, at most */
static int sent[16 * kMost], got[16 * kMost], counts[16], places[16];
static MPI_Request request;

/* What rank `r` contributes at index `i`. */
static int value(int r, int i) { return 1000 * r + i; }

static void finish(int form) {
  if (form == 0) return;
  if (form == 2) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Start(&request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (form == 2) MPI_Request_free(&request);
}
/* Calls one of the three forms of a collective and ends it. */
#define CALL(form, name, iname, arguments)                                          \
  do {                                                                              \
    if (form == 0) MPI_##name(ARGUMENTS arguments);                                 \
    if (form == 1) MPI_##iname(ARGUMENTS arguments, &request);                      \
    if (form == 2) MPI_##name##_init(ARGUMENTS arguments, MPI_INFO_NULL, &request); \
    finish(form);                                                                   \
  } while (0)
#define ARGUMENTS(...) __VA_ARGS__

static void fill(int count) {
  for (int i = 0; i < count; ++i) sent[i] = value(rank, i);
  memset(got, 0xff, sizeof got);
}

static void movement(int form, int count) {
  const MPI_Comm world = MPI_COMM_WORLD;
  for (int root = 0; root < ranks; ++root) {
    fill(count);
    if (rank == root) memcpy(got, sent, sizeof(int) * count);
    CALL(form, Bcast, Ibcast, (got, count, MPI_INT, root, world));
    for (int i = 0; i < count; ++i) CHECK(got[i] == value(root, i));

    fill(count);
    CALL(form, Gather, Igather, (sent, count, MPI_INT, got, count, MPI_INT, root, world));
    if (rank == root)
      for (int i = 0; i < count * ranks; ++i) CHECK(got[i] == value(i / count, i % count));

    for (int i = 0; i < count * ranks; ++i) sent[i] = value(root, i);
    memset(got, 0xff, sizeof got);
    CALL(form, Scatter, Iscatter, (sent, count, MPI_INT, got, count, MPI_INT, root, world));
    for (int i = 0; i < count; ++i) CHECK(got[i] == value(root, rank * count + i));

    /* Rank r has count - r elements, and they lie with a gap. */
    for (int r = 0; r < ranks; ++r) {
      counts[r] = count > r ? count - r : 0;
      places[r] = r * (count + 1);
    }
    fill(count);
    CALL(form, Gatherv, Igatherv, (sent, counts[rank], MPI_INT, got, counts, places, MPI_INT, root, world));
    if (rank == root)
      for (int r = 0; r < ranks; ++r) {
        for (int i = 0; i < counts[r]; ++i) CHECK(got[places[r] + i] == value(r, i));
        CHECK(got[places[r] + count] == -1);
      }
    for (int i = 0; i < (count + 1) * ranks; ++i) sent[i] = value(root, i);
    memset(got, 0xff, sizeof got);
    CALL(form, Scatterv, Iscatterv, (sent, counts, places, MPI_INT, got, counts[rank], MPI_INT, root, world));
    for (int i = 0; i < counts[rank]; ++i) CHECK(got[i] == value(root, places[rank] + i));
    CHECK(got[counts[rank]] == -1);
  }
  fill(count);
  CALL(form, Allgather, Iallgather, (sent, count, MPI_INT, got, count, MPI_INT, world));
  for (int i = 0; i < count * ranks; ++i) CHECK(got[i] == value(i / count, i % count));
  memset(got, 0xff, sizeof got);
  memcpy(got + rank * count, sent, sizeof(int) * count);
  CALL(form, Allgather, Iallgather, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, count, MPI_INT, world));
  for (int i = 0; i < count * ranks; ++i) CHECK(got[i] == value(i / count, i % count));
  memset(got, 0xff, sizeof got);
  CALL(form, Allgatherv, Iallgatherv, (sent, counts[rank], MPI_INT, got, counts, places, MPI_INT, world));
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < counts[r]; ++i) CHECK(got[places[r] + i] == value(r, i));

  fill(count * ranks);
  CALL(form, Alltoall, Ialltoall, (sent, count, MPI_INT, got, count, MPI_INT, world));
  for (int i = 0; i < count * ranks; ++i) CHECK(got[i] == value(i / count, rank * count + i % count));
  if (form != 2) { /* in place it can be done once only */
    memcpy(got, sent, sizeof(int) * count * ranks);
    CALL(form, Alltoall, Ialltoall, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, count, MPI_INT, world));
    for (int i = 0; i < count * ranks; ++i) CHECK(got[i] == value(i / count, rank * count + i % count));
  }
  /* To rank r go r + 1 elements. */
  int in_counts[16], in_places[16], out_counts[16], out_places[16];
  MPI_Datatype types[16];
  for (int r = 0; r < ranks; ++r) {
    out_counts[r] = r + 1 < count ? r + 1 : count;
    out_places[r] = r * count;
    in_counts[r] = rank + 1 < count ? rank + 1 : count;
    in_places[r] = r * count;
    types[r] = MPI_INT;
  }
  memset(got, 0xff, sizeof got);
  CALL(form, Alltoallv, Ialltoallv,
       (sent, out_counts, out_places, MPI_INT, got, in_counts, in_places, MPI_INT, world));
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < in_counts[r]; ++i) CHECK(got[r * count + i] == value(r, rank * count + i));
  for (int r = 0; r < ranks; ++r) {
    out_places[r] *= sizeof(int);
    in_places[r] *= sizeof(int);
  }
  memset(got, 0xff, sizeof got);
  CALL(form, Alltoallw, Ialltoallw,
       (sent, out_counts, out_places, types, got, in_counts, in_places, types, world));
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < in_counts[r]; ++i) CHECK(got[r * count + i] == value(r, rank * count + i));
}

static int sum(int first, int last, int i) {
  int total = 0;
  for (int r = first; r <= last; ++r) total += value(r, i);
  return total;
}

static void reductions(int form, int count) {
  const MPI_Comm world = MPI_COMM_WORLD;
  for (int root = 0; root < ranks; ++root) {
    fill(count);
    CALL(form, Reduce, Ireduce, (sent, got, count, MPI_INT, MPI_SUM, root, world));
    if (rank == root)
      for (int i = 0; i < count; ++i) CHECK(got[i] == sum(0, ranks - 1, i));
  }
  fill(count);
  CALL(form, Allreduce, Iallreduce, (sent, got, count, MPI_INT, MPI_SUM, world));
  for (int i = 0; i < count; ++i) CHECK(got[i] == sum(0, ranks - 1, i));
  CALL(form, Allreduce, Iallreduce, (sent, got, count, MPI_INT, MPI_MAX, world));
  for (int i = 0; i < count; ++i) CHECK(got[i] == value(ranks - 1, i));
  if (form != 2) {
    memcpy(got, sent, sizeof(int) * count);
    CALL(form, Allreduce, Iallreduce, (MPI_IN_PLACE, got, count, MPI_INT, MPI_MIN, world));
    for (int i = 0; i < count; ++i) CHECK(got[i] == value(0, i));
  }
  fill(count);
  CALL(form, Scan, Iscan, (sent, got, count, MPI_INT, MPI_SUM, world));
  for (int i = 0; i < count; ++i) CHECK(got[i] == sum(0, rank, i));
  CALL(form, Exscan, Iexscan, (sent, got, count, MPI_INT, MPI_SUM, world));
  if (rank > 0)
    for (int i = 0; i < count; ++i) CHECK(got[i] == sum(0, rank - 1, i));
  fill(count * ranks);
  CALL(form, Reduce_scatter_block, Ireduce_scatter_block, (sent, got, count, MPI_INT, MPI_SUM, world));
  for (int i = 0; i < count; ++i) CHECK(got[i] == sum(0, ranks - 1, rank * count + i));
  int before = 0;
  for (int r = 0; r < ranks; ++r) {
    counts[r] = count > r ? count - r : 0;
    before += r < rank ? counts[r] : 0;
  }
  memset(got, 0xff, sizeof got);
  CALL(form, Reduce_scatter, Ireduce_scatter, (sent, got, counts, MPI_INT, MPI_SUM, world));
  for (int i = 0; i < counts[rank]; ++i) CHECK(got[i] == sum(0, ranks - 1, before + i));
}

/* 2 x 2 matrices modulo a number: their product depends on the order. */
static void multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  unsigned *a = in, *b = inout;
  for (int i = 0; i < *count; ++i, a += 4, b += 4) {
    unsigned p[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                     a[2] * b[1] + a[3] * b[3]};
    for (int k = 0; k < 4; ++k) b[k] = p[k] % 10007;
  }
}
static void matrix_of(int r, unsigned* m) {
  m[0] = r + 2;
  m[1] = 3;
  m[2] = r * r + 1;
  m[3] = 5;
}

static void order(void) {
  MPI_Op op;
  MPI_Datatype matrix;
  unsigned own[4], product[4], expected[4], up_to_own[4] = {1, 0, 0, 1}, before_own[4];
  int one = 1;
  MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Op_create(multiply, 0, &op);
  matrix_of(rank, own);
  matrix_of(ranks - 1, expected);
  for (int r = ranks - 2; r >= 0; --r) {
    unsigned left[4];
    matrix_of(r, left);
    multiply(left, expected, &one, NULL);
  }
  for (int r = rank; r >= 0; --r) {
    unsigned left[4];
    matrix_of(r, left);
    if (r == rank) memcpy(up_to_own, left, sizeof left);
    if (r < rank) multiply(left, up_to_own, &one, NULL);
    if (r == rank - 1) memcpy(before_own, left, sizeof left);
    if (r < rank - 1) multiply(left, before_own, &one, NULL);
  }
  for (int root = 0; root < ranks; ++root) {
    MPI_Reduce(own, product, 1, matrix, op, root, MPI_COMM_WORLD);
    if (rank == root) CHECK(memcmp(product, expected, sizeof product) == 0);
  }
  MPI_Allreduce(own, product, 1, matrix, op, MPI_COMM_WORLD);
  CHECK(memcmp(product, expected, sizeof product) == 0);
  MPI_Scan(own, product, 1, matrix, op, MPI_COMM_WORLD);
  CHECK(memcmp(product, up_to_own, sizeof product) == 0);
  MPI_Exscan(own, product, 1, matrix, op, MPI_COMM_WORLD);
  if (rank > 0) CHECK(memcmp(product, before_own, sizeof product) == 0);
  /* Freed while the operation is under way. */
  MPI_Iallreduce(own, product, 1, matrix, op, MPI_COMM_WORLD, &request);
  MPI_Op_free(&op);
  MPI_Type_free(&matrix);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(memcmp(product, expected, sizeof product) == 0);
}

/* The arrays and handles of a persistent collective are the program's again when it has been made. */
static void kept(void) {
  int own_counts[16], own_places[16];
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  for (int r = 0; r < ranks; ++r) {
    own_counts[r] = 1;
    own_places[r] = r;
  }
  fill(2);
  MPI_Allgatherv_init(sent, 1, pair, got, own_counts, own_places, pair, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &request);
  memset(own_counts, 0x7f, sizeof own_counts);
  memset(own_places, 0x7f, sizeof own_places);
  MPI_Type_free(&pair);
  finish(2);
  for (int i = 0; i < 2 * ranks; ++i) CHECK(got[i] == value(i / 2, i % 2));
  /* And so are those of an immediate one. */
  for (int r = 0; r < ranks; ++r) own_counts[r] = 2;
  fill(2 * ranks);
  MPI_Ireduce_scatter(sent, got, own_counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  memset(own_counts, 0x7f, sizeof own_counts);
  finish(1);
  for (int i = 0; i < 2; ++i) CHECK(got[i] == sum(0, ranks - 1, rank * 2 + i));
}

/* Several at a time, ended in another order than they were begun. */
static void several(void) {
  enum { kMany = 20 };
  MPI_Request requests[kMany];
  int in[kMany], out[kMany];
  for (int i = 0; i < kMany; ++i) {
    in[i] = rank + i;
    MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = kMany - 1; i >= 0; --i) {
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    CHECK(out[i] == ranks * i + ranks * (ranks - 1) / 2);
  }
}

/* A call that is refused on one rank may be made again: the others are still in it. */
static void refused(void) {
  int value = rank, sum = -1;
  MPI_Request again;
  MPI_Comm part;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0) {
    CHECK(MPI_Reduce(&value, &value, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
    CHECK(MPI_Iallreduce(&value, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &again) != MPI_SUCCESS);
    CHECK(MPI_Allreduce_init(&value, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &again) !=
          MPI_SUCCESS);
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, -5, 0, &part) != MPI_SUCCESS);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  CHECK(sum == (rank == 0 ? ranks * (ranks - 1) / 2 : -1));
  MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &again);
  MPI_Wait(&again, MPI_STATUS_IGNORE);
  CHECK(sum == ranks * (ranks - 1) / 2);
  sum = -1;
  MPI_Allreduce_init(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &again);
  MPI_Start(&again);
  MPI_Wait(&again, MPI_STATUS_IGNORE);
  MPI_Request_free(&again);
  CHECK(sum == ranks * (ranks - 1) / 2);
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &part);
  MPI_Comm_free(&part);
}

/* Where a rank has no result, its buffer for it does not count. */
static void no_result(void) {
  int own[16], result = -1;
  for (int r = 0; r < ranks; ++r) {
    own[r] = rank + r;
    counts[r] = r == 0 ? 0 : 1;
  }
  MPI_Exscan(own, rank == 0 ? NULL : &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(rank == 0 ? own[0] == 0 : result == rank * (rank - 1) / 2);
  for (int r = 1; r < ranks; ++r) own[r - 1] = rank + r; /* what goes to rank r */
  MPI_Reduce_scatter(own, rank == 0 ? own : &result, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(rank == 0 ? ranks == 1 || own[0] == 1 : result == ranks * (ranks - 1) / 2 + ranks * rank);
}

/* No receive of the program gets a message of a collective. */
static void apart_from_receives(void) {
  int in = -1, own = rank, all = 0, flag = 0;
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  for (int root = 0; root < ranks; ++root) {
    MPI_Reduce(&own, &all, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    if (rank == root) CHECK(all == ranks * (ranks - 1) / 2);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
  }
  MPI_Send(&own, 1, MPI_INT, rank, 5, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in == rank);
}

/* MPI leaves open what sums of characters are; here they are small integers. */
static void characters(void) {
  const MPI_Datatype types[] = {MPI_CHAR, MPI_CHARACTER};
  for (int i = 0; i < 2; ++i) {
    char own = (char)(rank + 1), largest = 0, all = 0;
    MPI_Allreduce(&own, &largest, 1, types[i], MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&own, &all, 1, types[i], MPI_SUM, MPI_COMM_WORLD);
    CHECK(largest == ranks && all == ranks * (ranks + 1) / 2);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  refused();
  for (int form = 0; form < 3; ++form) {
    for (int count = 1; count <= kMost; count = count * 30 + 1) {
      if ((count + 1) * ranks > 16 * kMost) break;
      movement(form, count);
      reductions(form, count);
    }
    if (form == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (form == 1) MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (form == 2) MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    finish(form);
  }
  order();
  kept();
  several();
  no_result();
  apart_from_receives();
  characters();
  MPI_Finalize();
  return 0;
}
