/* Batches of messages drawn at random, the same on all ranks, for random_calls.c. */
#ifndef WEFT_MPI_TESTS_RANDOM_MESSAGES_H
#define WEFT_MPI_TESTS_RANDOM_MESSAGES_H

#include "check.h"

struct Draw {
  unsigned long long state;
};
/* 0 to below - 1. */
static unsigned drawn(struct Draw* draw, unsigned below) {
  draw->state = draw->state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)((draw->state >> 33) % below);
}

/* Bytes, a multiple of 8: mostly short ones, and those around the ends of what ways take. */
static unsigned length_of(struct Draw* draw) {
  static const unsigned ends[] = {0, 48, 56, 2048, 4096, 8192, 16384, 32768, 65536, 81920, 131072};
  const unsigned how = drawn(draw, 8);
  const unsigned end = ends[drawn(draw, sizeof ends / sizeof *ends)];
  const unsigned less = 8 * drawn(draw, 3), shift = drawn(draw, 18);
  if (how < 2) return end < less ? 0 : end - less;
  if (how == 2) return end + less;
  return 8 * (drawn(draw, 1u << shift) / 8);
}

enum { kMostMessages = 24, kBufferBytes = 64 << 20 };
enum Mode { kStandard, kSynchronous, kBuffered, kPersistentSend, kModes };
enum Way { kReceive, kPersistentReceive, kAnySource, kAnyTag, kProbed, kMatchedProbe, kWays };

struct Message {
  int from, to, tag;
  unsigned length, room; /* bytes; room: of the receiver's buffer */
  enum Mode mode;
  enum Way way;
  int sent_strided, got_strided;
  unsigned salt;
  unsigned char* bytes;
  MPI_Request request;
  MPI_Datatype type;
};

static char* attached;
static void attach_buffer(void) {
  attached = malloc(kBufferBytes);
  MPI_Buffer_attach(attached, kBufferBytes);
}
static void detach_buffer(void) {
  void* buffer;
  int size;
  MPI_Buffer_detach(&buffer, &size);
  CHECK(buffer == attached && size == kBufferBytes);
  free(attached);
}

static unsigned char byte_of(unsigned salt, unsigned at) { return (unsigned char)(salt + at * 7 + at / 251); }

/* Where byte `at` lies: words of 8 bytes, one behind the other or with a gap behind each. */
static size_t place_of(int is_strided, unsigned at) { return is_strided ? at / 8 * 16 + at % 8 : at; }
static MPI_Datatype type_of(struct Message* message, int is_strided) {
  if (!is_strided) return MPI_UINT64_T;
  MPI_Type_create_resized(MPI_UINT64_T, 0, 16, &message->type);
  MPI_Type_commit(&message->type);
  return message->type;
}

static void draw_messages(struct Draw* draw, int size, struct Message* all, int number) {
  for (int index = 0; index < number; ++index) {
    struct Message* const each = &all[index];
    memset(each, 0, sizeof *each);
    each->from = (int)drawn(draw, (unsigned)size);
    each->to = (int)drawn(draw, (unsigned)size);
    each->length = length_of(draw);
    each->room = each->length + 8 * drawn(draw, 3);
    each->mode = (enum Mode)drawn(draw, kModes);
    each->way = (enum Way)drawn(draw, kWays);
    each->sent_strided = drawn(draw, 4) == 0;
    each->got_strided = drawn(draw, 4) == 0;
    each->salt = drawn(draw, 1u << 20);
    /* A receive from anybody has a tag of its own; the others share three. */
    each->tag = each->way == kAnySource ? 100 + index : (int)drawn(draw, 3);
    each->request = MPI_REQUEST_NULL;
    each->type = MPI_DATATYPE_NULL;
  }
}

static void send_message(struct Message* each, MPI_Comm in) {
  const MPI_Datatype type = type_of(each, each->sent_strided);
  const int count = (int)each->length / 8;
  each->bytes = malloc(2 * each->length + 16);
  for (unsigned at = 0; at < each->length; ++at)
    each->bytes[place_of(each->sent_strided, at)] = byte_of(each->salt, at);
  switch (each->mode) {
    case kSynchronous:
      MPI_Issend(each->bytes, count, type, each->to, each->tag, in, &each->request);
      break;
    case kBuffered:
      MPI_Ibsend(each->bytes, count, type, each->to, each->tag, in, &each->request);
      break;
    case kPersistentSend:
      MPI_Send_init(each->bytes, count, type, each->to, each->tag, in, &each->request);
      MPI_Start(&each->request);
      break;
    default:
      MPI_Isend(each->bytes, count, type, each->to, each->tag, in, &each->request);
  }
}

