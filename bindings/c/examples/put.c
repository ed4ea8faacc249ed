/* Every rank puts its number into the memory of all, counts itself there, and reads it back. */
#include "check.h"

#include <string.h>

int main(void) {
  weft_runtime* runtime;
  weft_endpoint* endpoint;
  weft_region* region;
  weft_remote_region own;
  weft_remote_region* keys;
  int rank, size, peer;
  uint64_t one = 1;
  const uint64_t* memory;
  MUST(weft_runtime_create(NULL, &runtime));
  MUST(weft_endpoint_create(runtime, NULL, &endpoint));
  rank = weft_rank(runtime);
  size = weft_size(runtime);
  /* A counter, and a number of each rank. */
  MUST(weft_region_allocate(runtime, sizeof(uint64_t) * (size_t)(size + 1), &region));
  MUST(weft_region_key(region, &own));
  keys = malloc(sizeof own * (size_t)size);
  REQUIRE(keys != NULL);
  MUST(weft_allgather_bytes(runtime, &own, sizeof own, keys));

  for (peer = 0; peer < size; ++peer) {
    const uint64_t number = 100 + (uint64_t)rank;
    const uint64_t offset = sizeof number * (uint64_t)(rank + 1);
    uint64_t back = 0;
    MUST(weft_put(endpoint, peer, &keys[peer], offset, &number, sizeof number, NULL));
    MUST(weft_get(endpoint, peer, &keys[peer], offset, &back, sizeof back, NULL));
    REQUIRE(back == number);
    MUST(weft_atomic(endpoint, peer, &keys[peer], 0, WEFT_UINT64, WEFT_ATOMIC_ADD, &one, NULL, NULL));
  }
  MUST(weft_flush(endpoint, WEFT_ANY_SOURCE));
  memory = weft_region_data(region);
  /* Ranks that have not put yet need this one to progress. */
  {
    uint64_t there = 0;
    while (there != (uint64_t)size) MUST(weft_get(endpoint, rank, &own, 0, &there, sizeof there, NULL));
  }
  for (peer = 0; peer < size; ++peer) REQUIRE(memory[peer + 1] == 100 + (uint64_t)peer);
  if (rank == 0) printf("%llu ranks have put\n", (unsigned long long)memory[0]);
  MUST(weft_barrier(runtime));

  free(keys);
  weft_region_destroy(region);
  weft_endpoint_destroy(endpoint);
  weft_runtime_destroy(runtime);
  return 0;
}
