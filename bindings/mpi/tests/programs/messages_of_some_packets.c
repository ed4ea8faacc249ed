/* ranks: 2 3
   Collectives whose messages are somewhat longer than a packet, which travel in pieces between hosts: of each
   length around the ends of what is cut, with datatypes that differ between the ranks, and below addresses
   that begin at MPI_BOTTOM. */
#include "check.h"

#include <stdint.h>

enum { kMost = 82000, kMostRanks = 3 };
static unsigned char sent[kMostRanks * kMost], got[kMostRanks * 2 * kMost];
static const MPI_Comm world = MPI_COMM_WORLD;

static unsigned char value(int of, int to, int at) { return (unsigned char)(31 * of + 7 * to + at % 251); }

/* Bytes of which every other one counts. */
static MPI_Datatype every_other(int bytes) {
  MPI_Datatype strided, whole;
  MPI_Type_vector(bytes, 1, 2, MPI_BYTE, &strided);
  MPI_Type_create_resized(strided, 0, 2 * bytes, &whole);
  MPI_Type_commit(&whole);
  MPI_Type_free(&strided);
  return whole;
}
static void check_bytes(const unsigned char* bytes, int step, int of, int to, int length) {
  for (int at = 0; at < length; ++at) CHECK(bytes[at * step] == value(of, to, at));
}
static void fill(int to, int length) {
  for (int at = 0; at < length; ++at) sent[to * length + at] = value(rank, to, at);
}

static void broadcasts(int length, MPI_Datatype strided) {
  MPI_Request request;
  for (int root = 0; root < ranks; ++root) {
    memset(got, 0, (size_t)(2 * length));
    if (rank == root)
      for (int at = 0; at < length; ++at) got[at] = value(root, 0, at);
    MPI_Bcast(got, rank == root ? length : 1, rank == root ? MPI_BYTE : strided, root, world);
    check_bytes(got, rank == root ? 1 : 2, root, 0, length);
    memset(got, 0, (size_t)(2 * length));
    if (rank == root)
      for (int at = 0; at < length; ++at) got[2 * at] = value(root, 1, at);
    MPI_Ibcast(got, rank == root ? 1 : length, rank == root ? strided : MPI_BYTE, root, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_bytes(got, rank == root ? 2 : 1, root, 1, length);
  }
}

static void at_absolute_addresses(int length) {
  MPI_Aint address;
  MPI_Datatype there;
  MPI_Get_address(got, &address);
  MPI_Type_create_hvector(length, 1, 2, MPI_BYTE, &there);
  MPI_Datatype absolute;
  const int one = 1;
  MPI_Type_create_hindexed(1, &one, &address, there, &absolute);
  MPI_Type_commit(&absolute);
  memset(got, 0, (size_t)(2 * length));
  if (rank == 0)
    for (int at = 0; at < length; ++at) got[2 * at] = value(0, 2, at);
  MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, world);
  check_bytes(got, 2, 0, 2, length);
  MPI_Type_free(&absolute);
  MPI_Type_free(&there);
}

static void blocks(int length, MPI_Datatype strided) {
  for (int to = 0; to < ranks; ++to) fill(to, length);
  MPI_Alltoall(sent, length, MPI_BYTE, got, 1, strided, world);
  for (int from = 0; from < ranks; ++from) check_bytes(got + from * 2 * length, 2, from, rank, length);
  memset(got, 0, sizeof got);
  MPI_Allgather(sent, length, MPI_BYTE, got, 1, strided, world);
  for (int from = 0; from < ranks; ++from) check_bytes(got + from * 2 * length, 2, from, 0, length);
  for (int root = 0; root < ranks; ++root) {
    memset(got, 0, sizeof got);
    MPI_Gather(sent, length, MPI_BYTE, got, 1, strided, root, world);
    for (int from = 0; rank == root && from < ranks; ++from)
      check_bytes(got + from * 2 * length, 2, from, 0, length);
    memset(got, 0, sizeof got);
    MPI_Scatter(sent, length, MPI_BYTE, got, 1, strided, root, world);
    check_bytes(got, 2, root, rank, length);
  }
}

/* An operation of the program's own, whose vectors are not cut otherwise. */
static void add(void* in, void* in_out, int* count, MPI_Datatype* type) {
  (void)type;
  for (int at = 0; at < *count; ++at) ((uint16_t*)in_out)[at] += ((const uint16_t*)in)[at];
}
static void reductions(int count, MPI_Op own) {
  uint16_t* const from = (uint16_t*)(void*)sent;
  uint16_t* const to = (uint16_t*)(void*)got;
  const MPI_Op operations[] = {MPI_SUM, own};
  for (int which = 0; which < 2; ++which) {
    for (int at = 0; at < count; ++at) from[at] = (uint16_t)(at * (rank + 1));
    MPI_Allreduce(from, to, count, MPI_UINT16_T, operations[which], world);
    for (int at = 0; at < count; ++at) CHECK(to[at] == (uint16_t)(at * (ranks * (ranks + 1) / 2)));
    MPI_Reduce(from, to, count, MPI_UINT16_T, operations[which], ranks - 1, world);
    for (int at = 0; rank == ranks - 1 && at < count; ++at)
      CHECK(to[at] == (uint16_t)(at * (ranks * (ranks + 1) / 2)));
    MPI_Scan(from, to, count, MPI_UINT16_T, operations[which], world);
    for (int at = 0; at < count; ++at) CHECK(to[at] == (uint16_t)(at * ((rank + 1) * (rank + 2) / 2)));
  }
}

int main(int argc, char** argv) {
  static const int lengths[] = {32768, 32769, 32829, 49149, 49150, 65536, 65537, 81915, 81916, 82000};
  MPI_Op own;
  begin(&argc, &argv);
  MPI_Op_create(add, 0, &own);
  for (size_t which = 0; which < sizeof lengths / sizeof *lengths; ++which) {
    MPI_Datatype strided = every_other(lengths[which]);
    broadcasts(lengths[which], strided);
    at_absolute_addresses(lengths[which]);
    blocks(lengths[which], strided);
    reductions(lengths[which] / 2, own);
    MPI_Type_free(&strided);
  }
  MPI_Op_free(&own);
  MPI_Finalize();
  return 0;
}
