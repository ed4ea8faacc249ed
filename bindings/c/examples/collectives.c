/* Sums, maxima by an operator of the program, and blocks that all ranks exchange. */
#include "check.h"

static void keep_longer(void* to, const void* from, size_t count, void* context) {
  double* const target = to;
  const double* const source = from;
  size_t i;
  (void)context;
  for (i = 0; i < count; ++i)
    if (source[i] * source[i] > target[i] * target[i]) target[i] = source[i];
}

int main(void) {
  weft_runtime* runtime;
  weft_endpoint* endpoint;
  weft_collective* all;
  weft_reduction sum = {0};
  weft_reduction longer = {0};
  int64_t* blocks;
  int rank, size, i;
  MUST(weft_runtime_create(NULL, &runtime));
  MUST(weft_endpoint_create(runtime, NULL, &endpoint));
  MUST(weft_collective_create(runtime, endpoint, NULL, &all));
  rank = weft_rank(runtime);
  size = weft_size(runtime);

  {
    const int64_t mine[2] = {rank, 1};
    int64_t total[2] = {0, 0};
    sum.size = sizeof sum;
    sum.type = WEFT_INT64;
    sum.operation = WEFT_SUM;
    MUST(weft_allreduce(all, mine, total, 2, &sum));
    REQUIRE(total[0] == size * (size - 1) / 2 && total[1] == size);
    MUST(weft_inclusive_scan(all, mine, total, 2, &sum));
    REQUIRE(total[1] == rank + 1);
  }
  {
    const double mine = rank % 2 == 0 ? rank : -rank;
    double longest = 0;
    longer.size = sizeof longer;
    longer.combine = keep_longer;
    longer.element_size = sizeof mine;
    MUST(weft_reduce(all, &mine, &longest, 1, &longer, 0));
    if (rank == 0) REQUIRE(longest == ((size - 1) % 2 == 0 ? size - 1 : 1 - size));
  }
  blocks = malloc(2 * sizeof *blocks * (size_t)size);
  REQUIRE(blocks != NULL);
  for (i = 0; i < size; ++i) blocks[i] = 1000 * rank + i;
  MUST(weft_alltoall(all, blocks, blocks + size, sizeof *blocks));
  for (i = 0; i < size; ++i) REQUIRE(blocks[size + i] == 1000 * i + rank);
  MUST(weft_broadcast(all, blocks, sizeof *blocks * (size_t)size, size - 1));
  for (i = 0; i < size; ++i) REQUIRE(blocks[i] == 1000 * (size - 1) + i);
  MUST(weft_collective_barrier(all));
  if (rank == 0) printf("%d ranks agree\n", size);

  free(blocks);
  weft_collective_destroy(all);
  weft_endpoint_destroy(endpoint);
  weft_runtime_destroy(runtime);
  return 0;
}
