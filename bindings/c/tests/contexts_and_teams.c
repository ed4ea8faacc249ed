/* Any number of ranks: matching contexts, sends that are synchronous or cancelled, teams, and collectives by
 * arguments. */
#include "../examples/check.h"

#include <string.h>

static weft_runtime* runtime;
static weft_endpoint* endpoint;
static int rank, size;

static weft_context* context_by(uint32_t flags, uint32_t key_plus_1, uint32_t count) {
  weft_context_options options = {0};
  weft_context* context;
  options.size = sizeof options;
  options.flags = flags;
  options.key_plus_1 = key_plus_1;
  options.count = count;
  MUST(weft_context_create(runtime, &options, &context));
  return context;
}

/* The same tag to itself in two contexts, and in two parts of one. */
static void keep_messages_apart(void) {
  weft_context* agreed = context_by(WEFT_ORDERED, 0, 1);
  weft_context* ruled = context_by(0, 42, 2);
  weft_options options = {0};
  weft_message message = {{0}};
  weft_probed probed;
  char text[8] = {0};
  options.size = sizeof options;
  options.context = agreed;
  MUST(weft_send(endpoint, rank, 7, "agreed", 7, &options));
  options.context = ruled;
  options.part = 1;
  MUST(weft_send(endpoint, rank, 7, "second", 7, &options));
  options.part = 0;
  MUST(weft_send(endpoint, rank, 7, "first", 6, &options));

  MUST(weft_receive(endpoint, rank, 7, text, sizeof text, &options, &message));
  REQUIRE(strcmp(text, "first") == 0 && (uint32_t)weft_message_tag(&message) == 7);
  weft_message_free(&message);
  options.part = 1;
  MUST(weft_receive(endpoint, rank, 7, text, sizeof text, &options, NULL));
  REQUIRE(strcmp(text, "second") == 0);
  options.part = 0;
  options.context = agreed;
  MUST(weft_wait_probe(endpoint, WEFT_ANY_SOURCE, WEFT_ANY_TAG, &options, &probed));
  REQUIRE(probed.peer == rank && (uint32_t)probed.tag == 7 && probed.length == 7);
  MUST(weft_receive(endpoint, WEFT_ANY_SOURCE, WEFT_ANY_TAG, text, sizeof text, &options, NULL));
  REQUIRE(strcmp(text, "agreed") == 0);
  weft_context_destroy(ruled);
  weft_context_destroy(agreed);
  weft_context_destroy(NULL);
}

/* Numbers that this rank takes for itself alone. */
static void make_context_of_numbers(void) {
  weft_context_numbers numbers;
  weft_context_options by = {0};
  weft_context* context;
  weft_options options = {0};
  char byte = 0;
  by.size = sizeof by;
  MUST(weft_context_reserve(runtime, 1, &numbers));
  MUST(weft_context_of(runtime, numbers, &by, &context));
  options.size = sizeof options;
  options.context = context;
  MUST(weft_send(endpoint, rank, 1, "x", 1, &options));
  MUST(weft_receive(endpoint, rank, 1, &byte, 1, &options, NULL));
  REQUIRE(byte == 'x');
  weft_context_destroy(context);
  MUST(weft_context_reserve(runtime, 3, &numbers));
  MUST(weft_context_give_back(runtime, numbers));
}

static void send_synchronously(void) {
  weft_completion* sent;
  weft_options options = {0};
  weft_send_handle handle;
  weft_result result;
  char byte = 0;
  MUST(weft_counter_create(&sent));
  options.size = sizeof options;
  options.completion = sent;
  options.flags = WEFT_SYNCHRONOUS | WEFT_NO_RETRY;
  options.send_handle = &handle;
  result = weft_post_send(endpoint, rank, 3, "s", 1, &options);
  REQUIRE(result == WEFT_POSTED);
  (void)weft_progress(endpoint);
  REQUIRE(weft_counter_value(sent) == 0);
  MUST(weft_receive(endpoint, rank, 3, &byte, 1, NULL, NULL));
  MUST(weft_wait_counter(endpoint, sent, 1, 0));
  REQUIRE(byte == 's' && weft_cancel_send(endpoint, &handle) == 0);

  EXPECT(weft_post_send(endpoint, rank, 4, "t", 1, &options), WEFT_POSTED);
  REQUIRE(weft_cancel_send(endpoint, &handle) == 1);
  MUST(weft_wait_counter(endpoint, sent, 2, 0));
  weft_completion_destroy(sent);
}

