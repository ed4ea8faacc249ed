/* What is wrong ends with a result below 0 and a line, and nothing else happens: each line is printed. */
#include "../examples/check.h"

#include <limits.h>
#include <string.h>

static void say(const char* what, weft_result result, weft_result expected) {
  REQUIRE(result == expected);
  printf("%s | %s\n", what, weft_error_text());
}

static void ignore(void* context, const weft_message* message) {
  (void)context;
  (void)message;
}

/* A node whose endpoint has been destroyed is refused when it begins; nothing is thrown across the graph. */
static void be_late(weft_runtime* runtime, weft_endpoint* endpoint) {
  weft_endpoint* gone;
  weft_graph* graph;
  char sent = 'a';
  MUST(weft_endpoint_create(runtime, NULL, &gone));
  MUST(weft_graph_create(&graph));
  MUST(weft_graph_add_send(graph, gone, 0, 78, &sent, 1, NULL, NULL));
  MUST(weft_endpoint_destroy(gone));
  EXPECT(weft_graph_start(graph), WEFT_POSTED);
  EXPECT(weft_graph_wait(graph, endpoint, 0), WEFT_REFUSED);
  EXPECT(weft_graph_node_outcome(graph, 0), WEFT_REFUSED);
  MUST(weft_graph_destroy(graph));
}

/* A program of an earlier version has shorter structs: what lies behind them is not looked at. */
static void be_older(weft_endpoint* endpoint) {
  weft_options options;
  char sent = 'a', got = 0;
  memset(&options, 0xff, sizeof options);
  memset(&options, 0, offsetof(weft_options, context));
  options.size = offsetof(weft_options, context);
  MUST(weft_send(endpoint, 0, 77, &sent, 1, &options));
  MUST(weft_receive(endpoint, 0, 77, &got, 1, &options, NULL));
  REQUIRE(got == sent);
  options.size = sizeof options.size; /* the first version of all: nothing but its size */
  MUST(weft_send(endpoint, 0, 77, &sent, 1, &options));
  MUST(weft_receive(endpoint, 0, 77, &got, 1, &options, NULL));
  options.size = sizeof options.size - 1;
  say("shorter than its size", weft_send(endpoint, 0, 77, &sent, 1, &options), WEFT_ERROR_ARGUMENT);
}

/* What belongs to one runtime is refused by another one. */
static void mix_runtimes(weft_runtime* runtime) {
  weft_runtime_options named = {0};
  weft_endpoint_options over = {0};
  weft_context_options by = {0};
  weft_progress_thread_options by_thread = {0};
  weft_runtime* other;
  weft_device* device;
  weft_endpoint* endpoint = NULL;
  weft_endpoint* foreign;
  weft_stream* stream;
  weft_stream_group* group = NULL;
  weft_collective* all = NULL;
  weft_context* context = NULL;
  weft_progress_thread* thread = NULL;
  const int members[1] = {0};
  named.size = sizeof named;
  named.name = "other";
  MUST(weft_runtime_create(&named, &other));
  MUST(weft_endpoint_create(other, NULL, &foreign));
  MUST(weft_device_create(other, NULL, &device));
  MUST(weft_stream_create(other, NULL, &stream));
  over.size = sizeof over;
  over.device = device;
  say("a device of another runtime", weft_endpoint_create(runtime, &over, &endpoint), WEFT_ERROR_ARGUMENT);
  by_thread.size = sizeof by_thread;
  by_thread.device = device;
  say("a thread for such a device", weft_progress_thread_create(runtime, &by_thread, &thread),
      WEFT_ERROR_ARGUMENT);
  say("a collective over such an endpoint", weft_collective_create(runtime, foreign, NULL, &all),
      WEFT_ERROR_ARGUMENT);
  by.size = sizeof by;
  by.members = members;
  by.member_count = 1;
  by.endpoint = foreign;
  say("an agreement over such an endpoint", weft_context_create(runtime, &by, &context), WEFT_ERROR_ARGUMENT);
  say("a group of such streams", weft_stream_group_create(runtime, &stream, 1, NULL, &group),
      WEFT_ERROR_ARGUMENT);
  REQUIRE(endpoint == NULL && thread == NULL && all == NULL && context == NULL && group == NULL);
  MUST(weft_stream_destroy(stream));
  MUST(weft_endpoint_destroy(foreign));
  MUST(weft_device_destroy(device));
  MUST(weft_runtime_destroy(other));
}

