/* ranks: 1 2
   Datatypes of every constructor, packed and sent, against element by element copies; their envelopes;
   external32. */
#include "check.h"

#include <stddef.h>

enum { kInts = 400 };

/* Packs by MPI and by hand: `offsets` are the ints that `count` elements have, in order. */
static void check_type(MPI_Datatype type, int count, const int* offsets, int ints) {
  int memory[kInts], back[kInts], packed[kInts], position = 0, size;
  for (int i = 0; i < kInts; ++i) memory[i] = i * 3 + 1;
  MPI_Type_commit(&type);
  MPI_Type_size(type, &size);
  CHECK(size * count == ints * (int)sizeof(int));
  MPI_Pack(memory, count, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
  CHECK(position == ints * (int)sizeof(int));
  for (int i = 0; i < ints; ++i) CHECK(packed[i] == memory[offsets[i]]);
  memset(back, 0, sizeof back);
  position = 0;
  MPI_Unpack(packed, sizeof packed, &position, back, count, type, MPI_COMM_WORLD);
  for (int i = 0; i < ints; ++i) CHECK(back[offsets[i]] == memory[offsets[i]]);
  int touched = 0;
  for (int i = 0; i < kInts; ++i) touched += back[i] != 0;
  CHECK(touched == ints);
  /* The same by a message, from elements to ints and back to elements. */
  MPI_Request request;
  int plain[kInts];
  memset(plain, 0, sizeof plain);
  MPI_Irecv(plain, ints, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
  MPI_Send(memory, count, type, rank, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < ints; ++i) CHECK(plain[i] == memory[offsets[i]]);
  memset(back, 0, sizeof back);
  MPI_Status status;
  MPI_Irecv(back, count, type, rank, 2, MPI_COMM_WORLD, &request);
  MPI_Send(plain, ints, MPI_INT, rank, 2, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  for (int i = 0; i < ints; ++i) CHECK(back[offsets[i]] == plain[i]);
  int elements, got;
  MPI_Get_elements(&status, type, &elements);
  MPI_Get_count(&status, type, &got);
  CHECK(elements == ints && got == count);
  /* External32 has the ints big-endian. */
  unsigned char external[kInts * 4];
  MPI_Aint at = 0, wanted;
  MPI_Pack_external_size("external32", count, type, &wanted);
  MPI_Pack_external("external32", memory, count, type, external, sizeof external, &at);
  CHECK(at == ints * 4 && wanted == at);
  for (int i = 0; i < ints; ++i)
    CHECK(external[4 * i + 3] == (memory[offsets[i]] & 0xff) &&
          external[4 * i + 2] == (memory[offsets[i]] >> 8 & 0xff));
  memset(back, 0, sizeof back);
  at = 0;
  MPI_Unpack_external("external32", external, sizeof external, &at, back, count, type);
  for (int i = 0; i < ints; ++i) CHECK(back[offsets[i]] == memory[offsets[i]]);
}

static void constructors(void) {
  MPI_Datatype type, inner;
  {
    const int offsets[] = {0, 1, 2, 3, 4, 5};
    MPI_Type_contiguous(3, MPI_INT, &type);
    check_type(type, 2, offsets, 6);
    MPI_Type_free(&type);
  }
  {
    const int offsets[] = {0, 1, 5, 6, 10, 11, 12, 13, 17, 18, 22, 23};
    MPI_Type_vector(3, 2, 5, MPI_INT, &type);
    check_type(type, 2, offsets, 12);
    MPI_Type_free(&type);
  }
  {
    const int lengths[] = {2, 0, 1}, displacements[] = {3, 9, 0}, offsets[] = {3, 4, 0, 8, 9, 5};
    MPI_Type_indexed(3, lengths, displacements, MPI_INT, &type);
    check_type(type, 2, offsets, 6);
    int integers, addresses, types, combiner, contents[7];
    MPI_Datatype old;
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    CHECK(integers == 7 && addresses == 0 && types == 1 && combiner == MPI_COMBINER_INDEXED);
    MPI_Type_get_contents(type, 7, 0, 1, contents, NULL, &old);
    CHECK(contents[0] == 3 && contents[1] == 2 && contents[6] == 0 && old == MPI_INT);
    MPI_Type_free(&type);
  }
  {
    const int displacements[] = {6, 2}, offsets[] = {6, 7, 2, 3};
    MPI_Type_create_indexed_block(2, 2, displacements, MPI_INT, &type);
    check_type(type, 1, offsets, 4);
    MPI_Type_free(&type);
  }
  {
    const int lengths[] = {1, 2};
    const MPI_Aint displacements[] = {4 * sizeof(int), 0};
    const int offsets[] = {4, 0, 1};
    const MPI_Datatype types[] = {MPI_INT, MPI_INT};
    MPI_Type_create_struct(2, lengths, displacements, types, &type);
    check_type(type, 1, offsets, 3);
    MPI_Type_free(&type);
  }
  {
    const int sizes[] = {4, 6}, subsizes[] = {2, 3}, starts[] = {1, 2}, offsets[] = {8, 9, 10, 14, 15, 16};
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
    check_type(type, 1, offsets, 6);
    MPI_Aint lb, extent;
    MPI_Type_get_extent(type, &lb, &extent);
    CHECK(lb == 0 && extent == 24 * (MPI_Aint)sizeof(int));
    MPI_Type_free(&type);
    const int fortran[] = {9, 10, 13, 14, 17, 18}, fortran_sub[] = {2, 3}, fortran_starts[] = {1, 2},
              fortran_sizes[] = {4, 6};
    MPI_Type_create_subarray(2, fortran_sizes, fortran_sub, fortran_starts, MPI_ORDER_FORTRAN, MPI_INT,
                             &type);
    check_type(type, 1, fortran, 6);
    MPI_Type_free(&type);
  }
  {
    /* A column of a matrix, as an element whose neighbours are the next columns. */
    const int offsets[] = {0, 4, 8, 1, 5, 9};
    MPI_Type_vector(3, 1, 4, MPI_INT, &inner);
    MPI_Type_create_resized(inner, 0, sizeof(int), &type);
    check_type(type, 2, offsets, 6);
    MPI_Type_free(&inner);
    MPI_Type_free(&type);
  }
  {
    /* 7 elements over 3 processes, cyclically by 2: process 0 has 0, 1 and 6; process 2 has 4 and 5. */
    const int sizes[] = {7}, distributions[] = {MPI_DISTRIBUTE_CYCLIC}, arguments[] = {2}, processes[] = {3};
    const int first[] = {0, 1, 6}, last[] = {4, 5};
    MPI_Type_create_darray(3, 0, 1, sizes, distributions, arguments, processes, MPI_ORDER_C, MPI_INT, &type);
    check_type(type, 1, first, 3);
    MPI_Type_free(&type);
    MPI_Type_create_darray(3, 2, 1, sizes, distributions, arguments, processes, MPI_ORDER_C, MPI_INT, &type);
    check_type(type, 1, last, 2);
    MPI_Type_free(&type);
  }
}

static void bounds(void) {
  struct {
    double value;
    char letter;
  } pair;
  (void)pair;
  const int lengths[] = {1, 1};
  const MPI_Aint displacements[] = {0, 8};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype type;
  MPI_Aint lb, extent, true_lb, true_extent;
  int size;
  MPI_Type_create_struct(2, lengths, displacements, types, &type);
  MPI_Type_get_extent(type, &lb, &extent);
  MPI_Type_get_true_extent(type, &true_lb, &true_extent);
  MPI_Type_size(type, &size);
  CHECK(lb == 0 && extent == (MPI_Aint)sizeof pair && true_extent == 9 && true_lb == 0 && size == 9);
  MPI_Type_free(&type);
  MPI_Type_size(MPI_DOUBLE_INT, &size);
  CHECK(size == 12);
  /* More than an int can count. */
  MPI_Count large;
  MPI_Datatype gigabyte, many;
  MPI_Type_contiguous(1 << 30, MPI_BYTE, &gigabyte);
  MPI_Type_contiguous_c(1 << 20, gigabyte, &many);
  MPI_Type_size_c(many, &large);
  MPI_Type_size(many, &size);
  CHECK(large == (MPI_Count)1 << 50 && size == MPI_UNDEFINED);
  MPI_Type_free(&many);
  MPI_Type_free(&gigabyte);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  constructors();
  bounds();
  MPI_Finalize();
  return 0;
}