static void make_teams(weft_collective* all) {
  weft_team* half;
  weft_team* world;
  weft_team* host;
  weft_team* leaders;
  weft_team* back;
  weft_team* listed;
  weft_collective_options options = {0};
  weft_collective* of_half;
  weft_reduction sum = {0};
  int64_t mine = rank;
  int64_t total = -1;
  int64_t expected = 0;
  int i;
  MUST(weft_team_of_world(runtime, &world));
  MUST(weft_team_of_host(runtime, &host));
  MUST(weft_team_of_leaders(runtime, &leaders));
  REQUIRE(weft_team_size(world) == size && weft_team_rank(world) == rank);
  REQUIRE(weft_team_rank_of(host, rank) >= 0 && weft_team_size(leaders) == weft_hosts(runtime));
  MUST(weft_team_of_range(runtime, size - 1, size, -1, &back));
  REQUIRE(weft_team_rank(back) == size - 1 - rank && weft_team_job_rank(back, 0) == size - 1);
  MUST(weft_team_create(runtime, &rank, 1, &listed));
  REQUIRE(weft_team_size(listed) == 1 && weft_team_rank_of(listed, rank) == 0);

  /* Halves by parity, in descending order. */
  MUST(weft_team_split(all, rank % 2, -rank, &half));
  for (i = rank % 2; i < size; i += 2) expected += i;
  options.size = sizeof options;
  options.key = 77;
  options.team = half;
  MUST(weft_collective_create(runtime, endpoint, &options, &of_half));
  REQUIRE(weft_collective_size(of_half) == weft_team_size(half));
  REQUIRE(weft_collective_rank(of_half) == weft_team_rank(half));
  sum.size = sizeof sum;
  sum.type = WEFT_INT64;
  sum.operation = WEFT_SUM;
  MUST(weft_allreduce(of_half, &mine, &total, 1, &sum));
  REQUIRE(total == expected);
  weft_team_destroy(half);
  weft_collective_destroy(of_half);
  weft_team_destroy(listed);
  weft_team_destroy(back);
  weft_team_destroy(leaders);
  weft_team_destroy(host);
  weft_team_destroy(world);
  weft_team_destroy(NULL);
}

/* The last of two numbers: associative, and not commutative. */
static void take_last(void* to, const void* from, size_t count, void* context) {
  (void)context;
  memcpy(to, from, count * sizeof(int32_t));
}

static void run_by_arguments(weft_collective* all) {
  weft_collective_arguments what = {0};
  weft_collective_operation* operation;
  weft_reduction last = {0};
  weft_completion* ended;
  size_t counts[64];
  int32_t gathered[64 * 64];
  int32_t mine[64];
  int32_t result = -1;
  int others[2];
  size_t sum = 0;
  int i, k, round;
  REQUIRE(size <= 64);
  MUST(weft_counter_create(&ended));

  /* Rank i gives i + 1 numbers. */
  for (i = 0; i < size; ++i) counts[i] = (size_t)i + 1, sum += counts[i];
  for (i = 0; i <= rank; ++i) mine[i] = 100 * rank + i;
  what.size = sizeof what;
  what.kind = WEFT_COLLECTIVE_ALLGATHER;
  what.from = mine;
  what.to = gathered;
  what.element_size = sizeof(int32_t);
  what.count = (size_t)rank + 1;
  what.to_count = sum;
  what.has_counts = 1;
  what.to_counts = counts;
  for (round = 0; round < 2; ++round) {
    memset(gathered, 0xff, sizeof gathered);
    if (round == 0) {
      MUST(weft_collective_run(all, &what));
    } else {
      EXPECT(weft_collective_post(all, &what, ended, NULL), WEFT_POSTED);
      MUST(weft_wait_counter(endpoint, ended, 1, 0));
      MUST(weft_collective_wait(all));
    }
    for (i = 0, sum = 0; i < size; ++i)
      for (k = 0; k <= i; ++k) REQUIRE(gathered[sum++] == 100 * i + k);
  }

  /* In the order of ranks, made once and started twice. */
  last.size = sizeof last;
  last.combine = take_last;
  last.element_size = sizeof(int32_t);
  last.in_order = 1;
  memset(&what, 0, sizeof what);
  what.size = sizeof what;
  what.kind = WEFT_COLLECTIVE_ALLREDUCE;
  what.from = mine;
  what.to = &result;
  what.count = what.to_count = 1;
  what.reduction = &last;
  MUST(weft_collective_operation_create(all, &what, &operation));
  for (round = 0; round < 2; ++round) {
    result = -1;
    EXPECT(weft_collective_operation_start(operation), WEFT_POSTED);
    MUST(weft_collective_operation_wait(operation));
    REQUIRE(weft_collective_operation_test(operation) == 1 && result == 100 * (size - 1));
  }
  weft_collective_operation_destroy(operation);

  /* A ring, by neighbours. */
  others[0] = (rank + size - 1) % size;
  others[1] = (rank + 1) % size;
  memset(&what, 0, sizeof what);
  what.size = sizeof what;
  what.kind = WEFT_COLLECTIVE_NEIGHBOR_ALLGATHER;
  what.from = mine;
  what.to = gathered;
  what.element_size = sizeof(int32_t);
  what.count = 1;
  what.to_count = 1;
  what.sources = &others[0];
  what.destinations = &others[1];
  what.source_count = what.destination_count = 1;
  MUST(weft_collective_run(all, &what));
  REQUIRE(gathered[0] == 100 * others[0]);
  weft_completion_destroy(ended);
}

int main(void) {
  weft_collective* all;
  MUST(weft_runtime_create(NULL, &runtime));
  MUST(weft_endpoint_create(runtime, NULL, &endpoint));
  rank = weft_rank(runtime);
  size = weft_size(runtime);
  MUST(weft_collective_create(runtime, endpoint, NULL, &all));
  keep_messages_apart();
  make_context_of_numbers();
  send_synchronously();
  make_teams(all);
  run_by_arguments(all);
  MUST(weft_collective_barrier(all));
  weft_collective_destroy(all);
  weft_endpoint_destroy(endpoint);
  weft_runtime_destroy(runtime);
  puts("ok");
  return 0;
}
