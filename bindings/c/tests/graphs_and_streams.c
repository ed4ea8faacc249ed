/* Any number of ranks: graphs of operations and functions, streams and their groups. */
#include "../examples/check.h"
#include "meeting.h"

#include <string.h>

static weft_runtime* runtime;
static weft_endpoint* endpoint;
static int rank, size;

typedef struct Sum {
  const int32_t* from;
  int32_t* to;
} Sum;
static weft_result add_one(void* context) {
  Sum* sum = context;
  *sum->to = *sum->from + 1;
  return WEFT_OK;
}
static weft_result fail(void* context) {
  (void)context;
  return WEFT_TRUNCATED;
}

/* A number goes around the ring: each rank receives it, adds one, sends it on. Several runs. */
static void run_graph(void) {
  weft_graph* graph;
  weft_graph* outer;
  weft_completion* ended;
  int32_t in = -1, out = 0, round;
  Sum sum;
  uint32_t receive, add, send, inner;
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  sum.from = &in;
  sum.to = &out;
  MUST(weft_graph_create(&graph));
  MUST(weft_graph_create(&outer));
  MUST(weft_counter_create(&ended));
  if (rank != 0) {
    MUST(weft_graph_add_receive(graph, endpoint, left, 5, &in, sizeof in, NULL, &receive));
    MUST(weft_graph_add_function(graph, add_one, &sum, &add));
    MUST(weft_graph_add_send(graph, endpoint, right, 5, &out, sizeof out, NULL, &send));
    MUST(weft_graph_order(graph, receive, add));
    MUST(weft_graph_order(graph, add, send));
  } else {
    MUST(weft_graph_add_send(graph, endpoint, right, 5, &out, sizeof out, NULL, &send));
    MUST(weft_graph_add_receive(graph, endpoint, left, 5, &in, sizeof in, NULL, &receive));
  }
  MUST(weft_graph_add_graph(outer, graph, &inner));
  MUST(weft_graph_set_completion(outer, ended, NULL));
  MUST(weft_graph_prepare(outer));
  for (round = 0; round < 3; ++round) {
    in = -1;
    if (rank == 0) out = round;
    EXPECT(weft_graph_start(outer), WEFT_POSTED);
    MUST(weft_graph_wait(outer, endpoint, round == 0 ? 0 : 60000000000));
    REQUIRE(weft_graph_test(outer) == 1 && weft_graph_node_outcome(outer, inner) == WEFT_OK);
    REQUIRE(in == (rank == 0 ? round + size - 1 : round + rank - 1));
    MUST(weft_barrier(runtime));
  }
  REQUIRE(weft_counter_value(ended) == 3);
  weft_graph_destroy(outer);
  weft_graph_destroy(graph);
  weft_completion_destroy(ended);
}

/* Each rank puts its number into the right one's region, and gets from there what the region began with. */
static void access_in_graph(void) {
  weft_graph* graph;
  weft_region* region;
  weft_remote_region own, there;
  weft_remote_region* all;
  uint32_t get, put;
  const int right = (rank + 1) % size;
  int32_t mine = 100 + rank, began = -1;
  int32_t* words;
  MUST(weft_region_allocate(runtime, 2 * sizeof(int32_t), &region));
  words = weft_region_data(region);
  words[0] = 10 + rank;
  MUST(weft_region_key(region, &own));
  REQUIRE((all = calloc((size_t)size, sizeof *all)) != NULL);
  MUST(weft_allgather_bytes(runtime, &own, sizeof own, all));
  there = all[right];
  free(all);
  MUST(weft_graph_create(&graph));
  MUST(weft_graph_add_get(graph, endpoint, right, &there, 0, &began, sizeof began, NULL, &get));
  MUST(weft_graph_add_put(graph, endpoint, right, &there, sizeof mine, &mine, sizeof mine, NULL, &put));
  EXPECT(weft_graph_add_put(graph, endpoint, right, NULL, 0, &mine, sizeof mine, NULL, NULL),
         WEFT_ERROR_ARGUMENT);
  MUST(weft_graph_order(graph, get, put));
  EXPECT(weft_graph_start(graph), WEFT_POSTED);
  MUST(weft_graph_wait(graph, endpoint, 0));
  MUST(weft_graph_node_outcome(graph, get));
  MUST(weft_graph_node_outcome(graph, put));
  REQUIRE(began == 10 + right);
  MUST(weft_flush(endpoint, right));
  answer_until_all_are_here(runtime, endpoint);
  REQUIRE(words[1] == 100 + (rank + size - 1) % size);
  MUST(weft_barrier(runtime));
  weft_graph_destroy(graph);
  weft_region_destroy(region);
}

