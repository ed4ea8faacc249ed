/* Four threads of each rank, each with a device of its own, exchange messages with the threads of the next
 * rank. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, MESSAGES = 10000 };

static weft_runtime* runtime;

struct worker {
  pthread_t thread;
  weft_device* device;
  weft_endpoint* endpoint;
  weft_completion* counter;
  weft_remote remote;
};

static void* work(void* context) {
  struct worker* own = context;
  const int next = (weft_rank(runtime) + 1) % weft_size(runtime);
  const weft_remote there = weft_remote_on_device(own->remote, weft_device_index(own->device));
  int sent = 0;
  uint64_t payload = 1;
  while (sent < MESSAGES) {
    const weft_result result = weft_post_am(own->endpoint, next, there, &payload, sizeof payload, NULL);
    if (weft_is_retry(result))
      (void)weft_progress(own->endpoint);
    else {
      MUST(result);
      ++sent;
    }
  }
  MUST(weft_wait_counter(own->endpoint, own->counter, MESSAGES, 0));
  MUST(weft_wait_drained(own->endpoint, 0));
  return NULL;
}

int main(void) {
  struct worker workers[THREADS];
  uint64_t received = 0;
  uint32_t i;
  MUST(weft_runtime_create(NULL, &runtime));
  for (i = 0; i < THREADS; ++i) {
    weft_device_options device = {0};
    weft_endpoint_options endpoint = {0};
    weft_expose_options exposed = {0};
    device.size = sizeof device;
    device.index_plus_1 = i + 1;
    MUST(weft_device_create(runtime, &device, &workers[i].device));
    endpoint.size = sizeof endpoint;
    endpoint.device = workers[i].device;
    endpoint.flags = WEFT_SERIAL;
    MUST(weft_endpoint_create(runtime, &endpoint, &workers[i].endpoint));
    MUST(weft_counter_create(&workers[i].counter));
    exposed.size = sizeof exposed;
    exposed.id = i + 1;
    exposed.device = i;
    MUST(weft_expose(runtime, workers[i].counter, &exposed, &workers[i].remote));
  }
  for (i = 0; i < THREADS; ++i) REQUIRE(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
  for (i = 0; i < THREADS; ++i) {
    REQUIRE(pthread_join(workers[i].thread, NULL) == 0);
    received += weft_counter_value(workers[i].counter);
  }
  if (weft_rank(runtime) == 0) printf("%llu messages\n", (unsigned long long)received);
  for (i = 0; i < THREADS; ++i) {
    weft_completion_destroy(workers[i].counter);
    weft_endpoint_destroy(workers[i].endpoint);
    weft_device_destroy(workers[i].device);
  }
  weft_runtime_destroy(runtime);
  return 0;
}
