/* Messages: what completion objects are signalled with. */
#ifndef WEFT_C_MESSAGE_H
#define WEFT_C_MESSAGE_H

#include <weft_c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A message that the program owns. Zeros are an empty message. One that a function has filled is freed by
 * weft_message_free() before it is used again; it must not be copied. */
typedef struct weft_message {
  union {
    long double for_alignment;
    unsigned char bytes[256];
  } storage;
} weft_message;

/* What a message reports. */
typedef enum weft_operation {
  WEFT_ACTIVE_MESSAGE = 0,      /* arrived from the peer */
  WEFT_ACTIVE_MESSAGE_SENT = 1, /* an own weft_post_am has ended */
  WEFT_SEND = 2,
  WEFT_RECEIVE = 3, /* data: the posted buffer, peer: the sender */
  WEFT_PUT = 4,
  WEFT_GET = 5,
  WEFT_PUT_ARRIVED = 6, /* the peer has put into a region of this rank, with this signal */
  WEFT_GET_ARRIVED = 7,
  WEFT_ATOMIC = 8,
  WEFT_ATOMIC_ARRIVED = 9,
  WEFT_GRAPH = 10, /* a collective has ended */
  WEFT_MULTIPART_MESSAGE =
      11,                 /* arrived with a head, and parts that are still at the sender: weft_c/parts.h */
  WEFT_PARTS = 12,        /* an own weft_receive_parts has ended */
  WEFT_PEER_FAILURE = 13, /* the peer has failed */
  WEFT_NO_OPERATION = 255 /* there is no message: a null pointer, about which weft_error_text() has a line */
} weft_operation;

WEFT_C_API weft_operation weft_message_operation(const weft_message* message);
/* WEFT_OK, WEFT_TRUNCATED, WEFT_CANCELLED, WEFT_TIMED_OUT, WEFT_PEER_FAILED or WEFT_REFUSED. */
WEFT_C_API weft_result weft_message_outcome(const weft_message* message);
/* The rank at the other end; -1: none. */
WEFT_C_API int weft_message_peer(const weft_message* message);
WEFT_C_API uint64_t weft_message_tag(const weft_message* message);
/* The payload, aligned to 16 bytes, and its length in bytes. */
WEFT_C_API const void* weft_message_data(const weft_message* message);
WEFT_C_API size_t weft_message_size(const weft_message* message);
/* The length that was sent; more than weft_message_size() when a receive was truncated. */
WEFT_C_API size_t weft_message_length(const weft_message* message);
/* The user_data of the own post that has ended. */
WEFT_C_API void* weft_message_user_data(const weft_message* message);
/* The index of the device at which it arrived, or whose operation has ended. */
WEFT_C_API uint32_t weft_message_device(const weft_message* message);
/* The handle to which it was sent; 0: none. */
WEFT_C_API weft_remote weft_message_remote(const weft_message* message);

/* In a handler: keeps the message beyond the call. `message` is not used afterwards. */
WEFT_C_API weft_result weft_message_take(const weft_message* message, weft_message* kept);
WEFT_C_API void weft_message_free(weft_message* message);
/* The payload for writing: that of a message which the program owns, and the program's own buffer; null:
 * neither. */
WEFT_C_API void* weft_message_writable(weft_message* message);

/* A payload that was taken out of its message: plain values, which are used once, before the runtime ends. */
typedef struct weft_payload {
  void* data;
  size_t size; /* bytes */
  uint64_t words[2];
} weft_payload;

/* Takes the payload out, without a copy where it is a packet or a large buffer; the rest of the message
 * stays. */
WEFT_C_API weft_result weft_message_release(weft_message* message, weft_payload* payload);
/* Frees the memory, which may be written to until then. Any thread. */
WEFT_C_API weft_result weft_payload_free(weft_payload* payload);

/* What a message that the program makes says. */
typedef struct weft_message_fields {
  size_t size;        /* sizeof(weft_message_fields) */
  uint32_t operation; /* weft_operation */
  weft_result
      outcome; /* WEFT_OK, WEFT_TRUNCATED, WEFT_CANCELLED, WEFT_TIMED_OUT, WEFT_PEER_FAILED or WEFT_REFUSED */
  int32_t peer;
  uint32_t device; /* 0 to 255 */
  uint64_t tag;
  /* The payload: bytes, which are borrowed for the call; or one that was released, which belongs to the
   * message then. */
  const void* data;
  size_t data_size; /* bytes */
  const weft_payload* payload;
  void* user_data;
  weft_remote remote;
  size_t length; /* of a receive: what the sender sent */
} weft_message_fields;

/* Signals the completion object with a message that the program has made. */
WEFT_C_API weft_result weft_signal(weft_completion* completion, const weft_message_fields* fields);

#ifdef __cplusplus
}
#endif

#endif
