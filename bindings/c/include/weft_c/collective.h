/* Operations in which all ranks of a job, or of a team, take part. */
#ifndef WEFT_C_COLLECTIVE_H
#define WEFT_C_COLLECTIVE_H

#include <weft_c/base.h>
#include <weft_c/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_collective_options {
  size_t size;        /* sizeof(weft_collective_options) */
  int64_t timeout_ns; /* the longest time that a call may wait, the same on all ranks; 0: any */
  /* Keeps the messages of several apart: the same on all ranks, below 2^24; 0: 255, which one may have. */
  uint32_t key;
  uint32_t reserved;
  const weft_team*
      team; /* whose members have the collective, and whose ranks its roots and blocks are; null: all ranks */
} weft_collective_options;

/* Made by all members, over endpoints of devices of the same index. One thread at a time uses it, and all
 * ranks call its operations in the same order. The endpoint outlives it. */
WEFT_C_API weft_result weft_collective_create(weft_runtime* runtime, weft_endpoint* endpoint,
                                              const weft_collective_options* options,
                                              weft_collective** collective);
WEFT_C_API weft_result weft_collective_destroy(weft_collective* collective);
/* The rank of the caller in the team, and the number of members. */
WEFT_C_API int weft_collective_rank(const weft_collective* collective);
WEFT_C_API int weft_collective_size(const weft_collective* collective);

typedef enum weft_reduction_operation {
  WEFT_SUM = 0,
  WEFT_PRODUCT = 1,
  WEFT_MIN = 2,
  WEFT_MAX = 3,
  WEFT_BIT_AND = 4, /* from here on: of integers only */
  WEFT_BIT_OR = 5,
  WEFT_BIT_XOR = 6
} weft_reduction_operation;

/* An operator of the program: to[i] = to[i] op from[i] for `count` elements. Associative and the same on all
 * ranks, and commutative unless it is said otherwise; must not wait. Any thread that progresses may call it.
 */
typedef void (*weft_combine)(void* to, const void* from, size_t count, void* context);

typedef struct weft_reduction {
  size_t size; /* sizeof(weft_reduction) */
  /* Null: `type` and `operation` are used. */
  weft_combine combine;
  void* context;
  size_t element_size; /* bytes, with `combine` */
  uint32_t type;       /* weft_type */
  uint32_t operation;  /* weft_reduction_operation */
  uint32_t in_order;   /* other than 0, on all ranks: elements are combined in the order of ranks; `combine`
                          need not commute */
  uint32_t reserved;
} weft_reduction;

/* They wait, and return WEFT_OK, WEFT_PEER_FAILED or WEFT_TIMED_OUT. Sizes are bytes, the same on all ranks;
 * reductions count elements. `from` and `to` are the same or do not overlap; where blocks are gathered, the
 * own block of `to` may be `from`. */
WEFT_C_API weft_result weft_collective_barrier(weft_collective* collective);
WEFT_C_API weft_result weft_broadcast(weft_collective* collective, void* data, size_t size, int root);
WEFT_C_API weft_result weft_reduce(weft_collective* collective, const void* from, void* to, size_t count,
                                   const weft_reduction* reduction, int root);
WEFT_C_API weft_result weft_allreduce(weft_collective* collective, const void* from, void* to, size_t count,
                                      const weft_reduction* reduction);
WEFT_C_API weft_result weft_inclusive_scan(weft_collective* collective, const void* from, void* to,
                                           size_t count, const weft_reduction* reduction);
WEFT_C_API weft_result weft_exclusive_scan(weft_collective* collective, const void* from, void* to,
                                           size_t count, const weft_reduction* reduction);
/* `count` elements for each rank: `from` has weft_collective_size() times as many. */
WEFT_C_API weft_result weft_reduce_scatter(weft_collective* collective, const void* from, void* to,
                                           size_t count, const weft_reduction* reduction);
/* `size` bytes of each rank. */
WEFT_C_API weft_result weft_gather(weft_collective* collective, const void* from, void* to, size_t size,
                                   int root);
WEFT_C_API weft_result weft_scatter(weft_collective* collective, const void* from, void* to, size_t size,
                                    int root);