/* Fields that a later version may give a meaning are 0. */
static void set_reserved(weft_runtime* runtime, weft_endpoint* endpoint) {
  weft_options options = {0};
  weft_region_options of_region = {0};
  weft_device_options of_device = {0};
  weft_collective_options of_collective = {0};
  weft_region* region = NULL;
  weft_device* device = NULL;
  weft_collective* all = NULL;
  char byte = 0;
  options.size = sizeof options;
  options.reserved = 7;
  say("reserved field", weft_post_send(endpoint, 0, 1, &byte, 1, &options), WEFT_ERROR_ARGUMENT);
  of_region.size = sizeof of_region;
  of_region.reserved = 7;
  say("reserved field of a region", weft_region_create(runtime, 64, &of_region, &region),
      WEFT_ERROR_ARGUMENT);
  of_device.size = sizeof of_device;
  of_device.reserved = 7;
  say("reserved field of a device", weft_device_create(runtime, &of_device, &device), WEFT_ERROR_ARGUMENT);
  of_collective.size = sizeof of_collective;
  of_collective.reserved = 7;
  say("reserved field of a collective", weft_collective_create(runtime, endpoint, &of_collective, &all),
      WEFT_ERROR_ARGUMENT);
  REQUIRE(region == NULL && device == NULL && all == NULL);
}

