/* How test programs wait for all ranks while others still need answers of this one. */
#ifndef WEFT_C_TESTS_MEETING_H
#define WEFT_C_TESTS_MEETING_H

#include "../examples/check.h"

/* weft_barrier() would not answer. */
static void answer_until_all_are_here(weft_runtime* runtime, weft_endpoint* endpoint) {
  weft_collective* all;
  MUST(weft_collective_create(runtime, endpoint, NULL, &all));
  MUST(weft_collective_barrier(all));
  weft_collective_destroy(all);
}

#endif