static void check_status(const struct Message* each, const MPI_Status* status, MPI_Datatype type) {
  int count;
  MPI_Get_count(status, type, &count);
  CHECK(count == (int)each->length / 8);
  CHECK(status->MPI_SOURCE == each->from && status->MPI_TAG == each->tag);
}

static void receive_message(struct Message* each, MPI_Comm in) {
  const MPI_Datatype type = type_of(each, each->got_strided);
  const int count = (int)each->room / 8;
  each->bytes = malloc(2 * each->room + 16);
  MPI_Status status;
  MPI_Message found;
  switch (each->way) {
    case kPersistentReceive:
      MPI_Recv_init(each->bytes, count, type, each->from, each->tag, in, &each->request);
      MPI_Start(&each->request);
      break;
    case kAnySource:
      MPI_Irecv(each->bytes, count, type, MPI_ANY_SOURCE, each->tag, in, &each->request);
      break;
    case kAnyTag:
      MPI_Irecv(each->bytes, count, type, each->from, MPI_ANY_TAG, in, &each->request);
      break;
    case kProbed:
    case kMatchedProbe: {
      /* Waits for nothing that is not on its way: receives come behind all sends of this rank then. */
      if (each->way == kProbed) {
        MPI_Probe(each->from, each->tag, in, &status);
        check_status(each, &status, type);
        MPI_Irecv(each->bytes, count, type, each->from, each->tag, in, &each->request);
      } else {
        MPI_Mprobe(each->from, each->tag, in, &found, &status);
        check_status(each, &status, type);
        MPI_Imrecv(each->bytes, count, type, &found, &each->request);
      }
      break;
    }
    default:
      MPI_Irecv(each->bytes, count, type, each->from, each->tag, in, &each->request);
  }
}

static void end_message(struct Message* each, const MPI_Status* status, int is_receive) {
  if (is_receive) {
    check_status(each, status, each->got_strided ? each->type : MPI_UINT64_T);
    for (unsigned at = 0; at < each->length; ++at)
      CHECK(each->bytes[place_of(each->got_strided, at)] == byte_of(each->salt, at));
  }
  if (each->request != MPI_REQUEST_NULL) MPI_Request_free(&each->request);
  if (each->type != MPI_DATATYPE_NULL) MPI_Type_free(&each->type);
  free(each->bytes);
}

/* Sends and receives of this rank, each in the order of the batch, so that it is known which ones match. */
static void exchange_messages(struct Draw* draw, MPI_Comm in) {
  struct Message all[kMostMessages], own_copy[kMostMessages];
  struct Message* ended_by[2 * kMostMessages];
  MPI_Request requests[2 * kMostMessages];
  int me, size, is_receive[2 * kMostMessages], number_of_requests = 0;
  MPI_Comm_rank(in, &me);
  MPI_Comm_size(in, &size);
  const int number = 1 + (int)drawn(draw, kMostMessages);
  draw_messages(draw, size, all, number);
  memcpy(own_copy, all, sizeof all);
  /* The receives that wait for nobody go anywhere between the sends; probes behind all of them. */
  int probes = 0;
  for (int index = 0; index < number; ++index) probes += all[index].way >= kProbed;
  const int receives_first = probes == 0 && drawn(draw, 2) == 0;
  for (int pass = 0; pass < 2; ++pass)
    for (int index = 0; index < number; ++index) {
      const int receives = receives_first ? pass == 0 : pass == 1;
      struct Message* const each = receives ? &all[index] : &own_copy[index];
      if (receives ? each->to != me : each->from != me) continue;
      if (receives)
        receive_message(each, in);
      else
        send_message(each, in);
      is_receive[number_of_requests] = receives;
      ended_by[number_of_requests] = each;
      requests[number_of_requests++] = each->request;
    }
  const unsigned how = drawn(draw, 3);
  MPI_Status statuses[2 * kMostMessages];
  if (how == 0) {
    MPI_Waitall(number_of_requests, requests, statuses);
    for (int index = 0; index < number_of_requests; ++index) {
      ended_by[index]->request = requests[index];
      end_message(ended_by[index], &statuses[index], is_receive[index]);
    }
    return;
  }
  for (int left = number_of_requests; left > 0;) {
    int indexes[2 * kMostMessages], ended = 1;
    if (how == 1)
      MPI_Waitany(number_of_requests, requests, &indexes[0], &statuses[0]);
    else
      MPI_Waitsome(number_of_requests, requests, &ended, indexes, statuses);
    CHECK(ended > 0 && ended <= left);
    for (int at = 0; at < ended; ++at) {
      struct Message* const each = ended_by[indexes[at]];
      each->request = requests[indexes[at]];
      end_message(each, &statuses[at], is_receive[indexes[at]]);
      requests[indexes[at]] = MPI_REQUEST_NULL;
    }
    left -= ended;
  }
}

#endif