/* A node that fails ends the graph; what comes behind it is not begun. A graph is a completion object. */
static void fail_in_graph(void) {
  weft_graph* graph;
  weft_completion* in_graph;
  weft_expose_options exposed = {0};
  weft_options options = {0};
  weft_remote remote;
  int32_t in = 0, out = 0;
  Sum sum;
  uint32_t first, second;
  sum.from = &in;
  sum.to = &out;
  MUST(weft_graph_create(&graph));
  MUST(weft_graph_add_function(graph, fail, NULL, &first));
  MUST(weft_graph_add_function(graph, add_one, &sum, &second));
  MUST(weft_graph_order(graph, first, second));
  EXPECT(weft_graph_order(graph, first, 9), WEFT_ERROR_ARGUMENT);
  EXPECT(weft_graph_add_function(graph, NULL, NULL, NULL), WEFT_ERROR_ARGUMENT);
  in_graph = weft_graph_completion(graph);
  options.size = sizeof options;
  options.completion = in_graph;
  EXPECT(weft_graph_add_send(graph, endpoint, rank, 1, &in, 1, &options, NULL), WEFT_ERROR_ARGUMENT);
  MUST(weft_graph_prepare(graph));
  exposed.size = sizeof exposed;
  exposed.id = 9;
  MUST(weft_expose(runtime, in_graph, &exposed, &remote));
  MUST(weft_send_am(endpoint, rank, remote, &in, sizeof in, NULL));
  EXPECT(weft_graph_wait(graph, endpoint, 0), WEFT_TRUNCATED);
  EXPECT(weft_graph_outcome(graph), WEFT_TRUNCATED);
  EXPECT(weft_graph_node_outcome(graph, second), WEFT_CANCELLED);
  REQUIRE(out == 0);
  EXPECT(weft_completion_destroy(in_graph), WEFT_ERROR_ARGUMENT);
  REQUIRE(strstr(weft_error_text(), "belongs to a graph") != NULL);
  weft_graph_destroy(graph);
}

