/* Two ranks: every operation of the C interface once, with its completion object. */
#include "../examples/check.h"
#include "meeting.h"

#include <string.h>

static weft_runtime* runtime;
static weft_endpoint* endpoint;

static int handled;
static weft_message kept;
static void keep(void* context, const weft_message* message) {
  REQUIRE(context == &handled);
  REQUIRE(weft_message_operation(message) == WEFT_ACTIVE_MESSAGE);
  weft_message_take(message, &kept);
  ++handled;
}
static int has_handled(void* context) {
  (void)context;
  return handled != 0;
}

/* Posts until it is accepted. */
#define UNTIL_ACCEPTED(result, call) \
  while (weft_is_retry(result = (call))) (void)weft_progress(endpoint)

static void receive_with_wildcards(int peer) {
  weft_engine_options ordered = {0};
  weft_engine* engine;
  weft_options options = {0};
  weft_message message = {{0}};
  weft_probed probed;
  char text[8];
  ordered.size = sizeof ordered;
  ordered.id = 256;
  ordered.flags = WEFT_ORDERED;
  MUST(weft_engine_create(runtime, &ordered, &engine));
  options.size = sizeof options;
  options.engine = ordered.id;
  MUST(weft_send(endpoint, peer, 0x100000007u, "order", 5, &options));
  options.ignored_tag_bits = UINT32_MAX;
  while (weft_probe(endpoint, WEFT_ANY_SOURCE, 0x100000000u, &options, &probed) == WEFT_NOTHING)
    (void)weft_progress(endpoint);
  REQUIRE(probed.peer == peer && probed.tag == 0x100000007u && probed.length == 5);
  EXPECT(weft_receive(endpoint, WEFT_ANY_SOURCE, 0x100000000u, text, 3, &options, &message), WEFT_TRUNCATED);
  REQUIRE(weft_message_length(&message) == 5 && weft_message_size(&message) == 3);
  REQUIRE(weft_message_peer(&message) == peer && weft_message_tag(&message) == 0x100000007u);
  REQUIRE(memcmp(text, "ord", 3) == 0);
  weft_message_free(&message);
  MUST(weft_barrier(runtime));
  weft_engine_destroy(engine);
}

static void post_with_completion(int peer) {
  weft_completion* both;
  weft_options options = {0};
  weft_receive_handle handle;
  weft_result result;
  char text[8] = {0};
  int receives = 0;
  uint32_t i;
  MUST(weft_synchronizer_create(2, &both));
  options.size = sizeof options;
  options.completion = both;
  options.user_data = text;
  UNTIL_ACCEPTED(result, weft_post_receive(endpoint, peer, 11, text, sizeof text, &options));
  EXPECT(result, WEFT_POSTED);
  UNTIL_ACCEPTED(result, weft_post_send(endpoint, peer, 11, "both", 5, &options));
  EXPECT(result, WEFT_POSTED);
  REQUIRE(weft_synchronizer_message(both, 5) == NULL);
  MUST(weft_wait_synchronizer(endpoint, both, 0));
  REQUIRE(weft_synchronizer_ready(both) == 1);
  for (i = 0; i < 2; ++i) {
    const weft_message* message = weft_synchronizer_message(both, i);
    REQUIRE(weft_message_outcome(message) == WEFT_OK);
    REQUIRE(weft_message_user_data(message) == text);
    receives += weft_message_operation(message) == WEFT_RECEIVE;
  }
  REQUIRE(receives == 1 && strcmp(text, "both") == 0);
  MUST(weft_synchronizer_reset(both));
  weft_completion_destroy(both);

  MUST(weft_queue_create(NULL, &both));
  options.completion = both;
  options.handle = &handle;
  EXPECT(weft_post_receive(endpoint, peer, 12, text, sizeof text, &options), WEFT_POSTED);
  REQUIRE(weft_cancel(endpoint, &handle) == 1);
  {
    weft_message message = {{0}};
    MUST(weft_queue_pop(both, &message));
    REQUIRE(weft_message_outcome(&message) == WEFT_CANCELLED);
    weft_message_free(&message);
  }
  options.handle = NULL;
  options.timeout_ns = 1;
  EXPECT(weft_post_receive(endpoint, peer, 12, text, sizeof text, &options), WEFT_POSTED);
  {
    weft_message message = {{0}};
    MUST(weft_wait_queue(endpoint, both, 0, &message));
    REQUIRE(weft_message_outcome(&message) == WEFT_TIMED_OUT);
    weft_message_free(&message);
    EXPECT(weft_wait_queue(endpoint, both, 1000, &message), WEFT_TIMED_OUT);
  }
  weft_completion_destroy(both);
}

