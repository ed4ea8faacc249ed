/* Completion objects: queues, counters, synchronizers, handlers. */
#ifndef WEFT_C_COMPLETION_H
#define WEFT_C_COMPLETION_H

#include <weft_c/base.h>
#include <weft_c/message.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_queue_options {
  size_t size;             /* sizeof(weft_queue_options) */
  uint32_t capacity;       /* messages at which remote senders are stopped, 1 to 2^24; 0: 65536 */
  uint32_t initial;        /* entries at the beginning, a power of two; 0: 256 */
  uint64_t capacity_bytes; /* bytes of long payloads at which senders are stopped; 0: any number */
} weft_queue_options;

/* First in, first out; any number of threads may push and pop. */
WEFT_C_API weft_result weft_queue_create(const weft_queue_options* options, weft_completion** queue);
/* Moves the oldest message into `message`, which is empty or was freed. Returns WEFT_NOTHING when there is
 * none. */
WEFT_C_API weft_result weft_queue_pop(weft_completion* queue, weft_message* message);

/* Counts signals; payloads are discarded. */
WEFT_C_API weft_result weft_counter_create(weft_completion** counter);
/* Signals since the beginning, or the last reset, which must not meet signals. 0 for what is no counter. */
WEFT_C_API uint64_t weft_counter_value(const weft_completion* counter);
WEFT_C_API weft_result weft_counter_reset(weft_completion* counter);

/* Is ready after `signals` signals, 1 to 2^24, and keeps their messages until it is reset. */
WEFT_C_API weft_result weft_synchronizer_create(uint32_t signals, weft_completion** synchronizer);
/* 1: the round is complete; 0: it is not; an error below 0: this is no synchronizer. */
WEFT_C_API int weft_synchronizer_ready(const weft_completion* synchronizer);
/* The message of this number in order of arrival, 0 to signals - 1, once the round is complete, until the
 * reset; else null. Belongs to the synchronizer. */
WEFT_C_API const weft_message* weft_synchronizer_message(weft_completion* synchronizer, uint32_t number);
WEFT_C_API weft_result weft_synchronizer_reset(weft_completion* synchronizer);

/* Called for each message by every thread that progresses. Must not wait, nor leave by longjmp or an
 * exception. May post; may keep the message by weft_message_take(). */
typedef void (*weft_handler)(void* context, const weft_message* message);
WEFT_C_API weft_result weft_handler_create(weft_handler handler, void* context, weft_completion** completion);

/* Of any kind, also while operations name it: receives are cancelled, other operations are waited for. */
WEFT_C_API weft_result weft_completion_destroy(weft_completion* completion);

typedef struct weft_expose_options {
  size_t size;     /* sizeof(weft_expose_options) */
  uint32_t id;     /* 0 to 65535; the same on every rank that is to be reached by the handle */
  uint32_t device; /* on which messages for the object arrive */
} weft_expose_options;

/* Makes the object reachable for peers. `options` must not be null. The handle is the same on all ranks that
 * have exposed their objects under this id equally often. */
WEFT_C_API weft_result weft_expose(weft_runtime* runtime, weft_completion* completion,
                                   const weft_expose_options* options, weft_remote* remote);
/* Withdraws the object from all its handles. */
WEFT_C_API weft_result weft_withdraw(weft_completion* completion);
/* The handle of the same object through another device of the peer, 0 to 255; 0, with an error, for another
 * number. */
WEFT_C_API weft_remote weft_remote_on_device(weft_remote remote, uint32_t device);

#ifdef __cplusplus
}
#endif

#endif
