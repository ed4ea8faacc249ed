/* Operations on several buffers, and messages whose parts the receiver fetches. */
#ifndef WEFT_C_PARTS_H
#define WEFT_C_PARTS_H

#include <weft_c/base.h>
#include <weft_c/endpoint.h>
#include <weft_c/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lists may be reused when a call returns; what they name is borrowed as the buffer of the form with one
 * buffer is. */
typedef struct weft_bytes {
  const void* data;
  size_t size;
} weft_bytes;

typedef struct weft_buffer {
  void* data;
  size_t size;
} weft_buffer;

/* An active message with a head, which arrives with WEFT_MULTIPART_MESSAGE, and parts, up to 1,048,576, which
 * stay here until the receiver fetches them, or frees the message. The completion object is signalled when
 * they may be reused. */
WEFT_C_API weft_result weft_post_am_parts(weft_endpoint* endpoint, int peer, weft_remote remote,
                                          const void* head, size_t head_size, const weft_bytes* parts,
                                          size_t count, const weft_options* options);
/* The number of parts that were sent with a head, and the size of one in bytes; 0 for other messages, and for
 * a part that there is not. */
WEFT_C_API size_t weft_message_parts(const weft_message* message);
WEFT_C_API uint64_t weft_message_part_size(const weft_message* message, size_t part);
/* Fetches the parts of such a message, which becomes empty, into as many buffers, from a handler or later.
 * `completion` is signalled with WEFT_PARTS, and the head as the payload. */
WEFT_C_API weft_result weft_receive_parts(weft_endpoint* endpoint, weft_message* message,
                                          const weft_buffer* buffers, size_t count,
                                          weft_completion* completion, void* user_data);

/* A send of the parts, one behind the other, which is received as any send is; and receives that fill one
 * buffer after the other. */
WEFT_C_API weft_result weft_post_send_list(weft_endpoint* endpoint, int peer, uint64_t tag,
                                           const weft_bytes* parts, size_t count,
                                           const weft_options* options);
WEFT_C_API weft_result weft_send_list(weft_endpoint* endpoint, int peer, uint64_t tag,
                                      const weft_bytes* parts, size_t count, const weft_options* options);
WEFT_C_API weft_result weft_post_receive_list(weft_endpoint* endpoint, int source, uint64_t tag,
                                              const weft_buffer* buffers, size_t count,
                                              const weft_options* options);
WEFT_C_API weft_result weft_receive_list(weft_endpoint* endpoint, int source, uint64_t tag,
                                         const weft_buffer* buffers, size_t count,
                                         const weft_options* options, weft_message* message);

/* A piece of an access: `size` bytes at `offset` in a region of the peer, and where they are from, or go to.
 */
typedef struct weft_put_piece {
  weft_remote_region to;
  uint64_t offset;
  const void* from;
  size_t size;
} weft_put_piece;

typedef struct weft_get_piece {
  weft_remote_region from;
  uint64_t offset;
  void* to;
  size_t size;
} weft_get_piece;

/* All pieces under one completion; they are checked before any of them starts. */
WEFT_C_API weft_result weft_post_put_list(weft_endpoint* endpoint, int peer, const weft_put_piece* pieces,
                                          size_t count, const weft_options* options);
WEFT_C_API weft_result weft_post_get_list(weft_endpoint* endpoint, int peer, const weft_get_piece* pieces,
                                          size_t count, const weft_options* options);

#ifdef __cplusplus
}
#endif

#endif
