/* Matched probes: a message is taken out of its engine before the program has a buffer for it. */
#ifndef WEFT_C_MATCHED_H
#define WEFT_C_MATCHED_H

#include <weft_c/base.h>
#include <weft_c/endpoint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A message that only weft_receive_matched() can receive; it is dropped when the handle is destroyed. Its
 * endpoint outlives it. */
typedef struct weft_matched weft_matched;

/* WEFT_NOTHING: none has arrived that such a receive would get. Does not progress. */
WEFT_C_API weft_result weft_matched_probe(weft_endpoint* endpoint, int source, uint64_t tag,
                                          const weft_options* options, weft_matched** found);
/* Progresses until there is one, options->timeout_ns has passed, or no rank is left that could send it. */
WEFT_C_API weft_result weft_wait_matched_probe(weft_endpoint* endpoint, int source, uint64_t tag,
                                               const weft_options* options, weft_matched** found);
/* Its sender, tag and length. */
WEFT_C_API weft_result weft_matched_info(const weft_matched* matched, weft_probed* info);
/* As weft_post_receive, of this message. Destroys the handle, unless the result is an error. */
WEFT_C_API weft_result weft_receive_matched(weft_endpoint* endpoint, weft_matched* matched, void* buffer,
                                            size_t size, const weft_options* options);
WEFT_C_API weft_result weft_matched_destroy(weft_matched* matched);

#ifdef __cplusplus
}
#endif

#endif
