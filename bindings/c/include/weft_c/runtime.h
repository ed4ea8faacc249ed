/* Runtimes, devices, matching engines. */
#ifndef WEFT_C_RUNTIME_H
#define WEFT_C_RUNTIME_H

#include <weft_c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_attribute {
  const char* name;  /* "packet_size" */
  const char* value; /* "16K" */
} weft_attribute;

typedef struct weft_runtime_options {
  size_t size; /* sizeof(weft_runtime_options) */
  /* Attributes that the program sets; they take precedence over WEFT_* variables. */
  const weft_attribute* attributes;
  size_t attribute_count;
  /* Distinguishes the runtimes of one process; null: no name. */
  const char* name;
} weft_runtime_options;

/* Joins the job; alone it is rank 0 of 1. Returns WEFT_ERROR_USE when it cannot be joined. */
WEFT_C_API weft_result weft_runtime_create(const weft_runtime_options* options, weft_runtime** runtime);
/* Waits until living peers have what was accepted for them. What uses the runtime must be gone. */
WEFT_C_API weft_result weft_runtime_destroy(weft_runtime* runtime);

WEFT_C_API int weft_rank(const weft_runtime* runtime);
WEFT_C_API int weft_size(const weft_runtime* runtime);
/* The number of hosts of the job, and the host of a rank: 0 to hosts - 1, or WEFT_ERROR_USE. */
WEFT_C_API int weft_hosts(const weft_runtime* runtime);
WEFT_C_API int weft_host_of(const weft_runtime* runtime, int rank);
/* "shm", "mixed", "tcp", ...; lives as long as the runtime. */
WEFT_C_API const char* weft_network(const weft_runtime* runtime);
/* The value of an attribute as text, which lives as long as the runtime; null, with an error, for an unknown
 * name. */
WEFT_C_API const char* weft_attribute_value(const weft_runtime* runtime, const char* name);
/* 1: the rank has failed; 0: it has not. */
WEFT_C_API int weft_has_failed(const weft_runtime* runtime, int rank);
/* Signals the completion object once for each rank that fails, until it is destroyed. */
WEFT_C_API weft_result weft_on_peer_failure(weft_runtime* runtime, weft_completion* completion);
/* Ends these signals; waits for one that is under way in another thread. */
WEFT_C_API weft_result weft_forget_peer_failures(weft_runtime* runtime, weft_completion* completion);
/* The number of ranks that have failed, of which the first `count` are stored in `ranks`. */
WEFT_C_API size_t weft_failed_peers(const weft_runtime* runtime, int* ranks, size_t count);
/* The ranks on the host of this one, ascending, *count of them; live as long as the runtime. */
WEFT_C_API const int* weft_local_ranks(const weft_runtime* runtime, size_t* count);

/* Returns when all ranks have called it; one thread of each rank. No device progresses meanwhile, so a peer
   whose access to memory needs an answer of this rank does not get it: weft_collective_barrier() progresses.
 */
WEFT_C_API weft_result weft_barrier(weft_runtime* runtime);
/* Concatenates `size` bytes of each rank, in the order of the ranks, into `all` (weft_size() * size bytes).
 */
WEFT_C_API weft_result weft_allgather_bytes(weft_runtime* runtime, const void* mine, size_t size, void* all);
/* Ends the job on all ranks with this code, 1 to 255; the launcher prints `reason`. Does not return. */
WEFT_C_API void weft_abort(weft_runtime* runtime, int exit_code, const char* reason);

typedef struct weft_device_options {
  size_t size; /* sizeof(weft_device_options) */
  /* 0: the lowest index that is free; else the index under which peers address the device, plus 1. */
  uint32_t index_plus_1;
  uint32_t reserved;
} weft_device_options;

WEFT_C_API weft_result weft_device_create(weft_runtime* runtime, const weft_device_options* options,
                                          weft_device** device);
WEFT_C_API weft_result weft_device_destroy(weft_device* device);
WEFT_C_API uint32_t weft_device_index(const weft_device* device);

enum {
  WEFT_ORDERED = 1,      /* matches in MPI's order, with wildcards; its id is 256 to 511 */
  WEFT_SERIAL_ENGINE = 2 /* one thread at a time posts receives to it and progresses its devices */
};

typedef struct weft_engine_options {
  size_t size;    /* sizeof(weft_engine_options) */
  uint32_t id;    /* 1 to 255, of ordered engines 256 to 511; the same on all ranks */
  uint32_t flags; /* WEFT_ORDERED, WEFT_SERIAL_ENGINE */
} weft_engine_options;

/* Sends and receives that name an engine's id match only each other. Engine 0 is there from the beginning. */
WEFT_C_API weft_result weft_engine_create(weft_runtime* runtime, const weft_engine_options* options,
                                          weft_engine** engine);
WEFT_C_API weft_result weft_engine_destroy(weft_engine* engine);

#ifdef __cplusplus
}
#endif

#endif
