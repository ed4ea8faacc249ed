/* Two ranks: lists of buffers, messages whose parts are fetched, persistent operations, matched probes,
 * mapped regions, payloads that leave their message, messages that the program makes, and threads that
 * progress. */
#include "../examples/check.h"

#include <string.h>

static weft_runtime* runtime;
static weft_endpoint* endpoint;
static weft_collective* all; /* whose barriers progress */
static weft_completion* inbox;
static weft_remote remote;
static int rank, peer;

static weft_options signalling(weft_completion* completion) {
  weft_options options = {0};
  options.size = sizeof options;
  options.completion = completion;
  return options;
}

static void next(weft_message* message) { MUST(weft_wait_queue(endpoint, inbox, 0, message)); }

static void send_parts(void) {
  char left[4] = {0}, right[8] = {0};
  weft_bytes parts[2];
  weft_buffer buffers[2];
  weft_message message = {{0}};
  weft_completion* done;
  weft_options options;
  MUST(weft_synchronizer_create(1, &done));
  options = signalling(done);
  if (rank == 0) {
    parts[0].data = "abc";
    parts[0].size = 4;
    parts[1].data = "defghij";
    parts[1].size = 8;
    while (weft_is_retry(weft_post_am_parts(endpoint, peer, remote, "head", 5, parts, 2, &options)))
      (void)weft_progress(endpoint);
    MUST(weft_wait_synchronizer(endpoint, done, 0));
  } else {
    next(&message);
    REQUIRE(weft_message_operation(&message) == WEFT_MULTIPART_MESSAGE && weft_message_parts(&message) == 2);
    REQUIRE(strcmp(weft_message_data(&message), "head") == 0 && weft_message_part_size(&message, 1) == 8);
    REQUIRE(weft_message_part_size(&message, 2) == 0);
    buffers[0].data = left;
    buffers[0].size = sizeof left;
    buffers[1].data = right;
    buffers[1].size = sizeof right;
    EXPECT(weft_receive_parts(endpoint, &message, buffers, 1, done, NULL), WEFT_ERROR_USE);
    EXPECT(weft_receive_parts(endpoint, &message, buffers, 2, done, NULL), WEFT_POSTED);
    MUST(weft_wait_synchronizer(endpoint, done, 0));
    REQUIRE(weft_message_operation(weft_synchronizer_message(done, 0)) == WEFT_PARTS);
    EXPECT(weft_message_outcome(weft_synchronizer_message(done, 0)), WEFT_OK);
    REQUIRE(strcmp(left, "abc") == 0 && strcmp(right, "defghij") == 0);
    weft_message_free(&message);
  }
  weft_completion_destroy(done);
}

static void send_list(void) {
  char left[3], right[64];
  weft_bytes parts[2];
  weft_buffer buffers[2];
  weft_message message = {{0}};
  if (rank == 0) {
    parts[0].data = "one ";
    parts[0].size = 4;
    parts[1].data = "two";
    parts[1].size = 4;
    MUST(weft_send_list(endpoint, peer, 1, parts, 2, NULL));
    parts[0].data = NULL;
    EXPECT(weft_send_list(endpoint, peer, 1, parts, 2, NULL), WEFT_ERROR_ARGUMENT);
  } else {
    buffers[0].data = left;
    buffers[0].size = sizeof left;
    buffers[1].data = right;
    buffers[1].size = sizeof right;
    MUST(weft_receive_list(endpoint, peer, 1, buffers, 2, NULL, &message));
    REQUIRE(memcmp(left, "one", 3) == 0 && strcmp(right, " two") == 0 && weft_message_length(&message) == 8);
    weft_message_free(&message);
  }
}

/* Each rank puts two pieces into the other's region, by a list and by operations that are prepared, and looks
 * into it. */