static void assemble_in_packets(int peer, weft_remote remote) {
  size_t capacity = 0;
  char* packet = weft_packet_get(runtime, &capacity);
  weft_result result;
  char text[16] = {0};
  REQUIRE(packet != NULL && capacity >= 1024);
  MUST(weft_packet_put(runtime, packet));
  packet = weft_packet_get(runtime, NULL);
  memset(packet, 'p', 1000);
  EXPECT(weft_post_am_packet(endpoint, peer, remote, packet, capacity + 1, NULL), WEFT_ERROR_ARGUMENT);
  UNTIL_ACCEPTED(result, weft_post_am_packet(endpoint, peer, remote, packet, 1000, NULL));
  REQUIRE(!weft_is_error(result));
  MUST(weft_wait_until(endpoint, has_handled, NULL, 0));
  REQUIRE(weft_message_size(&kept) == 1000 && ((const char*)weft_message_data(&kept))[999] == 'p');
  REQUIRE(weft_message_remote(&kept) == remote && weft_message_peer(&kept) == peer);
  weft_message_free(&kept);

  packet = weft_packet_get(runtime, NULL);
  memcpy(packet, "assembled", 10);
  UNTIL_ACCEPTED(result, weft_post_send_packet(endpoint, peer, 13, packet, 10, NULL));
  REQUIRE(!weft_is_error(result));
  MUST(weft_receive(endpoint, peer, 13, text, sizeof text, NULL, NULL));
  REQUIRE(strcmp(text, "assembled") == 0);
}

/* Every option of regions. */
static void make_regions(void) {
  char memory[16];
  weft_region* region;
  weft_region_options options = {0};
  options.size = sizeof options;
  options.memory = memory;
  MUST(weft_region_create(runtime, sizeof memory, &options, &region));
  REQUIRE(weft_region_data(region) == memory && weft_region_size(region) == sizeof memory);
  MUST(weft_region_destroy(region));
  options.flags = WEFT_NATIVE_ATOMICS; /* which these networks have not */
  EXPECT(weft_region_create(runtime, sizeof memory, &options, &region), WEFT_ERROR_USE);
  REQUIRE(strstr(weft_error_text(), "native_atomics") != NULL);
  options.memory = NULL;
  EXPECT(weft_region_create(runtime, sizeof memory, &options, &region), WEFT_ERROR_USE);
  options.flags = WEFT_NATIVE_ATOMICS + 1;
  EXPECT(weft_region_create(runtime, sizeof memory, &options, &region), WEFT_ERROR_ARGUMENT);
}

static void access_memory(int peer) {
  weft_region* region;
  weft_remote_region own, keys[2];
  weft_options options = {0};
  weft_completion* counter;
  weft_expose_options exposed = {0};
  double sum = 0.5, back = 0;
  int64_t old = 0, expected = 0, desired = 42;
  make_regions();
  MUST(weft_region_create(runtime, 64, NULL, &region));
  REQUIRE(weft_region_size(region) == 64);
  MUST(weft_region_key(region, &own));
  MUST(weft_allgather_bytes(runtime, &own, sizeof own, keys));
  MUST(weft_counter_create(&counter));
  exposed.size = sizeof exposed;
  exposed.id = 9;
  options.size = sizeof options;
  MUST(weft_expose(runtime, counter, &exposed, &options.signal));
  MUST(weft_barrier(runtime));
  MUST(weft_put(endpoint, peer, &keys[peer], 16, "signal", 7, &options));
  MUST(weft_wait_counter(endpoint, counter, 1, 0));
  REQUIRE(strcmp((const char*)weft_region_data(region) + 16, "signal") == 0);
  MUST(weft_atomic(endpoint, peer, &keys[peer], 0, WEFT_DOUBLE, WEFT_ATOMIC_ADD, &sum, &back, NULL));
  REQUIRE(back == 0);
  EXPECT(weft_atomic(endpoint, peer, &keys[peer], 0, WEFT_DOUBLE, WEFT_ATOMIC_XOR, &sum, &back, NULL),
         WEFT_ERROR_USE);
  MUST(weft_compare_swap(endpoint, peer, &keys[peer], 8, WEFT_INT64, &expected, &desired, &old, NULL));
  REQUIRE(old == 0);
  MUST(weft_compare_swap(endpoint, peer, &keys[peer], 8, WEFT_INT64, &expected, &desired, &old, NULL));
  REQUIRE(old == 42);
  EXPECT(weft_put(endpoint, peer, &keys[peer], 60, "outside", 7, NULL), WEFT_REFUSED);
  options.signal = 0;
  options.region = region;
  MUST(weft_get(endpoint, peer, &keys[peer], 16, (char*)weft_region_data(region) + 40, 7, &options));
  REQUIRE(strcmp((const char*)weft_region_data(region) + 40, "signal") == 0);
  EXPECT(weft_get(endpoint, peer, &keys[peer], 16, &back, 7, &options),
         WEFT_ERROR_USE); /* outside of the region */
  EXPECT(weft_atomic(endpoint, peer, &keys[peer], 0, WEFT_DOUBLE, WEFT_ATOMIC_ADD, &sum, &back, &options),
         WEFT_ERROR_ARGUMENT);
  MUST(weft_flush(endpoint, peer));
  REQUIRE(weft_flushed(endpoint, WEFT_ANY_SOURCE) == 1);
  answer_until_all_are_here(runtime, endpoint);
  weft_completion_destroy(counter);
  weft_region_destroy(region);
}

