/* Operations in which all ranks of a job take part. */
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
} weft_collective_options;

/* Made by all ranks, over endpoints of devices of the same index. One thread at a time uses it, and all ranks call its
 * operations in the same order. The endpoint outlives it. */
WEFT_C_API weft_result weft_collective_create(weft_runtime* runtime, weft_endpoint* endpoint,
                                              const weft_collective_options* options, weft_collective** collective);
WEFT_C_API void weft_collective_destroy(weft_collective* collective);

typedef enum weft_reduction_operation {
  WEFT_SUM = 0,
  WEFT_PRODUCT = 1,
  WEFT_MIN = 2,
  WEFT_MAX = 3,
  WEFT_BIT_AND = 4, /* from here on: of integers only */
  WEFT_BIT_OR = 5,
  WEFT_BIT_XOR = 6
} weft_reduction_operation;

/* An operator of the program: to[i] = to[i] op from[i] for `count` elements. Associative, commutative and the same on all
 * ranks; must not wait. Any thread that progresses may call it. */
typedef void (*weft_combine)(void* to, const void* from, size_t count, void* context);

typedef struct weft_reduction {
  size_t size;         /* sizeof(weft_reduction) */
  /* Null: `type` and `operation` are used. */
  weft_combine combine;
  void* context;
  size_t element_size; /* bytes, with `combine` */
  uint32_t type;       /* weft_type */
  uint32_t operation;  /* weft_reduction_operation */
} weft_reduction;

/* They wait, and return WEFT_OK, WEFT_PEER_FAILED or WEFT_TIMED_OUT. Sizes are bytes, the same on all ranks; reductions count elements.
 * `from` and `to` are the same or do not overlap; where blocks are gathered, the own block of `to` may be `from`. */
WEFT_C_API weft_result weft_collective_barrier(weft_collective* collective);
WEFT_C_API weft_result weft_broadcast(weft_collective* collective, void* data, size_t size, int root);
WEFT_C_API weft_result weft_reduce(weft_collective* collective, const void* from, void* to, size_t count,
                                   const weft_reduction* reduction, int root);
WEFT_C_API weft_result weft_allreduce(weft_collective* collective, const void* from, void* to, size_t count,
                                      const weft_reduction* reduction);
WEFT_C_API weft_result weft_inclusive_scan(weft_collective* collective, const void* from, void* to, size_t count,
                                           const weft_reduction* reduction);
WEFT_C_API weft_result weft_exclusive_scan(weft_collective* collective, const void* from, void* to, size_t count,
                                           const weft_reduction* reduction);
/* `count` elements for each rank: `from` has weft_size() times as many. */
WEFT_C_API weft_result weft_reduce_scatter(weft_collective* collective, const void* from, void* to, size_t count,
                                           const weft_reduction* reduction);
/* `size` bytes of each rank. */
WEFT_C_API weft_result weft_gather(weft_collective* collective, const void* from, void* to, size_t size, int root);
WEFT_C_API weft_result weft_scatter(weft_collective* collective, const void* from, void* to, size_t size, int root);
WEFT_C_API weft_result weft_allgather(weft_collective* collective, const void* from, void* to, size_t size);
WEFT_C_API weft_result weft_alltoall(weft_collective* collective, const void* from, void* to, size_t size);

#ifdef __cplusplus
}
#endif

#endif
