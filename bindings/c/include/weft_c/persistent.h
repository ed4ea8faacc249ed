/* Operations that are prepared once and started many times. */
#ifndef WEFT_C_PERSISTENT_H
#define WEFT_C_PERSISTENT_H

#include <weft_c/base.h>
#include <weft_c/endpoint.h>
#include <weft_c/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One thread at a time starts it, with the answers and signals of the post of the same name. It is destroyed
 * before its endpoint, and borrows its buffers; handles of options are filled by each start. */
typedef struct weft_persistent weft_persistent;

WEFT_C_API weft_result weft_prepare_am(weft_endpoint* endpoint, int peer, weft_remote remote,
                                       const void* data, size_t size, const weft_options* options,
                                       weft_persistent** persistent);
WEFT_C_API weft_result weft_prepare_send(weft_endpoint* endpoint, int peer, uint64_t tag, const void* data,
                                         size_t size, const weft_options* options,
                                         weft_persistent** persistent);
/* Its buffer has room for one message: WEFT_RETRY_IN_FLIGHT while an earlier start has not ended. */
WEFT_C_API weft_result weft_prepare_receive(weft_endpoint* endpoint, int source, uint64_t tag, void* buffer,
                                            size_t size, const weft_options* options,
                                            weft_persistent** persistent);
WEFT_C_API weft_result weft_prepare_put(weft_endpoint* endpoint, int peer, const weft_remote_region* to,
                                        uint64_t offset, const void* from, size_t size,
                                        const weft_options* options, weft_persistent** persistent);
WEFT_C_API weft_result weft_prepare_get(weft_endpoint* endpoint, int peer, const weft_remote_region* from,
                                        uint64_t offset, void* to, size_t size, const weft_options* options,
                                        weft_persistent** persistent);
WEFT_C_API weft_result weft_persistent_start(weft_persistent* persistent);
/* 1: a receive that was started has not ended; 0: it has, or this is no receive. */
WEFT_C_API int weft_persistent_in_flight(const weft_persistent* persistent);
/* A receive in flight still ends. */
WEFT_C_API weft_result weft_persistent_destroy(weft_persistent* persistent);

#ifdef __cplusplus
}
#endif

#endif
