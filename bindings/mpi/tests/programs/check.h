/* What the test programs share: a condition that must hold, and the ranks. */
#ifndef WEFT_MPI_TESTS_CHECK_H
#define WEFT_MPI_TESTS_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "rank %d: %s:%d: %s does not hold\n", rank, __FILE__, __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                \
    }                                                                                              \
  } while (0)

static int rank, ranks;

static inline void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

#endif
