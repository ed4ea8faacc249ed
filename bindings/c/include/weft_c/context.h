/* Matching contexts: numbers that keep the messages of libraries, groups and communicators apart. */
#ifndef WEFT_C_CONTEXT_H
#define WEFT_C_CONTEXT_H

#include <weft_c/base.h>
#include <weft_c/endpoint.h>
#include <weft_c/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers that one rank has taken for all members; plain bytes, which travel in messages. */
typedef struct weft_context_numbers {
  uint32_t first;
  uint32_t count;
} weft_context_numbers;

typedef struct weft_context_options {
  size_t size;    /* sizeof(weft_context_options) */
  uint32_t flags; /* WEFT_ORDERED, WEFT_NEEDS_ALL_MEMBERS */
  uint32_t count; /* of contexts in one object, to be told by weft_options.part, at most 2^24; 0: 1 */
  /* 0: the members agree upon a context. Else the context by rule, the key plus 1: members that name the same
   * key have the same context, without a message; keys are 0 to 2,130,706,431. */
  uint32_t key_plus_1;
  /* Tells apart agreements that threads of one rank make over endpoints at the same time. */
  uint32_t agreement;
  /* The members, where the members are not all ranks; `weft_context_create` without a key: needs `endpoint`.
   */
  const int* members;
  size_t member_count;
  weft_endpoint* endpoint; /* over which `members` agree: on all of them of devices of the same index */
} weft_context_options;

enum {
  /* Receives from any source, and sends that nobody has begun to receive, end as WEFT_PEER_FAILED once a
     member has failed. */
  WEFT_NEEDS_ALL_MEMBERS = 4
};

/* By key: local. Otherwise collective over all ranks, or over `members`. Sends and receives name it in
 * weft_options.context; their tags have 32 bits, and of the tags that messages and probes report the lower 32
 * bits are the tag. */
WEFT_C_API weft_result weft_context_create(weft_runtime* runtime, const weft_context_options* options,
                                           weft_context** context);
/* Local: of numbers that a member has reserved, as they have come to this one. */
WEFT_C_API weft_result weft_context_of(weft_runtime* runtime, weft_context_numbers numbers,
                                       const weft_context_options* options, weft_context** context);
/* Local: cancels the receives that are posted in it, and drops what nobody has received. */
WEFT_C_API weft_result weft_context_destroy(weft_context* context);

/* Takes numbers of contexts for any members: the program brings them to these, and each makes its context of
 * them. */
WEFT_C_API weft_result weft_context_reserve(weft_runtime* runtime, uint32_t count,
                                            weft_context_numbers* numbers);
/* Gives back numbers of which no context will be made. */
WEFT_C_API weft_result weft_context_give_back(weft_runtime* runtime, weft_context_numbers numbers);

#ifdef __cplusplus
}
#endif

#endif
