/* Streams: serial execution contexts, and the groups in which they exchange messages. */
#ifndef WEFT_C_STREAM_H
#define WEFT_C_STREAM_H

#include <weft_c/base.h>
#include <weft_c/endpoint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_stream weft_stream;
typedef struct weft_stream_group weft_stream_group;

typedef struct weft_stream_options {
  size_t size; /* sizeof(weft_stream_options) */
  /* 0: the lowest index of a device that is free; else that index, 1 to devices_max - 1. */
  uint32_t device;
  uint32_t reserved;
} weft_stream_options;

/* A stream with a device and a matching engine of its own; one thread at a time uses it, which may change. */
WEFT_C_API weft_result weft_stream_create(weft_runtime* runtime, const weft_stream_options* options,
                                          weft_stream** stream);
/* A handle of the shared stream of the runtime, which any number of threads use. */
WEFT_C_API weft_result weft_stream_null(weft_runtime* runtime, weft_stream** stream);
/* Cancels receives that are still posted; groups keep the stream until their end. */
WEFT_C_API weft_result weft_stream_destroy(weft_stream* stream);
/* WEFT_ERROR_USE, without effect, while operations are pending, which the line names. The handle is destroyed
 * afterwards as ever. */
WEFT_C_API weft_result weft_stream_close(weft_stream* stream);
/* The index of its device; 0: the shared stream. */
WEFT_C_API uint32_t weft_stream_index(const weft_stream* stream);
/* Its endpoint, for all operations that go through no group, for progress and waits; belongs to the stream.
 * Collectives are not made over it: groups have their own. */
WEFT_C_API weft_endpoint* weft_stream_endpoint(weft_stream* stream);

typedef struct weft_stream_group_options {
  size_t size; /* sizeof(weft_stream_group_options) */
  /* Which of the streams of each rank carries the group's collectives. */
  uint32_t collective_index;
  uint32_t reserved;
} weft_stream_group_options;

/* Collective: all ranks make the groups of a runtime in the same order, each with its streams, up to 1024, in
 * the order of their indices; a null pointer stands for the shared stream. */
WEFT_C_API weft_result weft_stream_group_create(weft_runtime* runtime, weft_stream* const* streams,
                                                size_t count, const weft_stream_group_options* options,
                                                weft_stream_group** group);
/* Collective: a group of the same streams, whose messages match only each other. */
WEFT_C_API weft_result weft_stream_group_duplicate(const weft_stream_group* group, weft_stream_group** copy);
WEFT_C_API weft_result weft_stream_group_destroy(weft_stream_group* group);
/* The number of streams of a rank, or WEFT_ERROR_USE. */
WEFT_C_API int weft_stream_group_streams(const weft_stream_group* group, int rank);
/* The collectives of the group; belongs to it. Any thread; the first call makes them, and enters that stream.
 * Null, with a line, when a rank has no stream of that index. */
WEFT_C_API weft_collective* weft_stream_group_collective(weft_stream_group* group);

#define WEFT_ANY_INDEX UINT32_MAX
/* A stream of a group: in receives with WEFT_ANY_SOURCE, WEFT_ANY_INDEX. */
typedef struct weft_stream_address {
  int32_t rank;
  uint32_t index;
} weft_stream_address;

/* Of the own stream `index`. Tags have 32 bits, of which messages and probes report the lower 32 bits;
 * receives and probes may name WEFT_ANY_TAG. Of weft_options, a group supplies engine, context, device,
 * policy and ignored_tag_bits, which must be 0. */
WEFT_C_API weft_result weft_stream_post_send(weft_stream_group* group, uint32_t index, weft_stream_address to,
                                             uint64_t tag, const void* data, size_t size,
                                             const weft_options* options);
WEFT_C_API weft_result weft_stream_send(weft_stream_group* group, uint32_t index, weft_stream_address to,
                                        uint64_t tag, const void* data, size_t size,
                                        const weft_options* options);
WEFT_C_API weft_result weft_stream_post_receive(weft_stream_group* group, uint32_t index,
                                                weft_stream_address from, uint64_t tag, void* buffer,
                                                size_t size, const weft_options* options);
WEFT_C_API weft_result weft_stream_receive(weft_stream_group* group, uint32_t index, weft_stream_address from,
                                           uint64_t tag, void* buffer, size_t size,
                                           const weft_options* options, weft_message* message);
/* As weft_cancel() and weft_cancel_send(). */
WEFT_C_API int weft_stream_cancel(weft_stream_group* group, uint32_t index,
                                  const weft_receive_handle* handle);
WEFT_C_API int weft_stream_cancel_send(weft_stream_group* group, uint32_t index,
                                       const weft_send_handle* handle);
/* WEFT_NOTHING: no such message has arrived. */
WEFT_C_API weft_result weft_stream_probe(weft_stream_group* group, uint32_t index, weft_stream_address from,
                                         uint64_t tag, weft_probed* found);
/* The stream that has sent a message which was received in the group. */
WEFT_C_API weft_stream_address weft_stream_sender(const weft_stream_group* group,
                                                  const weft_message* message);

#ifdef __cplusplus
}
#endif

#endif
