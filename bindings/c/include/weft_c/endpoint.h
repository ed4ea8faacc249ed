/* Endpoints: active messages, sends and receives, progress and waits. */
#ifndef WEFT_C_ENDPOINT_H
#define WEFT_C_ENDPOINT_H

#include <weft_c/base.h>
#include <weft_c/completion.h>
#include <weft_c/message.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  WEFT_SERIAL =
      1 /* the endpoint has its device for itself, is used by one thread at a time, and takes no lock */
};

typedef struct weft_endpoint_options {
  size_t size;         /* sizeof(weft_endpoint_options) */
  weft_device* device; /* null: the runtime's default device */
  uint32_t flags;      /* WEFT_SERIAL */
  uint32_t reserved;
} weft_endpoint_options;

WEFT_C_API weft_result weft_endpoint_create(weft_runtime* runtime, const weft_endpoint_options* options,
                                            weft_endpoint** endpoint);
WEFT_C_API weft_result weft_endpoint_destroy(weft_endpoint* endpoint);

enum {
  /* An operation that ends during the post is WEFT_OK, and its completion object is not signalled: the faster
     choice. */
  WEFT_MAY_COMPLETE_NOW = 1,
  /* Instead of a reason to try again, the operation goes to the backlog, while that has room. */
  WEFT_NO_RETRY = 2,
  /* Of sends: they end only when a receive has matched them. Needs a completion object, except in
     weft_send(). */
  WEFT_SYNCHRONOUS = 4
};

typedef enum weft_class { WEFT_CLASS_NORMAL = 0, WEFT_CLASS_CONTROL = 1, WEFT_CLASS_BULK = 2 } weft_class;

/* What a send and a receive must have in common. */
typedef enum weft_policy {
  WEFT_MATCH_RANK_AND_TAG = 0,
  WEFT_MATCH_RANK = 1,
  WEFT_MATCH_TAG = 2,
  WEFT_MATCH_ANY = 3
} weft_policy;

/* Of receives and probes on ordered engines. */
#define WEFT_ANY_SOURCE (-1)
#define WEFT_ANY_TAG UINT64_MAX

/* Names a posted receive, for weft_cancel(). */
typedef struct weft_receive_handle {
  uint64_t words[4];
} weft_receive_handle;

/* Names a posted send, for weft_cancel_send(). */
typedef struct weft_send_handle {
  uint64_t words[2];
} weft_send_handle;

/* Options of operations. A field that the operation does not have must be 0. */
typedef struct weft_options {
  size_t size;                 /* sizeof(weft_options) */
  weft_completion* completion; /* is signalled exactly once at the end of the operation; null: none */
  void* user_data;             /* of the message that signals it */
  int64_t timeout_ns;          /* from the post on; 0: none; below 0: the operation is tried once */
  uint32_t flags;              /* WEFT_MAY_COMPLETE_NOW, WEFT_NO_RETRY, WEFT_SYNCHRONOUS */
  uint32_t tag;                /* of active messages and signals: travels with them */
  uint32_t message_class;      /* weft_class, of active messages and sends */
  uint32_t policy;             /* weft_policy, of sends, receives and probes */
  uint32_t engine;             /* of sends, receives and probes */
  uint32_t device;             /* of sends and of accesses: the peer's */
  /* Of receives and probes on ordered engines: the bits of the tag that may differ. */
  uint64_t ignored_tag_bits;
  weft_receive_handle* handle; /* of receives: filled when the answer is WEFT_POSTED; may be null */
  weft_remote signal;          /* of accesses: this object of the peer is signalled, too; 0: none */
  /* Of sends, receives and probes: the matching context that they are in, and its part; tags then have 32
   * bits, and `engine` is 0. Null: none. */
  const weft_context* context;
  uint32_t part;
  uint32_t reserved;
  weft_send_handle* send_handle; /* of sends: filled when the answer is WEFT_POSTED; may be null */
  /* Of active messages, sends, puts and gets: a region of this rank that holds the local buffer, which a
   * network that needs registered memory then takes from there; others ignore it. Null: none. */
  const weft_region* region;
} weft_options;

/* Active messages: `remote`, a completion object of `peer`, is signalled with the payload. weft_post_am never
 * blocks; weft_send_am progresses until the payload may be reused, and returns the outcome. */