static void use_streams(void) {
  weft_stream* streams[2];
  weft_stream_group* group;
  weft_stream_group* copy;
  weft_stream_group_options by = {0};
  weft_collective_options by_collective = {0};
  weft_collective* refused;
  weft_stream_address right, from;
  weft_options options = {0};
  weft_receive_handle handle;
  weft_completion* done;
  weft_message message = {{0}};
  weft_probed probed;
  int32_t got = -1, mine = rank;
  weft_result result;
  MUST(weft_stream_create(runtime, NULL, &streams[0]));
  MUST(weft_stream_create(runtime, NULL, &streams[1]));
  REQUIRE(weft_stream_index(streams[0]) != weft_stream_index(streams[1]));
  by.size = sizeof by;
  by.collective_index = 1;
  MUST(weft_stream_group_create(runtime, streams, 2, &by, &group));
  MUST(weft_stream_group_duplicate(group, &copy));
  REQUIRE(weft_stream_group_streams(group, rank) == 2);
  MUST(weft_counter_create(&done));

  /* From the own stream 0 to stream 1 of the right neighbour. */
  right.rank = (rank + 1) % size;
  right.index = 1;
  from.rank = WEFT_ANY_SOURCE;
  from.index = WEFT_ANY_INDEX;
  options.size = sizeof options;
  options.completion = done;
  options.handle = &handle;
  EXPECT(weft_stream_post_receive(copy, 1, from, 8, &got, sizeof got, &options), WEFT_POSTED);
  MUST(weft_stream_send(group, 0, right, 8, &mine, sizeof mine, NULL));
  MUST(weft_stream_receive(group, 1, from, WEFT_ANY_TAG, &got, sizeof got, NULL, &message));
  from = weft_stream_sender(group, &message);
  REQUIRE(got == (rank + size - 1) % size && from.rank == got && from.index == 0);
  REQUIRE((uint32_t)weft_message_tag(&message) == 8);
  weft_message_free(&message);
  REQUIRE(weft_counter_value(done) == 0); /* the message was of the other group */
  REQUIRE(weft_stream_cancel(copy, 1, &handle) == 1 && weft_counter_value(done) == 1);

  options.handle = NULL;
  options.flags = WEFT_NO_RETRY;
  result = weft_stream_post_send(group, 0, right, 9, &mine, sizeof mine, &options);
  REQUIRE(result == WEFT_POSTED);
  from.rank = (rank + size - 1) % size;
  from.index = 0;
  while (weft_stream_probe(group, 1, from, 9, &probed) == WEFT_NOTHING)
    (void)weft_progress(weft_stream_endpoint(streams[1]));
  REQUIRE(probed.length == sizeof mine);
  MUST(weft_stream_receive(group, 1, from, 9, &got, sizeof got, NULL, NULL));
  MUST(weft_wait_counter(weft_stream_endpoint(streams[0]), done, 2, 60000000000));

  MUST(weft_collective_barrier(weft_stream_group_collective(group)));
  by_collective.size = sizeof by_collective;
  by_collective.key = 3;
  EXPECT(weft_collective_create(runtime, weft_stream_endpoint(streams[0]), &by_collective, &refused),
         WEFT_ERROR_ARGUMENT);
  options.engine = 3;
  EXPECT(weft_stream_post_send(group, 0, right, 9, &mine, sizeof mine, &options), WEFT_ERROR_ARGUMENT);
  options.engine = 0;
  EXPECT(weft_stream_post_send(group, 2, right, 9, &mine, sizeof mine, &options), WEFT_ERROR_ARGUMENT);
  EXPECT(weft_stream_post_send(group, 0, right, WEFT_ANY_TAG, &mine, sizeof mine, &options),
         WEFT_ERROR_ARGUMENT);
  right.index = 5;
  EXPECT(weft_stream_post_send(group, 0, right, 9, &mine, sizeof mine, &options), WEFT_ERROR_USE);
  weft_completion_destroy(done);
  weft_stream_group_destroy(copy);
  weft_stream_group_destroy(group);
  MUST(weft_stream_close(streams[0]));
  weft_stream_destroy(streams[0]);
  weft_stream_destroy(streams[1]);
}

/* The shared stream, for an active message by its endpoint. */
static void use_null_stream(void) {
  weft_stream* stream;
  weft_completion* queue;
  weft_expose_options exposed = {0};
  weft_message message = {{0}};
  weft_remote remote;
  MUST(weft_stream_null(runtime, &stream));
  REQUIRE(weft_stream_index(stream) == 0);
  MUST(weft_queue_create(NULL, &queue));
  exposed.size = sizeof exposed;
  exposed.id = 10;
  MUST(weft_expose(runtime, queue, &exposed, &remote));
  MUST(weft_barrier(runtime));
  MUST(weft_send_am(weft_stream_endpoint(stream), (rank + 1) % size, remote, "null", 5, NULL));
  MUST(weft_wait_queue(weft_stream_endpoint(stream), queue, 0, &message));
  REQUIRE(strcmp(weft_message_data(&message), "null") == 0);
  weft_message_free(&message);
  weft_completion_destroy(queue);
  weft_stream_destroy(stream);
}

int main(void) {
  MUST(weft_runtime_create(NULL, &runtime));
  MUST(weft_endpoint_create(runtime, NULL, &endpoint));
  rank = weft_rank(runtime);
  size = weft_size(runtime);
  run_graph();
  access_in_graph();
  fail_in_graph();
  use_streams();
  use_null_stream();
  MUST(weft_barrier(runtime));
  weft_endpoint_destroy(endpoint);
  weft_runtime_destroy(runtime);
  puts("ok");
  return 0;
}