static void access_regions(void) {
  weft_region* region;
  weft_remote_region own, keys[2];
  weft_completion* done;
  weft_options options;
  weft_put_piece puts[2];
  weft_get_piece gets[2];
  weft_persistent *put, *get;
  uint64_t values[2], got[2] = {0, 0}, word, back = 0;
  uint64_t* words;
  const uint64_t* mapped;
  uint64_t each;
  MUST(weft_region_allocate(runtime, 4 * sizeof(uint64_t), &region));
  words = weft_region_data(region);
  MUST(weft_region_key(region, &own));
  MUST(weft_allgather_bytes(runtime, &own, sizeof own, keys));
  MUST(weft_counter_create(&done));
  options = signalling(done);
  options.flags = WEFT_NO_RETRY;
  for (each = 0; each < 2; ++each) {
    values[each] = 100 * (uint64_t)(rank + 1) + each;
    puts[each].to = keys[peer];
    puts[each].offset = each * sizeof(uint64_t);
    puts[each].from = &values[each];
    puts[each].size = sizeof(uint64_t);
    gets[each].from = keys[peer];
    gets[each].offset = each * sizeof(uint64_t);
    gets[each].to = &got[each];
    gets[each].size = sizeof(uint64_t);
  }
  EXPECT(weft_post_put_list(endpoint, peer, puts, 2, &options), WEFT_POSTED);
  MUST(weft_wait_counter(endpoint, done, 1, 0));
  EXPECT(weft_post_get_list(endpoint, peer, gets, 2, &options), WEFT_POSTED);
  MUST(weft_wait_counter(endpoint, done, 2, 0));
  REQUIRE(got[0] == values[0] && got[1] == values[1]);

  options = signalling(NULL);
  MUST(weft_prepare_put(endpoint, peer, &keys[peer], 16, &word, sizeof word, &options, &put));
  MUST(weft_prepare_get(endpoint, peer, &keys[peer], 16, &back, sizeof back, &options, &get));
  for (word = 1; word < 4; ++word) {
    weft_result result = weft_persistent_start(put);
    REQUIRE(!weft_is_error(result));
    MUST(weft_flush(endpoint, peer));
    result = weft_persistent_start(get);
    REQUIRE(!weft_is_error(result));
    MUST(weft_flush(endpoint, peer));
    REQUIRE(back == word && weft_persistent_in_flight(put) == 0);
  }
  MUST(weft_persistent_destroy(put));
  MUST(weft_persistent_destroy(get));
  MUST(weft_collective_barrier(all));
  mapped = weft_region_map(runtime, &keys[peer]);
  if (mapped != NULL) REQUIRE(mapped[0] == values[0] && mapped[2] == 3);
  REQUIRE(words[1] == 100 * (uint64_t)(peer + 1) + 1);
  MUST(weft_collective_barrier(all));
  weft_completion_destroy(done);
  weft_region_destroy(region);
}

/* A ping-pong of prepared operations. */
static void prepare(void) {
  weft_persistent *send, *receive, *message;
  weft_completion* done;
  weft_options options;
  int32_t out = 0, in = -1, round;
  weft_message arrived = {{0}};
  MUST(weft_counter_create(&done));
  options = signalling(done);
  options.flags = WEFT_NO_RETRY;
  MUST(weft_prepare_receive(endpoint, peer, 2, &in, sizeof in, &options, &receive));
  EXPECT(weft_prepare_receive(endpoint, peer, 2, &in, sizeof in, NULL, &message), WEFT_ERROR_ARGUMENT);
  options.completion = NULL;
  MUST(weft_prepare_send(endpoint, peer, 2, &out, sizeof out, &options, &send));
  MUST(weft_prepare_am(endpoint, peer, remote, &out, sizeof out, &options, &message));
  for (round = 1; round < 4; ++round) {
    weft_result result;
    out = round;
    EXPECT(weft_persistent_start(receive), WEFT_POSTED);
    result = weft_persistent_start(send);
    REQUIRE(!weft_is_error(result) && !weft_is_retry(result));
    MUST(weft_wait_counter(endpoint, done, (uint64_t)round, 0));
    REQUIRE(in == round && weft_persistent_in_flight(receive) == 0);
    result = weft_persistent_start(message);
    REQUIRE(!weft_is_error(result) && !weft_is_retry(result));
    next(&arrived);
    REQUIRE(weft_message_size(&arrived) == sizeof out);
    weft_message_free(&arrived);
  }
  MUST(weft_wait_drained(endpoint, 0));
  MUST(weft_persistent_destroy(receive));
  MUST(weft_persistent_destroy(send));
  MUST(weft_persistent_destroy(message));
  EXPECT(weft_persistent_start(message), WEFT_ERROR_ARGUMENT);
  weft_completion_destroy(done);
}