WEFT_C_API weft_result weft_post_am(weft_endpoint* endpoint, int peer, weft_remote remote, const void* data,
                                    size_t size, const weft_options* options);
WEFT_C_API weft_result weft_send_am(weft_endpoint* endpoint, int peer, weft_remote remote, const void* data,
                                    size_t size, const weft_options* options);

/* Sends, with 64 bits of tag. */
WEFT_C_API weft_result weft_post_send(weft_endpoint* endpoint, int peer, uint64_t tag, const void* data,
                                      size_t size, const weft_options* options);
WEFT_C_API weft_result weft_send(weft_endpoint* endpoint, int peer, uint64_t tag, const void* data,
                                 size_t size, const weft_options* options);

/* Posts a receive; its completion object is needed, and is signalled with the message, whose data is
 * `buffer`. */
WEFT_C_API weft_result weft_post_receive(weft_endpoint* endpoint, int source, uint64_t tag, void* buffer,
                                         size_t size, const weft_options* options);
/* Progresses until a message is in `buffer`, and returns its outcome. `message` (null: not wanted) is filled;
 * it is empty or was freed. */
WEFT_C_API weft_result weft_receive(weft_endpoint* endpoint, int source, uint64_t tag, void* buffer,
                                    size_t size, const weft_options* options, weft_message* message);
/* 1: the receive has been cancelled, and its completion object signalled, or will be by progress where it
 * waits in the backlog; 0: it has matched a message, or has ended. */
WEFT_C_API int weft_cancel(weft_endpoint* endpoint, const weft_receive_handle* handle);
/* Asks for the end of a send that no receive has matched. 1: it ends soon, and its outcome says how; 0: it
 * has ended. */
WEFT_C_API int weft_cancel_send(weft_endpoint* endpoint, const weft_send_handle* handle);

typedef struct weft_probed {
  uint64_t tag;
  size_t length; /* bytes */
  int32_t peer;
  int32_t reserved;
} weft_probed;

/* Describes the message that such a receive would get. Returns WEFT_NOTHING when none has arrived. Does not
 * progress. */
WEFT_C_API weft_result weft_probe(weft_endpoint* endpoint, int source, uint64_t tag,
                                  const weft_options* options, weft_probed* found);
/* Progresses until there is one, options->timeout_ns has passed, or no rank is left that could send it. */
WEFT_C_API weft_result weft_wait_probe(weft_endpoint* endpoint, int source, uint64_t tag,
                                       const weft_options* options, weft_probed* found);

/* Delivers what has arrived and continues what is under way; never blocks. Returns how much it did. */
WEFT_C_API size_t weft_progress(weft_endpoint* endpoint);

/* Waits progress: they spin, yield, then sleep. `timeout_ns`: 0: for ever; else they return WEFT_TIMED_OUT
 * after that time. Not inside handlers. */
/* Until the queue has a message, which is moved into `message` (empty, or freed). */
WEFT_C_API weft_result weft_wait_queue(weft_endpoint* endpoint, weft_completion* queue, int64_t timeout_ns,
                                       weft_message* message);
/* Until the counter has reached `target` signals. */
WEFT_C_API weft_result weft_wait_counter(weft_endpoint* endpoint, weft_completion* counter, uint64_t target,
                                         int64_t timeout_ns);
/* Until the synchronizer's round is complete. */
WEFT_C_API weft_result weft_wait_synchronizer(weft_endpoint* endpoint, weft_completion* synchronizer,
                                              int64_t timeout_ns);
/* Until the condition, which must not wait, returns something other than 0. */
typedef int (*weft_condition)(void* context);
WEFT_C_API weft_result weft_wait_until(weft_endpoint* endpoint, weft_condition condition, void* context,
                                       int64_t timeout_ns);
/* Until all active messages and sends that were posted before have been consumed by their peers. */
WEFT_C_API weft_result weft_wait_drained(weft_endpoint* endpoint, int64_t timeout_ns);
/* 1: that is so. Does not progress. */
WEFT_C_API int weft_drained(const weft_endpoint* endpoint);

#ifdef __cplusplus
}
#endif

#endif
