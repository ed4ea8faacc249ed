/* Results, errors and handles. */
#ifndef WEFT_C_BASE_H
#define WEFT_C_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(WEFT_C_BUILDS) || defined(__GNUC__)
#define WEFT_C_API __attribute__((visibility("default")))
#else
#define WEFT_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A library of a higher minor version has all functions, fields and values of
 * a lower one. */
#define WEFT_C_VERSION_MAJOR 0
#define WEFT_C_VERSION_MINOR 1

typedef int32_t weft_result;

enum {
  /* Done: the operation has ended well, and its buffer may be reused. */
  WEFT_OK = 0,
  /* Accepted: the completion object, if there is one, is signalled exactly once. */
  WEFT_POSTED = 1,

  /* Refused without effect: progress, then try again. weft_is_retry() tells these from others. */
  WEFT_RETRY_NO_SLOT = 17,    /* the peer has not consumed earlier messages */
  WEFT_RETRY_NO_PACKET = 18,  /* the packet pool is empty */
  WEFT_RETRY_NO_CREDIT = 19,  /* the peer has stopped its senders, or too many large messages are under way */
  WEFT_RETRY_NO_REQUEST = 20, /* the device's table of operations in flight is full */
  WEFT_RETRY_LOCK = 21,       /* another thread posts to the same lane at this moment */
  WEFT_RETRY_BACKLOG = 22,    /* the backlog for this peer is full, or not empty yet */
  WEFT_RETRY_NOT_READY = 23,  /* the peer has not opened the device, or exposed the object, yet */
  WEFT_RETRY_IN_FLIGHT = 24,  /* a persistent operation has not ended since it was started */

  /* How an operation has ended, or a wait. */
  WEFT_TRUNCATED = 33, /* the message was longer than the buffer */
  WEFT_CANCELLED = 34,
  WEFT_TIMED_OUT = 35,
  WEFT_PEER_FAILED = 36, /* the peer has failed, or has left the job */
  WEFT_REFUSED = 37,     /* nothing was accessed: outside of the region, or it has been released */
  WEFT_NOTHING = 48,     /* there is no message: an empty queue, a probe that has found nothing */

  /* Errors: weft_error_text() says which argument, its value, and what would be right. */
  WEFT_ERROR_ARGUMENT = -1, /* an argument that this interface refuses: null, a struct of an impossible size,
                               an unknown value */
  WEFT_ERROR_USE =
      -2, /* what the library refuses: a peer that is no rank, an id in use, a launcher that is gone */
  WEFT_ERROR_MEMORY = -3,  /* there is no memory */
  WEFT_ERROR_INTERNAL = -4 /* anything else that was thrown */
};

/* Other than 0 for the results WEFT_RETRY_... */
static inline int weft_is_retry(weft_result result) { return result > 16 && result < 32; }
/* Other than 0 for errors. */
static inline int weft_is_error(weft_result result) { return result < 0; }

/* "posted", "no_slot", "peer_failed", ...; lives for ever. */
WEFT_C_API const char* weft_result_name(weft_result result);
/* One line about the last error of the calling thread, empty when it had none; valid until this thread's next
 * error. */
WEFT_C_API const char* weft_error_text(void);
/* The version of the library, as "major.minor.patch". */
WEFT_C_API const char* weft_version(void);
/* WEFT_C_VERSION_MAJOR << 16 | WEFT_C_VERSION_MINOR of the library, which may be newer than the headers. */
WEFT_C_API uint32_t weft_c_version(void);

typedef struct weft_runtime weft_runtime;       /* the process's membership of a job */
typedef struct weft_device weft_device;         /* an independent set of network resources */
typedef struct weft_endpoint weft_endpoint;     /* posts and progresses */
typedef struct weft_engine weft_engine;         /* matches sends with receives */
typedef struct weft_completion weft_completion; /* is signalled by operations and messages */
typedef struct weft_region weft_region;         /* memory that peers may access */
typedef struct weft_collective weft_collective; /* operations of all ranks of a team */
typedef struct weft_context weft_context;       /* keeps messages apart: weft_c/context.h */
typedef struct weft_team weft_team;             /* a list of ranks: weft_c/team.h */

/* The handle of a completion object of a peer, which travels in messages. 0: none. */
typedef uint64_t weft_remote;

#ifdef __cplusplus
}
#endif

#endif
