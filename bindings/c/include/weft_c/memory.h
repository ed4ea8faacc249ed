/* Memory that peers access, and packets in which messages are assembled. */
#ifndef WEFT_C_MEMORY_H
#define WEFT_C_MEMORY_H

#include <weft_c/base.h>
#include <weft_c/endpoint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The key of a region: plain bytes, which travel in messages. */
typedef struct weft_remote_region {
  int32_t rank; /* the owner; -1: none */
  uint32_t index;
  uint32_t generation;
  uint32_t reserved;
  uint64_t bytes; /* length of the region */
  uint64_t address;
  uint64_t key;
} weft_remote_region;

enum {
  /* The device of the owner's network carries out atomic operations on the region, without the owner's
   * progress: add and compare-and-swap of 8-byte integers at multiples of 8; others are errors where they are
   * posted. An error where the network has no native atomic operations: all but ibv, and ibv where its device
   * has none. */
  WEFT_NATIVE_ATOMICS = 1
};

typedef struct weft_region_options {
  size_t size;  /* sizeof(weft_region_options) */
  void* memory; /* of the program, which outlives the region; null: zeroed memory that peers on this host can
                   map */
  uint32_t flags; /* WEFT_NATIVE_ATOMICS */
  uint32_t reserved;
} weft_region_options;

/* A region of `size` bytes. */
WEFT_C_API weft_result weft_region_create(weft_runtime* runtime, size_t size,
                                          const weft_region_options* options, weft_region** region);
/* Zeroed memory that peers on this host can map. */
WEFT_C_API weft_result weft_region_allocate(weft_runtime* runtime, size_t size, weft_region** region);
/* Memory of the program, which outlives the region. */
WEFT_C_API weft_result weft_region_register(weft_runtime* runtime, void* memory, size_t size,
                                            weft_region** region);
/* Returns when no peer accesses the memory any more. */
WEFT_C_API weft_result weft_region_destroy(weft_region* region);
WEFT_C_API void* weft_region_data(const weft_region* region);
WEFT_C_API size_t weft_region_size(const weft_region* region);
WEFT_C_API weft_result weft_region_key(const weft_region* region, weft_remote_region* key);

/* The memory of a peer's region as this process has it mapped, for loads and stores, until the owner destroys
 * the region; null: it is not mapped, as that of other hosts, and of weft_region_register(), is not. */
WEFT_C_API void* weft_region_map(weft_runtime* runtime, const weft_remote_region* key);

/* Accesses to `offset` bytes into a region. The post forms never block; weft_put and weft_get progress until
 * the access has ended. WEFT_OK of a post: the source may be reused; weft_flush() waits until it is visible
 * there. */
WEFT_C_API weft_result weft_post_put(weft_endpoint* endpoint, int peer, const weft_remote_region* to,
                                     uint64_t offset, const void* from, size_t size,
                                     const weft_options* options);
WEFT_C_API weft_result weft_put(weft_endpoint* endpoint, int peer, const weft_remote_region* to,
                                uint64_t offset, const void* from, size_t size, const weft_options* options);
WEFT_C_API weft_result weft_post_get(weft_endpoint* endpoint, int peer, const weft_remote_region* from,
                                     uint64_t offset, void* to, size_t size, const weft_options* options);
WEFT_C_API weft_result weft_get(weft_endpoint* endpoint, int peer, const weft_remote_region* from,
                                uint64_t offset, void* to, size_t size, const weft_options* options);

/* Types of values, of atomic operations and of reductions. */
typedef enum weft_type {
  WEFT_INT32 = 0,
  WEFT_UINT32 = 1,
  WEFT_INT64 = 2,
  WEFT_UINT64 = 3,
  WEFT_FLOAT = 4,
  WEFT_DOUBLE = 5,
  WEFT_INT8 = 6, /* from here on: of reductions only */
  WEFT_UINT8 = 7,
  WEFT_INT16 = 8,
  WEFT_UINT16 = 9
} weft_type;

typedef enum weft_atomic_operation {
  WEFT_ATOMIC_ADD = 0,
  WEFT_ATOMIC_SWAP = 1,
  WEFT_ATOMIC_AND = 2, /* from here on: of integers only */
  WEFT_ATOMIC_OR = 3,
  WEFT_ATOMIC_XOR = 4,
  WEFT_ATOMIC_MIN = 5,
  WEFT_ATOMIC_MAX = 6
} weft_atomic_operation;

/* Change a value in a region, aligned to its size, by `operand`, and store the value before in `old` (null:
 * not wanted), both of that type. `old` is borrowed until the end of the operation. */
WEFT_C_API weft_result weft_post_atomic(weft_endpoint* endpoint, int peer, const weft_remote_region* where,
                                        uint64_t offset, weft_type type, weft_atomic_operation operation,
                                        const void* operand, void* old, const weft_options* options);
WEFT_C_API weft_result weft_atomic(weft_endpoint* endpoint, int peer, const weft_remote_region* where,
                                   uint64_t offset, weft_type type, weft_atomic_operation operation,
                                   const void* operand, void* old, const weft_options* options);
/* Compare-and-swap of integers: stores `desired` if the value equals `expected`, and the value before in
 * `old` (null: not wanted). */
WEFT_C_API weft_result weft_post_compare_swap(weft_endpoint* endpoint, int peer,
                                              const weft_remote_region* where, uint64_t offset,
                                              weft_type type, const void* expected, const void* desired,
                                              void* old, const weft_options* options);
WEFT_C_API weft_result weft_compare_swap(weft_endpoint* endpoint, int peer, const weft_remote_region* where,
                                         uint64_t offset, weft_type type, const void* expected,
                                         const void* desired, void* old, const weft_options* options);

/* Progresses until all accesses to the peer (WEFT_ANY_SOURCE: to all peers) that were posted before have
 * ended. */
WEFT_C_API weft_result weft_flush(weft_endpoint* endpoint, int peer);
/* 1: they have; 0: not yet; an error below 0. Does not progress. */
WEFT_C_API int weft_flushed(weft_endpoint* endpoint, int peer);

/* A packet of the runtime, in which a payload of up to *capacity bytes is assembled; null when the pool is
 * empty. */
WEFT_C_API void* weft_packet_get(weft_runtime* runtime, size_t* capacity);
/* Returns a packet that was not posted. */
WEFT_C_API weft_result weft_packet_put(weft_runtime* runtime, void* packet);
/* As weft_post_am and weft_post_send, of the first `size` bytes of a packet, which is taken over unless the
 * result is an error or says to try again. */
WEFT_C_API weft_result weft_post_am_packet(weft_endpoint* endpoint, int peer, weft_remote remote,
                                           void* packet, size_t size, const weft_options* options);
WEFT_C_API weft_result weft_post_send_packet(weft_endpoint* endpoint, int peer, uint64_t tag, void* packet,
                                             size_t size, const weft_options* options);

#ifdef __cplusplus
}
#endif

#endif