static void match(void) {
  if (rank == 0) {
    MUST(weft_send(endpoint, peer, 3, "for a buffer of its length", 27, NULL));
  } else {
    weft_matched* found;
    weft_probed info;
    weft_completion* done;
    weft_options options;
    char* buffer;
    weft_result result;
    EXPECT(weft_matched_probe(endpoint, peer, 99, NULL, &found), WEFT_NOTHING);
    MUST(weft_wait_matched_probe(endpoint, peer, 3, NULL, &found));
    MUST(weft_matched_info(found, &info));
    REQUIRE(info.length == 27 && info.peer == peer && (buffer = malloc(info.length)) != NULL);
    MUST(weft_counter_create(&done));
    options = signalling(done);
    result = weft_receive_matched(endpoint, found, buffer, info.length, &options);
    REQUIRE(result == WEFT_POSTED);
    MUST(weft_wait_counter(endpoint, done, 1, 0));
    REQUIRE(strcmp(buffer, "for a buffer of its length") == 0);
    EXPECT(weft_matched_destroy(found), WEFT_ERROR_ARGUMENT);
    free(buffer);
    weft_completion_destroy(done);
  }
}

/* A payload leaves its message, and is that of a message which the program makes. */
static void make_messages(void) {
  static char large[20000];
  weft_message message = {{0}};
  weft_payload payload;
  weft_message_fields fields = {0};
  large[sizeof large - 1] = 'z';
  MUST(weft_send_am(endpoint, peer, remote, large, sizeof large, NULL));
  next(&message);
  REQUIRE(weft_message_writable(&message) == weft_message_data(&message));
  MUST(weft_message_release(&message, &payload));
  REQUIRE(weft_message_size(&message) == 0 && payload.size == sizeof large);
  weft_message_free(&message);
  fields.size = sizeof fields;
  fields.operation = WEFT_RECEIVE;
  fields.peer = 7;
  fields.tag = 8;
  fields.payload = &payload;
  MUST(weft_signal(inbox, &fields));
  next(&message);
  REQUIRE(weft_message_peer(&message) == 7 && weft_message_tag(&message) == 8);
  REQUIRE(weft_message_size(&message) == sizeof large);
  REQUIRE(((const char*)weft_message_data(&message))[sizeof large - 1] == 'z');
  MUST(weft_message_release(&message, &payload));
  weft_message_free(&message);
  MUST(weft_payload_free(&payload));
  fields.payload = NULL;
  fields.operation = WEFT_PARTS;
  EXPECT(weft_signal(inbox, &fields), WEFT_ERROR_ARGUMENT);
}

/* Messages arrive while nobody progresses but the library's thread. */
static void let_others_progress(void) {
  weft_progress_thread *of_device, *of_streams;
  weft_message message = {{0}};
  size_t local = 0;
  const int* ranks = weft_local_ranks(runtime, &local);
  REQUIRE(ranks != NULL && local >= 1 && weft_failed_peers(runtime, NULL, 0) == 0);
  MUST(weft_progress_thread_create(runtime, NULL, &of_device));
  MUST(weft_stream_progress_thread_create(runtime, NULL, &of_streams));
  MUST(weft_send_am(endpoint, peer, remote, "x", 1, NULL));
  while (weft_queue_pop(inbox, &message) == WEFT_NOTHING) {
  }
  weft_message_free(&message);
  MUST(weft_progress_thread_destroy(of_streams));
  MUST(weft_progress_thread_destroy(of_device));
}

int main(void) {
  weft_expose_options exposed = {0};
  MUST(weft_runtime_create(NULL, &runtime));
  MUST(weft_endpoint_create(runtime, NULL, &endpoint));
  MUST(weft_collective_create(runtime, endpoint, NULL, &all));
  MUST(weft_queue_create(NULL, &inbox));
  rank = weft_rank(runtime);
  peer = 1 - rank;
  REQUIRE(weft_size(runtime) == 2);
  exposed.size = sizeof exposed;
  exposed.id = 1;
  MUST(weft_expose(runtime, inbox, &exposed, &remote));
  MUST(weft_barrier(runtime));
  send_parts();
  send_list();
  access_regions();
  prepare();
  match();
  MUST(weft_collective_barrier(all)); /* the messages of the next one are not for the inbox of this one */
  make_messages();
  MUST(weft_collective_barrier(all));
  let_others_progress();
  MUST(weft_collective_barrier(all));
  weft_collective_destroy(all);
  weft_completion_destroy(inbox);
  weft_endpoint_destroy(endpoint);
  weft_runtime_destroy(runtime);
  puts("ok");
  return 0;
}
