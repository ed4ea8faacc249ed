/* ranks: 1 2 3 5
   Collectives of vectors that are cut into parts, in place and not; the same bits on all ranks; and
   arguments that do not count on a rank, or move nothing. */
#include "check.h"

enum { kMost = 50021, kVeryMany = 300007 }; /* doubles: some segments, and no power of two */
static double sent[kVeryMany], got[kVeryMany], expected[kMost];
static const MPI_Comm world = MPI_COMM_WORLD;

/* Whole numbers, whose sums are exact in every order. */
static double value(int r, int i) { return (double)((r + 1) * (i % 977 + 1)); }
static double sum_of(int below, int i) {
  double sum = 0;
  for (int r = 0; r < below; ++r) sum += value(r, i);
  return sum;
}
static void fill(int count) {
  for (int i = 0; i < count; ++i) {
    sent[i] = value(rank, i);
    got[i] = -1;
  }
}
#define CHECK_SUMS(below, offset, count)                                                 \
  do {                                                                                   \
    for (int at = 0; at < (count); ++at) CHECK(got[at] == sum_of(below, (offset) + at)); \
  } while (0)

static void reductions(int count) {
  MPI_Request request;
  for (int in_place = 0; in_place < 2; ++in_place) {
    const void* from = in_place ? MPI_IN_PLACE : sent;
#define FILL()                                                       \
  do {                                                               \
    fill(count);                                                     \
    if (in_place) memcpy(got, sent, sizeof(double) * (size_t)count); \
  } while (0)
    FILL();
    MPI_Allreduce(from, got, count, MPI_DOUBLE, MPI_SUM, world);
    CHECK_SUMS(ranks, 0, count);
    FILL();
    MPI_Iallreduce(from, got, count, MPI_DOUBLE, MPI_SUM, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_SUMS(ranks, 0, count);
    for (int root = 0; root < ranks; ++root) {
      FILL();
      MPI_Reduce(rank == root ? from : sent, got, count, MPI_DOUBLE, MPI_SUM, root, world);
      if (rank == root) CHECK_SUMS(ranks, 0, count);
      FILL();
      MPI_Reduce(rank == root ? from : sent, got, count, MPI_DOUBLE, MPI_MAX, root, world);
      if (rank == root)
        for (int i = 0; i < count; ++i) CHECK(got[i] == value(ranks - 1, i));
    }
    FILL();
    MPI_Scan(from, got, count, MPI_DOUBLE, MPI_SUM, world);
    CHECK_SUMS(rank + 1, 0, count);
    FILL();
    MPI_Exscan(from, got, count, MPI_DOUBLE, MPI_SUM, world);
    if (rank > 0) CHECK_SUMS(rank, 0, count);
    const int block = count / ranks;
    FILL();
    MPI_Reduce_scatter_block(from, got, block, MPI_DOUBLE, MPI_SUM, world);
    CHECK_SUMS(ranks, rank * block, block);
    int counts[16], own = 0;
    for (int r = 0; r < ranks; ++r) counts[r] = r == ranks - 1 ? count - block * r : block;
    own = counts[rank];
    FILL();
    MPI_Reduce_scatter(from, got, counts, MPI_DOUBLE, MPI_SUM, world);
    CHECK_SUMS(ranks, rank * block, own);
  }
}

/* So many that they are combined block by block. */
static void very_many(void) {
  int counts[16], of_own = 0, block = kVeryMany / ranks, own;
  for (int r = 0; r < ranks; ++r) counts[r] = r == 1 ? 0 : r == 0 ? kVeryMany - block * (ranks - 1) : block;
  for (int r = 0; r < rank; ++r) of_own += counts[r];
  own = counts[rank];
  for (int in_place = 0; in_place < 2; ++in_place) {
    const void* from = in_place ? MPI_IN_PLACE : sent;
    MPI_Request request;
    const int count = kVeryMany;
    FILL();
    MPI_Reduce_scatter_block(from, got, block, MPI_DOUBLE, MPI_SUM, world);
    CHECK_SUMS(ranks, rank * block, block);
    FILL();
    MPI_Ireduce_scatter(from, got, counts, MPI_DOUBLE, MPI_SUM, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_SUMS(ranks, of_own, own);
  }
}

static void gathered(int count) {
  const int block = count / ranks;
  int counts[16], places[16];
  for (int r = 0; r < ranks; ++r) {
    counts[r] = r == 1 ? 0 : block;
    places[r] = r * block;
  }
  fill(count);
  MPI_Allgather(sent, block, MPI_DOUBLE, got, block, MPI_DOUBLE, world);
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < block; ++i) CHECK(got[r * block + i] == value(r, i));
  fill(count);
  MPI_Allgatherv(sent, counts[rank], MPI_DOUBLE, got, counts, places, MPI_DOUBLE, world);
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < counts[r]; ++i) CHECK(got[r * block + i] == value(r, i));
}

/* Rounding differs with the order of a sum: whatever it is, all ranks have the same one. */
static void same_bits(int count) {
  for (int i = 0; i < count; ++i) sent[i] = 1.0 / (rank * 7919 + i % 1013 + 1);
  MPI_Allreduce(sent, got, count, MPI_DOUBLE, MPI_SUM, world);
  memcpy(expected, got, sizeof(double) * (size_t)count);
  MPI_Bcast(expected, count, MPI_DOUBLE, 0, world);
  CHECK(memcmp(expected, got, sizeof(double) * (size_t)count) == 0);
}

