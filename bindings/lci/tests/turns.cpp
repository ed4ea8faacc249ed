// Threads that meet by a synchronizer, and spin outside of the library until they have, leave the core to
// each other: once in each round.
#include <chrono>

#include "check.hpp"

namespace {
int yields = 0;
}

/// The library yields by this one, which takes as long as where other threads want the core.
extern "C" int sched_yield() {
  ++yields;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::microseconds(10)) continue;
  return 0;
}

int main() {
  lci::g_runtime_init();
  lci::comp_t sync = lci::alloc_sync_x().threshold(3)(), queue = lci::alloc_cq();
  lci::status_t taken[3];
  yields = 0;
  for (int round = 1; round <= 20; ++round) {
    for (int signals = 0; signals < 3; ++signals) lci::comp_signal(sync, lci::status_t(&sync));
    CHECK(yields == round);
    CHECK(lci::sync_test(sync, taken));
    // Nobody waits for a queue to be complete.
    lci::comp_signal(queue, lci::status_t(&sync));
    CHECK(lci::cq_pop(queue).user_context == &sync && yields == round);
  }
  lci::free_comp(&sync);
  lci::free_comp(&queue);
  lci::g_runtime_fina();
  std::puts("ok");
}