/* A queue with these limits, exposed under an id, stops this rank, which sends to it and pops nothing, after
   `least` messages or more. Returns the queue, which is empty again. */
static weft_completion* fill_queue(const weft_queue_options* limits, uint32_t id, size_t bytes, int least,
                                   weft_remote* remote) {
  static const char payload[128];
  weft_expose_options exposed = {0};
  weft_completion* queue;
  weft_message message = {0};
  int sent = 0, refused = 0;
  MUST(weft_queue_create(limits, &queue));
  exposed.size = sizeof exposed;
  exposed.id = id;
  MUST(weft_expose(runtime, queue, &exposed, remote));
  while (refused < 100 && sent < 10000) {
    if (weft_is_retry(weft_post_am(endpoint, weft_rank(runtime), *remote, payload, bytes, NULL)))
      ++refused;
    else
      refused = 0, ++sent;
    (void)weft_progress(endpoint);
  }
  REQUIRE(sent >= least && sent < 10000);
  while (sent != 0) {
    (void)weft_progress(endpoint);
    if (weft_queue_pop(queue, &message) != WEFT_OK) continue;
    --sent;
    weft_message_free(&message);
  }
  return queue;
}

/* What the options of a queue, of a message and of a post say is what happens. */
static void use_options(void) {
  const int self = weft_rank(runtime);
  weft_queue_options limits = {0};
  weft_message_fields fields = {0};
  weft_options foreign = {0};
  weft_completion* queue;
  weft_message message = {0};
  weft_remote remote;
  limits.size = sizeof limits;
  limits.capacity_bytes = 4096;
  queue = fill_queue(&limits, 21, 100, 40, &remote);
  MUST(weft_withdraw(queue));
  weft_completion_destroy(queue);
  limits.capacity_bytes = 0;
  limits.capacity = 8;
  queue = fill_queue(&limits, 20, 8, 8, &remote);
  fields.size = sizeof fields;
  fields.operation = WEFT_SEND;
  fields.outcome = WEFT_PEER_FAILED;
  MUST(weft_signal(queue, &fields));
  MUST(weft_queue_pop(queue, &message));
  EXPECT(weft_message_outcome(&message), WEFT_PEER_FAILED);
  weft_message_free(&message);
  foreign.size = sizeof foreign;
  foreign.signal = remote;
  EXPECT(weft_post_am(endpoint, self, remote, NULL, 0, &foreign), WEFT_ERROR_ARGUMENT);
  MUST(weft_withdraw(queue));
  weft_completion_destroy(queue);
}

/* Two at a time, called in turn. */
static void reduce_in_two_collectives(void) {
  weft_collective* some[2];
  weft_collective_options options = {0};
  weft_reduction sum = {0};
  uint32_t i;
  options.size = sizeof options;
  sum.size = sizeof sum;
  sum.type = WEFT_UINT32;
  for (i = 0; i < 2; ++i) {
    options.key = 1000 + i;
    MUST(weft_collective_create(runtime, endpoint, &options, &some[i]));
  }
  for (i = 0; i < 20; ++i) {
    const uint32_t mine = i + (uint32_t)weft_rank(runtime);
    uint32_t all = 0;
    MUST(weft_allreduce(some[i % 2], &mine, &all, 1, &sum));
    REQUIRE(all == 2 * i + 1);
  }
  for (i = 0; i < 2; ++i) weft_collective_destroy(some[i]);
}

int main(void) {
  weft_completion* handler;
  weft_expose_options exposed = {0};
  weft_remote remote;
  int peer;
  REQUIRE(weft_c_version() == ((uint32_t)WEFT_C_VERSION_MAJOR << 16 | WEFT_C_VERSION_MINOR));
  MUST(weft_runtime_create(NULL, &runtime));
  REQUIRE(weft_size(runtime) == 2 && weft_network(runtime) != NULL);
  peer = 1 - weft_rank(runtime);
  MUST(weft_endpoint_create(runtime, NULL, &endpoint));
  MUST(weft_handler_create(keep, &handled, &handler));
  exposed.size = sizeof exposed;
  exposed.id = 8;
  MUST(weft_expose(runtime, handler, &exposed, &remote));
  MUST(weft_barrier(runtime));
  receive_with_wildcards(peer);
  post_with_completion(peer);
  assemble_in_packets(peer, remote);
  access_memory(peer);
  reduce_in_two_collectives();
  use_options();
  MUST(weft_wait_drained(endpoint, 0));
  REQUIRE(weft_drained(endpoint) == 1);
  MUST(weft_barrier(runtime));
  MUST(weft_withdraw(handler));
  weft_completion_destroy(handler);
  weft_endpoint_destroy(endpoint);
  weft_runtime_destroy(runtime);
  puts("ok");
  return 0;
}