/* An operation that does not commute, on vectors that may not be cut: (a, b) o (c, d) = (a * c, a * d + b).
 */
typedef struct {
  long factor, offset;
} Step;
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  const Step* first = in;
  Step* second = inout;
  (void)type;
  for (int i = 0; i < *count; ++i)
    second[i] =
        (Step){first[i].factor * second[i].factor, first[i].factor * second[i].offset + first[i].offset};
}
static void steps_in_order(void) {
  enum { kSteps = 3000 };
  static Step own[kSteps], all[kSteps];
  MPI_Datatype type;
  MPI_Op op;
  MPI_Type_contiguous(2, MPI_LONG, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(compose, 0, &op);
  Step expected_step = {1, 0};
  for (int r = 0; r < ranks; ++r) {
    const Step next = {r + 2, r + 1};
    expected_step =
        (Step){expected_step.factor * next.factor, expected_step.factor * next.offset + expected_step.offset};
  }
  for (int i = 0; i < kSteps; ++i) own[i] = (Step){rank + 2, rank + 1};
  MPI_Allreduce(own, all, kSteps, type, op, world);
  for (int i = 0; i < kSteps; ++i) CHECK(memcmp(&all[i], &expected_step, sizeof(Step)) == 0);
  for (int root = 0; root < ranks; ++root) {
    memset(all, 0, sizeof all);
    MPI_Reduce(own, all, kSteps, type, op, root, world);
    if (rank == root) CHECK(memcmp(&all[kSteps - 1], &expected_step, sizeof(Step)) == 0);
  }
  MPI_Scan(own, all, kSteps, type, op, world);
  if (rank == ranks - 1) CHECK(memcmp(&all[kSteps - 1], &expected_step, sizeof(Step)) == 0);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
}

static void add_backwards(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((long*)inout)[-i] += ((long*)in)[-i];
}
/* Pairs that C pads, and elements that lie backwards: memory of the library's own is large enough. */
static void padded_and_backwards(void) {
  struct {
    long double value;
    int index;
  } own[3], best[3];
  memset(own, 0, sizeof own);
  for (int i = 0; i < 3; ++i) {
    own[i].value = i == 1 ? -rank : rank;
    own[i].index = rank;
  }
  MPI_Allreduce(own, best, 3, MPI_LONG_DOUBLE_INT, MPI_MINLOC, world);
  CHECK(best[0].value == 0 && best[0].index == 0);
  CHECK(best[1].value == 1 - ranks && best[1].index == ranks - 1);
  /* A user's operation sees numbers from the last one down. */
  MPI_Datatype backwards;
  MPI_Op op;
  MPI_Type_create_resized(MPI_LONG, 0, -(MPI_Aint)sizeof(long), &backwards);
  MPI_Type_commit(&backwards);
  MPI_Op_create(add_backwards, 1, &op);
  long line[100], result[100];
  for (int i = 0; i < 100; ++i) line[i] = rank + i;
  MPI_Allreduce(line + 99, result + 99, 100, backwards, op, world);
  for (int i = 0; i < 100; ++i) CHECK(result[i] == ranks * i + ranks * (ranks - 1) / 2);
  MPI_Op_free(&op);
  MPI_Type_free(&backwards);
}

/* What is of no account is not looked at, and what moves nothing has no message. */
static void arguments_that_do_not_count(void) {
  static int out[16], in[16];
  int zeros[16], ones[16], places[16];
  MPI_Datatype empty, empties[16], ints[16];
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  for (int r = 0; r < ranks; ++r) {
    zeros[r] = places[r] = 0;
    ones[r] = 1;
    empties[r] = empty;
    ints[r] = MPI_INT;
    in[r] = rank;
  }
  MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, in, 1, MPI_INT, world);
  for (int r = 0; r < ranks; ++r) CHECK(in[r] == r);
  MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, in, 1, MPI_INT, world);
  for (int r = 0; r < ranks; ++r) CHECK(in[r] == r);
  out[0] = rank;
  if (rank == 0)
    MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 0, world);
  else
    MPI_Gather(out, 1, MPI_INT, NULL, -1, MPI_DATATYPE_NULL, 0, world);
  if (rank == 0)
    MPI_Scatter(in, 1, MPI_INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, 0, world);
  else
    MPI_Scatter(NULL, -1, MPI_DATATYPE_NULL, out, 1, MPI_INT, 0, world);
  CHECK(out[0] == rank);
  MPI_Alltoallw(out, ones, places, empties, in, zeros, places, ints, world);
  MPI_Alltoallw(out, zeros, places, ints, in, ones, places, empties, world);
  MPI_Alltoallv(out, ones, places, empty, in, zeros, places, MPI_INT, world);
  MPI_Type_free(&empty);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int sizes[] = {1, 100, 3001, kMost};
  for (int i = 0; i < 4; ++i) {
    reductions(sizes[i] < ranks ? ranks : sizes[i]);
    gathered(sizes[i] < ranks ? ranks : sizes[i]);
    same_bits(sizes[i]);
  }
  very_many();
  steps_in_order();
  padded_and_backwards();
  arguments_that_do_not_count();
  MPI_Finalize();
  return 0;
}