int main(void) {
  weft_runtime* runtime;
  weft_runtime* second = NULL;
  weft_endpoint* endpoint;
  weft_endpoint* serial = NULL;
  weft_completion* queue;
  weft_completion* handler;
  weft_completion* none = NULL;
  weft_completion* counter;
  weft_engine* engine = NULL;
  weft_collective* all;
  weft_message message = {{0}};
  weft_options options = {0};
  weft_reduction reduction = {0};
  weft_expose_options exposed = {0};
  weft_remote remote = 0;
  weft_remote_region nowhere = {0};
  weft_probed probed;
  weft_collective* second_of_key = NULL;
  struct {
    weft_options known;
    uint64_t later;
  } newer;
  char bytes[8] = {0};

  say("no runtime", weft_runtime_create(NULL, NULL), WEFT_ERROR_ARGUMENT);
  {
    weft_attribute attribute = {"packet_size", "enormous"};
    weft_runtime_options given = {0};
    given.size = sizeof given;
    given.attributes = &attribute;
    given.attribute_count = 1;
    say("bad attribute", weft_runtime_create(&given, &second), WEFT_ERROR_USE);
    REQUIRE(second == NULL);
    given.size = 3;
    say("size of options", weft_runtime_create(&given, &second), WEFT_ERROR_ARGUMENT);
  }
  MUST(weft_runtime_create(NULL, &runtime));
  say("rank of null", weft_rank(NULL), WEFT_ERROR_ARGUMENT);
  say("host of nobody", weft_host_of(runtime, 99), WEFT_ERROR_USE);
  say("failure of nobody", weft_has_failed(runtime, -1), WEFT_ERROR_ARGUMENT);
  REQUIRE(weft_attribute_value(runtime, "no_such_attribute") == NULL);
  printf("unknown attribute | %s\n", weft_error_text());

  MUST(weft_endpoint_create(runtime, NULL, &endpoint));
  {
    weft_endpoint_options given = {0};
    given.size = sizeof given;
    given.flags = 8;
    say("flags of an endpoint", weft_endpoint_create(runtime, &given, &serial), WEFT_ERROR_ARGUMENT);
    given.flags = WEFT_SERIAL;
    say("two kinds of endpoint", weft_endpoint_create(runtime, &given, &serial), WEFT_ERROR_USE);
    REQUIRE(serial == NULL);
  }
  MUST(weft_queue_create(NULL, &queue));
  MUST(weft_counter_create(&counter));
  MUST(weft_handler_create(ignore, NULL, &handler));
  say("handler of null", weft_handler_create(NULL, NULL, &none), WEFT_ERROR_ARGUMENT);
  say("a counter is no queue", weft_queue_pop(counter, &message), WEFT_ERROR_ARGUMENT);
  say("a synchronizer of nothing", weft_synchronizer_create(0, &none), WEFT_ERROR_USE);
  REQUIRE(none == NULL);
  EXPECT(weft_queue_pop(queue, &message), WEFT_NOTHING);

  say("expose without options", weft_expose(runtime, queue, NULL, &remote), WEFT_ERROR_ARGUMENT);
  exposed.size = sizeof exposed;
  exposed.id = 70000;
  say("id out of range", weft_expose(runtime, queue, &exposed, &remote), WEFT_ERROR_USE);
  exposed.id = 5;
  MUST(weft_expose(runtime, queue, &exposed, &remote));
  say("id in use", weft_expose(runtime, counter, &exposed, &remote), WEFT_ERROR_USE);
  REQUIRE(weft_remote_on_device(remote, 256) == 0);
  printf("device out of range | %s\n", weft_error_text());

  say("no rank", weft_post_am(endpoint, 99, remote, bytes, 1, NULL), WEFT_ERROR_USE);
  say("no data", weft_post_am(endpoint, 0, remote, NULL, 1, NULL), WEFT_ERROR_ARGUMENT);
  options.size = sizeof options;
  options.engine = 3;
  say("engine of an active message", weft_post_am(endpoint, 0, remote, bytes, 1, &options),
      WEFT_ERROR_ARGUMENT);
  options.engine = 600;
  say("no such engine", weft_post_send(endpoint, 0, 1, bytes, 1, &options), WEFT_ERROR_USE);
  options.engine = 0;
  options.policy = 9;
  say("no such policy", weft_post_send(endpoint, 0, 1, bytes, 1, &options), WEFT_ERROR_ARGUMENT);
  options.policy = 0;
  options.flags = 64;
  say("no such flag", weft_post_send(endpoint, 0, 1, bytes, 1, &options), WEFT_ERROR_ARGUMENT);
  options.flags = 0;
  options.completion = queue;
  say("completion of a receive that waits", weft_receive(endpoint, 0, 1, bytes, 1, &options, NULL),
      WEFT_ERROR_ARGUMENT);
  options.completion = NULL;
  options.timeout_ns = 5;
  say("timeout of a probe", weft_probe(endpoint, 0, 1, &options, &probed), WEFT_ERROR_ARGUMENT);
  options.timeout_ns = 0;
  say("receive without completion", weft_post_receive(endpoint, 0, 1, bytes, 1, &options),
      WEFT_ERROR_ARGUMENT);
  say("any source without order", weft_receive(endpoint, WEFT_ANY_SOURCE, 1, bytes, 1, NULL, NULL),
      WEFT_ERROR_USE);
  memset(&newer, 0, sizeof newer);
  newer.known.size = sizeof newer;
  MUST(weft_send_am(endpoint, 0, remote, bytes, 1, &newer.known));
  newer.later = 1;
  say("a field of a later version", weft_send_am(endpoint, 0, remote, bytes, 1, &newer.known),
      WEFT_ERROR_ARGUMENT);
  MUST(weft_wait_queue(endpoint, queue, 0, &message));
  weft_message_free(&message);
  be_older(endpoint);
  set_reserved(runtime, endpoint);
  be_late(runtime, endpoint);
  mix_runtimes(runtime);

  {
    weft_context_options by = {0};
    weft_context* context = NULL;
    weft_context* second_of_key_42 = NULL;
    weft_team* team = NULL;
    const int twice[2] = {0, 0};
    by.size = sizeof by;
    by.flags = 64;
    say("flags of a context", weft_context_create(runtime, &by, &context), WEFT_ERROR_ARGUMENT);
    by.flags = 0;
    by.key_plus_1 = 43;
    MUST(weft_context_create(runtime, &by, &context));
    say("two contexts of one key", weft_context_create(runtime, &by, &second_of_key_42), WEFT_ERROR_USE);
    REQUIRE(second_of_key_42 == NULL);
    by.endpoint = endpoint;
    say("a key and an endpoint", weft_context_create(runtime, &by, &second_of_key_42), WEFT_ERROR_ARGUMENT);
    options.part = 1;
    say("a part without context", weft_post_send(endpoint, 0, 1, bytes, 1, &options), WEFT_ERROR_ARGUMENT);
    options.context = context;
    say("no such part", weft_post_send(endpoint, 0, 1, bytes, 1, &options), WEFT_ERROR_USE);
    options.part = 0;
    say("tag of a context", weft_post_send(endpoint, 0, 0x100000000u, bytes, 1, &options),
        WEFT_ERROR_ARGUMENT);
    options.engine = 3;
    say("engine in a context", weft_post_send(endpoint, 0, 1, bytes, 1, &options), WEFT_ERROR_ARGUMENT);
    options.engine = 0;
    say("context of an active message", weft_post_am(endpoint, 0, remote, bytes, 1, &options),
        WEFT_ERROR_ARGUMENT);
    options.context = NULL;
    options.flags = WEFT_SYNCHRONOUS;
    say("synchronous active message", weft_post_am(endpoint, 0, remote, bytes, 1, &options),
        WEFT_ERROR_ARGUMENT);
    say("synchronous without completion", weft_post_send(endpoint, 0, 1, bytes, 1, &options), WEFT_ERROR_USE);
    options.flags = 0;
    weft_context_destroy(context);
    say("a rank twice in a team", weft_team_create(runtime, twice, 2, &team), WEFT_ERROR_USE);
    say("a range that leaves the job", weft_team_of_range(runtime, 0, 3, 1, &team), WEFT_ERROR_USE);
    REQUIRE(team == NULL);
    say("size of no team", weft_team_size(NULL), WEFT_ERROR_ARGUMENT);
  }

  nowhere.rank = -1;
  say("a region of nobody", weft_put(endpoint, 0, &nowhere, 0, bytes, 1, NULL), WEFT_ERROR_USE);
  say("no region", weft_get(endpoint, 0, NULL, 0, bytes, 1, NULL), WEFT_ERROR_ARGUMENT);
  say("no packet", weft_packet_put(runtime, bytes), WEFT_ERROR_ARGUMENT);
  say("engine without options", weft_engine_create(runtime, NULL, &engine), WEFT_ERROR_ARGUMENT);

  MUST(weft_collective_create(runtime, endpoint, NULL, &all));
  say("two of one key", weft_collective_create(runtime, endpoint, NULL, &second_of_key), WEFT_ERROR_USE);
  REQUIRE(second_of_key == NULL);
  say("root that is no rank", weft_broadcast(all, bytes, sizeof bytes, 5), WEFT_ERROR_USE);
  reduction.size = sizeof reduction;
  reduction.type = WEFT_DOUBLE;
  reduction.operation = WEFT_BIT_AND;
  say("bits of doubles", weft_allreduce(all, bytes, bytes, 1, &reduction), WEFT_ERROR_ARGUMENT);
  reduction.operation = WEFT_SUM;
  say("more than memory", weft_allreduce(all, bytes, bytes, SIZE_MAX, &reduction), WEFT_ERROR_ARGUMENT);
  reduction.type = 77;
  say("no such type", weft_allreduce(all, bytes, bytes, 1, &reduction), WEFT_ERROR_ARGUMENT);

  {
    weft_collective_arguments what = {0};
    what.size = sizeof what;
    what.kind = 40;
    say("no such collective", weft_collective_run(all, &what), WEFT_ERROR_ARGUMENT);
    what.kind = WEFT_COLLECTIVE_REDUCE;
    say("no reduction", weft_collective_run(all, &what), WEFT_ERROR_USE);
    what.kind = WEFT_COLLECTIVE_BROADCAST;
    what.to_count = 8;
    say("no buffer", weft_collective_post(all, &what, NULL, NULL), WEFT_ERROR_USE);
    say("no arguments", weft_collective_run(all, NULL), WEFT_ERROR_ARGUMENT);
  }
  weft_collective_destroy(all);
  weft_completion_destroy(NULL);
  weft_completion_destroy(handler);
  weft_completion_destroy(counter);
  weft_completion_destroy(queue);
  say("a queue that has been destroyed", weft_queue_pop(queue, &message), WEFT_ERROR_ARGUMENT);
  say("destroyed twice", weft_completion_destroy(queue), WEFT_ERROR_ARGUMENT);
  say("another kind of handle", weft_endpoint_destroy((weft_endpoint*)runtime), WEFT_ERROR_ARGUMENT);
  say("no handle", weft_endpoint_destroy((weft_endpoint*)bytes), WEFT_ERROR_ARGUMENT);
  weft_endpoint_destroy(endpoint);
  weft_runtime_destroy(runtime);
  say("a runtime that has been destroyed", weft_rank(runtime), WEFT_ERROR_ARGUMENT);
  return 0;
}