WEFT_C_API weft_result weft_allgather(weft_collective* collective, const void* from, void* to, size_t size);
WEFT_C_API weft_result weft_alltoall(weft_collective* collective, const void* from, void* to, size_t size);

/* Any collective, by arguments that the program has at run time: those with blocks of different lengths, and
 * with neighbours, which the functions above do not have; and all of them posted, or made once and started
 * again. */
typedef enum weft_collective_kind {
  WEFT_COLLECTIVE_BARRIER = 0,
  WEFT_COLLECTIVE_BROADCAST = 1, /* its buffer is `to` */
  WEFT_COLLECTIVE_REDUCE = 2,
  WEFT_COLLECTIVE_ALLREDUCE = 3,
  WEFT_COLLECTIVE_GATHER = 4,
  WEFT_COLLECTIVE_SCATTER = 5,
  WEFT_COLLECTIVE_ALLGATHER = 6,
  WEFT_COLLECTIVE_ALLTOALL = 7,
  WEFT_COLLECTIVE_REDUCE_SCATTER = 8,
  WEFT_COLLECTIVE_INCLUSIVE_SCAN = 9,
  WEFT_COLLECTIVE_EXCLUSIVE_SCAN = 10,
  WEFT_COLLECTIVE_NEIGHBOR_ALLGATHER = 11,
  WEFT_COLLECTIVE_NEIGHBOR_ALLTOALL = 12
} weft_collective_kind;

typedef struct weft_collective_arguments {
  size_t size;   /* sizeof(weft_collective_arguments) */
  uint32_t kind; /* weft_collective_kind */
  int32_t root;
  const void* from;
  void* to;
  size_t element_size; /* bytes; 0: 1; of reductions: that of the reduction */
  size_t count;        /* elements of `from`: of all blocks, and of what lies between them */
  size_t to_count;     /* elements of `to` */
  const weft_reduction* reduction;
  /* Other than 0: blocks have lengths of their own, on all ranks. The arrays below have one entry for each
   * member of the team, for neighbours one for each source (to) and each destination (from). */
  uint32_t has_counts;
  uint32_t reserved;
  const size_t* from_counts; /* elements of each block; null where the collective does not need them */
  const size_t* to_counts;
  const size_t*
      from_displacements; /* the element at which each block begins; null: behind the one before it */
  const size_t* to_displacements;
  /* Of exchanges with neighbours: their ranks in the team. */
  const int* sources;
  size_t source_count;
  const int* destinations;
  size_t destination_count;
} weft_collective_arguments;

/* Waits, as the functions above do. */
WEFT_C_API weft_result weft_collective_run(weft_collective* collective,
                                           const weft_collective_arguments* arguments);
/* Begins it, and never blocks: any number may be under way, and any thread that progresses the device carries
 * them on. Buffers are borrowed until the end. `completion` is signalled with WEFT_GRAPH and the outcome;
 * null: see weft_collective_wait(). */
WEFT_C_API weft_result weft_collective_post(weft_collective* collective,
                                            const weft_collective_arguments* arguments,
                                            weft_completion* completion, void* user_data);
/* Until all that were posted before have ended. */
WEFT_C_API weft_result weft_collective_wait(weft_collective* collective);

/* A collective that is made once and started any number of times, without allocation; it borrows its buffers.
 */
typedef struct weft_collective_operation weft_collective_operation;
WEFT_C_API weft_result weft_collective_operation_create(weft_collective* collective,
                                                        const weft_collective_arguments* arguments,
                                                        weft_collective_operation** operation);
/* It has ended, or was never started. */
WEFT_C_API weft_result weft_collective_operation_destroy(weft_collective_operation* operation);
WEFT_C_API weft_result weft_collective_operation_start(weft_collective_operation* operation);
/* 1: it has ended; 0: not yet. Does not progress. */
WEFT_C_API int weft_collective_operation_test(weft_collective_operation* operation);
WEFT_C_API weft_result weft_collective_operation_wait(weft_collective_operation* operation);

#ifdef __cplusplus
}
#endif

#endif
