// A rank of four is killed while two others communicate with it: progress throws for it once, what was
// posted to it ends as fatal, and the others go on and leave. The fourth rank has no part in it: progress
// throws there only once it has posted to the rank as well.
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "check.hpp"

namespace {
constexpr int kVictim = 1, kBystander = 3;

long arrived = 0;
void on_message(lci::status_t status) {
  std::free(status.buffer);
  ++arrived;
}

/// Progresses until it throws for the failed rank.
void await_failure() {
  for (;;) {
    try {
      lci::progress();
    } catch (const lci::peer_failure_error& error) {
      CHECK(error.failed_rank() == kVictim);
      CHECK(std::string(error.what()).find("rank 1") != std::string::npos);
      return;
    }
  }
}
/// A collective of all ranks cannot end.
void fail_in_barrier() {
  try {
    lci::barrier();
    CHECK(false);
  } catch (const lci::peer_failure_error& error) {
    CHECK(error.failed_rank() == kVictim);
  }
}

void stand_by(lci::rcomp_t remote) {
  fail_in_barrier();  // now the failure is known here
  for (int i = 0; i < 1000; ++i) lci::progress();
  lci::post_am(kVictim, nullptr, 0, lci::COMP_NULL_RETRY, remote);
  await_failure();
}

int leave(lci::comp_t handler, lci::comp_t ends) {
  lci::free_comp(&ends);
  lci::free_comp(&handler);
  lci::g_runtime_fina();
  std::puts("ok");
  return 0;
}
}  // namespace

int main() {
  lci::g_runtime_init();
  const int me = lci::get_rank_me(), other = 2 - me;
  CHECK(lci::get_rank_n() == 4);
  lci::comp_t handler = lci::alloc_handler(on_message), ends = lci::alloc_cq();
  const lci::rcomp_t remote = lci::register_rcomp(handler);
  std::vector<char> memory(100000, 'm');
  lci::mr_t region = lci::register_memory(memory.data(), memory.size());
  std::vector<lci::rmr_t> keys(4);
  const lci::rmr_t own = lci::get_rmr(region);
  lci::allgather(&own, keys.data(), sizeof own);
  lci::barrier();
  if (me == kVictim) {
    while (arrived < 2) lci::progress();  // the others have left the barrier
    kill(getpid(), SIGKILL);
    return 1;
  }
  if (me == kBystander) {
    stand_by(remote);
    lci::deregister_memory(&region);
    return leave(handler, ends);
  }
  while (lci::post_am(kVictim, nullptr, 0, lci::COMP_NULL_RETRY, remote).is_retry()) lci::progress();
  // What only the victim could end: a receive, and a message that is too large to leave without it.
  std::vector<char> in(8), large(1 << 20, 'l');
  CHECK(lci::post_recv_x(kVictim, in.data(), in.size(), 3, ends).allow_done(false)().is_posted());
  int posted = 1;
  const auto count = [&](lci::status_t status) { posted += status.is_posted() ? 1 : 0; };
  count(lci::post_send_x(kVictim, large.data(), large.size(), 4, ends).allow_retry(false)());
  await_failure();
  // From now on every operation with the rank ends, and none succeeds in silence.
  count(lci::post_send_x(kVictim, large.data(), large.size(), 5, ends).allow_retry(false)());
  for (int ended = 0; ended < posted; ++ended) {
    const lci::status_t status = pop(ends);
    CHECK(status.error.errorcode == lci::errorcode_t::fatal && status.rank == kVictim);
  }
  // The others go on, and progress throws no more.
  for (int i = 0; i < 1000; ++i)
    post([&] { return lci::post_am(other, &i, sizeof i, lci::COMP_NULL_RETRY, remote); });
  const lci::rmr_t key = keys[static_cast<size_t>(other)];
  post([&] { return lci::post_put(other, large.data(), 1000, lci::COMP_NULL, 0, key); });
  while (arrived < 1000) lci::progress();
  fail_in_barrier();
  // The put of the other rank has come before it leaves.
  post([&] { return lci::post_am(other, nullptr, 0, lci::COMP_NULL_RETRY, remote); });
  while (arrived < 1001) lci::progress();
  CHECK(memory[999] == 'l' && memory[1000] == 'm');
  lci::deregister_memory(&region);
  return leave(handler, ends);
}
