/* Two ranks: streams of a group whose sends are matched or cancelled, and which handles belong to whom. */
#include "../examples/check.h"

#include <pthread.h>
#include <string.h>

enum { kAskers = 4 };

static weft_runtime* runtime;
static weft_stream* streams[2];
static weft_stream_group* group;
static int rank;

static weft_stream_address other(uint32_t index) {
  weft_stream_address address;
  address.rank = 1 - rank;
  address.index = index;
  return address;
}

static void progress(void) {
  (void)weft_progress(weft_stream_endpoint(streams[0]));
  (void)weft_progress(weft_stream_endpoint(streams[1]));
}

static void await_message(uint64_t tag, weft_probed* found) {
  while (weft_stream_probe(group, 0, other(0), tag, found) == WEFT_NOTHING) progress();
}

static void say_so(uint32_t tag) { MUST(weft_stream_send(group, 1, other(1), tag, NULL, 0, NULL)); }
static void hear(uint32_t tag) { MUST(weft_stream_receive(group, 1, other(1), tag, NULL, 0, NULL, NULL)); }

/* A synchronous send ends when it is matched. */
static void send_synchronously(void) {
  int32_t word = 5;
  weft_probed found;
  if (rank == 0) {
    weft_completion* sent;
    weft_options options = {0};
    weft_send_handle handle;
    int call;
    MUST(weft_counter_create(&sent));
    options.size = sizeof options;
    options.completion = sent;
    options.flags = WEFT_SYNCHRONOUS | WEFT_NO_RETRY;
    EXPECT(weft_stream_post_send(group, 0, other(0), 7, &word, sizeof word, &options), WEFT_POSTED);
    hear(1);
    for (call = 0; call < 100; ++call) progress();
    REQUIRE(weft_counter_value(sent) == 0);
    say_so(2);
    MUST(weft_wait_counter(weft_stream_endpoint(streams[0]), sent, 1, 60000000000));
    weft_completion_destroy(sent);

    /* The form that waits fills the handle before it does. */
    memset(&handle, 0x55, sizeof handle);
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.flags = WEFT_SYNCHRONOUS;
    options.send_handle = &handle;
    MUST(weft_stream_send(group, 0, other(0), 8, &word, sizeof word, &options));
    REQUIRE(handle.words[0] != 0x5555555555555555u);
    REQUIRE(weft_stream_cancel_send(group, 0, &handle) == 0);
  } else {
    await_message(WEFT_ANY_TAG, &found);
    REQUIRE((uint32_t)found.tag == 7 && found.length == sizeof word);
    say_so(1);
    hear(2);
    MUST(weft_stream_receive(group, 0, other(0), 7, &word, sizeof word, NULL, NULL));
    MUST(weft_stream_receive(group, 0, other(0), 8, &word, sizeof word, NULL, NULL));
  }
}

static void cancel_send(void) {
  int32_t word = 5;
  weft_probed found;
  if (rank == 0) {
    weft_completion* sent;
    weft_options options = {0};
    weft_send_handle handle;
    MUST(weft_synchronizer_create(1, &sent));
    options.size = sizeof options;
    options.completion = sent;
    options.flags = WEFT_SYNCHRONOUS | WEFT_NO_RETRY;
    options.send_handle = &handle;
    EXPECT(weft_stream_post_send(group, 0, other(0), 9, &word, sizeof word, &options), WEFT_POSTED);
    hear(3);
    REQUIRE(weft_stream_cancel_send(group, 0, &handle) == 1);
    MUST(weft_wait_synchronizer(weft_stream_endpoint(streams[0]), sent, 60000000000));
    EXPECT(weft_message_outcome(weft_synchronizer_message(sent, 0)), WEFT_CANCELLED);
    say_so(4);
    weft_completion_destroy(sent);
  } else {
    await_message(9, &found);
    say_so(3);
    hear(4);
    EXPECT(weft_stream_probe(group, 0, other(0), WEFT_ANY_TAG, &found), WEFT_NOTHING);
  }
}

static void* ask(void* answer) {
  *(weft_collective**)answer = weft_stream_group_collective(group);
  return NULL;
}

/* Every thread gets the same handle; what belongs to another object is not destroyed by the program. */
static void borrow(void) {
  weft_collective* answers[kAskers];
  pthread_t threads[kAskers];
  int each;
  for (each = 0; each < kAskers; ++each)
    REQUIRE(pthread_create(&threads[each], NULL, ask, &answers[each]) == 0);
  for (each = 0; each < kAskers; ++each) REQUIRE(pthread_join(threads[each], NULL) == 0);
  for (each = 0; each < kAskers; ++each) REQUIRE(answers[each] != NULL && answers[each] == answers[0]);
  EXPECT(weft_collective_destroy(answers[0]), WEFT_ERROR_ARGUMENT);
  REQUIRE(strstr(weft_error_text(), "belongs to a group of streams") != NULL);
  EXPECT(weft_endpoint_destroy(weft_stream_endpoint(streams[0])), WEFT_ERROR_ARGUMENT);
  REQUIRE(strstr(weft_error_text(), "belongs to a stream") != NULL);
  MUST(weft_collective_barrier(answers[0]));
}

typedef struct Polls {
  weft_remote remote;
  int inside; /* the own call of weft_progress */
  int calls;
  int outside; /* messages that were handled by somebody else */
  int handled;
} Polls;

static void note(void* context, const weft_message* message) {
  Polls* polls = context;
  (void)message;
  polls->handled++;
  if (!polls->inside) polls->outside++;
}

/* While another stream waits: polls the first one, then leaves a message for it. */
static int poll_first(void* context) {
  Polls* polls = context;
  polls->inside = 1;
  (void)weft_progress(weft_stream_endpoint(streams[0]));
  (void)weft_post_am(weft_stream_endpoint(streams[0]), rank, polls->remote, NULL, 0, NULL);
  polls->inside = 0;
  return ++polls->calls == 200000;
}

/* weft_progress() is a poll of the stream: those that wait on another one do not take it over. */
static void count_as_poll(void) {
  Polls polls = {0};
  weft_completion* handler;
  weft_expose_options exposed = {0};
  MUST(weft_handler_create(note, &polls, &handler));
  exposed.size = sizeof exposed;
  exposed.id = 11;
  exposed.device = weft_stream_index(streams[0]);
  MUST(weft_expose(runtime, handler, &exposed, &polls.remote));
  MUST(weft_wait_until(weft_stream_endpoint(streams[1]), poll_first, &polls, 0));
  REQUIRE(polls.handled > 0 && polls.outside == 0);
  polls.inside = 1;
  while (weft_progress(weft_stream_endpoint(streams[0])) != 0) {
  }
  weft_completion_destroy(handler);
}

int main(void) {
  MUST(weft_runtime_create(NULL, &runtime));
  rank = weft_rank(runtime);
  REQUIRE(weft_size(runtime) == 2);
  MUST(weft_stream_create(runtime, NULL, &streams[0]));
  MUST(weft_stream_create(runtime, NULL, &streams[1]));
  MUST(weft_stream_group_create(runtime, streams, 2, NULL, &group));
  send_synchronously();
  cancel_send();
  borrow();
  count_as_poll();
  MUST(weft_collective_barrier(weft_stream_group_collective(group)));
  weft_stream_group_destroy(group);
  weft_stream_destroy(streams[0]);
  weft_stream_destroy(streams[1]);
  weft_runtime_destroy(runtime);
  puts("ok");
  return 0;
}
