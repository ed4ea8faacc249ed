/* A token goes round all ranks a thousand times, by sends and receives in MPI's order. */
#include "check.h"

int main(void) {
  weft_runtime* runtime;
  weft_endpoint* endpoint;
  weft_engine* engine;
  weft_engine_options ordered = {0};
  weft_options options = {0};
  uint64_t hops = 0;
  int round, rank, size;
  MUST(weft_runtime_create(NULL, &runtime));
  MUST(weft_endpoint_create(runtime, NULL, &endpoint));
  ordered.size = sizeof ordered;
  ordered.id = 300;
  ordered.flags = WEFT_ORDERED;
  MUST(weft_engine_create(runtime, &ordered, &engine));
  options.size = sizeof options;
  options.engine = ordered.id;
  rank = weft_rank(runtime);
  size = weft_size(runtime);

  if (rank == 0) MUST(weft_send(endpoint, (rank + 1) % size, 7, &hops, sizeof hops, &options));
  for (round = 0; round < 1000; ++round) {
    MUST(weft_receive(endpoint, WEFT_ANY_SOURCE, WEFT_ANY_TAG, &hops, sizeof hops, &options, NULL));
    ++hops;
    if (rank != 0 || round < 999)
      MUST(weft_send(endpoint, (rank + 1) % size, 7, &hops, sizeof hops, &options));
  }
  if (rank == 0) printf("%llu hops\n", (unsigned long long)hops);

  weft_engine_destroy(engine);
  weft_endpoint_destroy(endpoint);
  weft_runtime_destroy(runtime);
  return 0;
}
