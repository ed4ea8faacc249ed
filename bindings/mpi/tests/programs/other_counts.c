/* ranks: 2 5 (not checked, since it is wrong)
   One rank passes another count than the others. Every collective ends on all ranks, at least one of them is
   told, and all of them are where each needs what all have. The communicator can be used again. */
#include "check.h"

#include <stdlib.h>

enum { kMost = 750000, kMostRanks = 5 };

static int *sent, *received;
static MPI_Datatype element = MPI_INT;

typedef int Collective(int count, int root);

static int broadcast(int count, int root) {
  return MPI_Bcast(received, count, element, root, MPI_COMM_WORLD);
}
static int reduce(int count, int root) {
  return MPI_Reduce(sent, received, count, element, MPI_SUM, root, MPI_COMM_WORLD);
}
static int gather(int count, int root) {
  return MPI_Gather(sent, count, element, received, count, element, root, MPI_COMM_WORLD);
}
static int scatter(int count, int root) {
  return MPI_Scatter(sent, count, element, received, count, element, root, MPI_COMM_WORLD);
}
static int all_reduce(int count, int root) {
  (void)root;
  return MPI_Allreduce(sent, received, count, element, MPI_SUM, MPI_COMM_WORLD);
}
static int all_reduce_later(int count, int root) {
  (void)root;
  MPI_Request request;
  const int error = MPI_Iallreduce(sent, received, count, element, MPI_SUM, MPI_COMM_WORLD, &request);
  return error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static int all_reduce_in_place(int count, int root) {
  (void)root;
  return MPI_Allreduce(MPI_IN_PLACE, received, count, element, MPI_MAX, MPI_COMM_WORLD);
}
static int all_gather(int count, int root) {
  (void)root;
  return MPI_Allgather(sent, count, element, received, count, element, MPI_COMM_WORLD);
}
static int all_to_all(int count, int root) {
  (void)root;
  return MPI_Alltoall(sent, count, element, received, count, element, MPI_COMM_WORLD);
}
static int reduce_scatter(int count, int root) {
  (void)root;
  return MPI_Reduce_scatter_block(sent, received, count, element, MPI_SUM, MPI_COMM_WORLD);
}
static int scan(int count, int root) {
  (void)root;
  return MPI_Scan(sent, received, count, element, MPI_SUM, MPI_COMM_WORLD);
}

/* The rank with another count, and those that need something of it, are told at least: `all` of them where
   each needs what every rank has. */
static const struct {
  const char* name;
  Collective* call;
  int all;
} collectives[] = {
    {"Bcast", broadcast, 0},
    {"Reduce", reduce, 0},
    {"Gather", gather, 0},
    {"Scatter", scatter, 0},
    {"Scan", scan, 0},
    {"Allreduce", all_reduce, 1},
    {"Iallreduce", all_reduce_later, 1},
    {"Allreduce in place", all_reduce_in_place, 1},
    {"Allgather", all_gather, 1},
    {"Alltoall", all_to_all, 1},
    {"Reduce_scatter_block", reduce_scatter, 1},
};

static const struct {
  int most, other;
} counts[] = {{10, 1},        {10, 20},         {10, 0},        {0, 10},       {2048, 4096},   {4096, 2048},
              {1000, 40000},  {40000, 1000},    {20000, 40000}, {40000, 8192}, {8192, 40000},  {32768, 40000},
              {4097, 4096},   {40000, 0},       {8192, 12000},  {12000, 8192}, {12000, 18000}, {18000, 12000},
              {18000, 18001}, {150000, 120000}, {1000, 150000}, {150000, 1000}};

/* Over TCP longer messages travel in pieces, of which the first one has 16381 or 16379 bytes. */
static const struct {
  int most, other;
} bytes[] = {{16381, 40000}, {40000, 16381}, {16379, 70000}, {70000, 16379},
             {16379, 40000}, {40000, 16379}, {16381, 16379}, {16381, 70000}};

static void check_errors(int which, int most, int other, int error) {
  int error_class = MPI_SUCCESS, told[kMostRanks], number = 0;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &error_class);
  CHECK(error_class == MPI_SUCCESS || error_class == MPI_ERR_COUNT || error_class == MPI_ERR_TRUNCATE);
  const int is_told = error != MPI_SUCCESS;
  CHECK(MPI_Allgather(&is_told, 1, MPI_INT, told, 1, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS);
  for (int of = 0; of < ranks; ++of) number += told[of];
  const int all = collectives[which].all;
  if (number >= (all ? ranks : 1)) return;
  if (rank == 0)
    fprintf(stderr, "MPI_%s with counts %d and %d: %d ranks are told\n", collectives[which].name, most, other,
            number);
  CHECK(number >= (all ? ranks : 1));
}

/* Started again after it has failed it fails again, on all ranks. */
static void persistent(void) {
  MPI_Request request;
  CHECK(MPI_Allreduce_init(sent, received, rank == 0 ? 10 : 11, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &request) == MPI_SUCCESS);
  for (int start = 0; start < 3; ++start) {
    CHECK(MPI_Start(&request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  }
  MPI_Request_free(&request);
}

static void between_groups(void) {
  MPI_Comm half, other_half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &other_half);
  MPI_Comm_set_errhandler(other_half, MPI_ERRORS_RETURN);
  CHECK(MPI_Allreduce(sent, received, rank == 0 ? 10 : 11, MPI_INT, MPI_SUM, other_half) != MPI_SUCCESS);
  CHECK(MPI_Allgather(sent, rank % 2 + 1, MPI_INT, received, 3 - rank % 2, MPI_INT, other_half) !=
        MPI_SUCCESS);
  CHECK(MPI_Barrier(other_half) == MPI_SUCCESS);
  MPI_Comm_free(&other_half);
  MPI_Comm_free(&half);
}

/* The root is not told, and goes on: what the others say to each other must not take its room for ever. */
static void many_failures(int is_immediate) {
  const int count = rank == 0 ? 10 : 20;
  for (int round = 0; round < 6000; ++round) {
    MPI_Request request;
    int error;
    if (is_immediate) {
      MPI_Ibcast(received, count, MPI_INT, 0, MPI_COMM_WORLD, &request);
      error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      error = MPI_Bcast(received, count, MPI_INT, 0, MPI_COMM_WORLD);
    }
    CHECK((error != MPI_SUCCESS) == (rank != 0));
    if (round % 500 == 0) CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
  }
}

/* Rank 0 sends itself another number than it expects of itself: it is told, and so are others that get the
   same from it. */
static void own_blocks(void) {
  const MPI_Comm all = MPI_COMM_WORLD;
  const int is_wrong = rank == 0, own = 10 + is_wrong;
  int zeros[kMostRanks] = {0}, out[kMostRanks] = {0}, in[kMostRanks] = {0}, error;
  CHECK(MPI_Allgather(sent, own, MPI_INT, received, 10, MPI_INT, all) != MPI_SUCCESS);
  error = MPI_Gather(sent, own, MPI_INT, received, 10, MPI_INT, 0, all);
  CHECK((error != MPI_SUCCESS) == is_wrong);
  error = MPI_Scatter(sent, 10, MPI_INT, received, own, MPI_INT, 0, all);
  CHECK((error != MPI_SUCCESS) == is_wrong);
  out[rank] = 10;
  in[rank] = own;
  error = MPI_Alltoallv(sent, out, zeros, MPI_INT, received, in, zeros, MPI_INT, all);
  CHECK((error != MPI_SUCCESS) == is_wrong);
}

/* Each neighbour is told of what comes with another length; also where one rank says 0. */
static void neighbours(void) {
  static const int pairs[][2] = {{10, 1}, {1, 10}, {10, 0}, {0, 10}, {20000, 0}, {0, 20000}};
  const int periodic = 1;
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
  for (int which = 0; which < 12; ++which) {
    const int count = pairs[which / 2][rank == 0], is_next = rank <= 1 || rank == ranks - 1;
    const int error = which % 2 == 0
                          ? MPI_Neighbor_alltoall(sent, count, MPI_INT, received, count, MPI_INT, ring)
                          : MPI_Neighbor_allgather(sent, count, MPI_INT, received, count, MPI_INT, ring);
    CHECK((error != MPI_SUCCESS) == is_next);
  }
  CHECK(MPI_Barrier(ring) == MPI_SUCCESS);
  MPI_Comm_free(&ring);
}

int main(int argc, char** argv) {
  setenv("WEFT_UNEXPECTED_CREDITS", "4096", 1); /* fewer than many_failures() takes */
  setenv("WEFT_REQUESTS", "64", 1);
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  sent = calloc(kMost, sizeof *sent);
  received = calloc(kMost, sizeof *received);
  for (int which = 0; which < (int)(sizeof collectives / sizeof *collectives); ++which)
    for (int pair = 0; pair < (int)(sizeof counts / sizeof *counts); ++pair) {
      const int other = (which + pair) % ranks, root = (other + 1 + pair % (ranks - 1)) % ranks;
      check_errors(which, counts[pair].most, counts[pair].other,
                   collectives[which].call(rank == other ? counts[pair].other : counts[pair].most, root));
    }
  element = MPI_SIGNED_CHAR;
  for (int which = 0; which < (int)(sizeof collectives / sizeof *collectives); ++which)
    for (int pair = 0; pair < (int)(sizeof bytes / sizeof *bytes); ++pair) {
      const int other = (which + pair) % ranks, root = (other + 1 + pair % (ranks - 1)) % ranks;
      check_errors(which, bytes[pair].most, bytes[pair].other,
                   collectives[which].call(rank == other ? bytes[pair].other : bytes[pair].most, root));
    }
  element = MPI_INT;
  persistent();
  between_groups();
  own_blocks();
  neighbours();
  many_failures(0);
  many_failures(1);
  int sum = 0;
  CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(sum == ranks * (ranks - 1) / 2);
  free(sent);
  free(received);
  MPI_Finalize();
  return 0;
}
