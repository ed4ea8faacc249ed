// A rank of three is killed while another one waits for the network to be done with what it has posted to it:
// nothing that it is told after the failure has ended as done. As LCI's own test of this; the arguments are
// what happens, and a folder for notes.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {
constexpr int kPoster = 0, kVictim = 1, kWitness = 2;
constexpr size_t kBytes = 4096;

std::string folder;
void note(const char* name) { CHECK(std::ofstream(folder + "/" + name).good()); }
/// Without progress.
void await_note(const char* name) {
  while (!std::ifstream(folder + "/" + name).good())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Progresses until it throws.
void await_failure() {
  try {
    for (;;) lci::progress();
  } catch (const lci::peer_failure_error& error) {
    CHECK(error.failed_rank() == kVictim);
  }
}

/// The rank dies between posts and the next progress, and it is known that it has.
void between_posts_and_progress(lci::rcomp_t remote, const lci::rmr_t& key, lci::comp_t ends) {
  std::vector<char> bytes(kBytes, 'b');
  const auto network = lci::comp_semantic_t::network;
  for (const lci::status_t& answer :
       {lci::post_put_x(kVictim, bytes.data(), kBytes, ends, 0, key).comp_semantic(network)(),
        lci::post_am_x(kVictim, bytes.data(), kBytes, ends, remote).comp_semantic(network)(),
        lci::post_send_x(kVictim, bytes.data(), kBytes, 1, ends)
            .comp_semantic(network)
            .user_context(&bytes)()})
    CHECK(answer.is_posted());
  note("posted");
  await_note("failed");
  await_failure();
  bool had_context = false;
  for (int i = 0; i < 3; ++i) {
    const lci::status_t status = pop(ends);
    CHECK(status.error.errorcode == lci::errorcode_t::fatal && status.rank == kVictim);
    had_context = had_context || status.user_context == &bytes;
  }
  CHECK(had_context);
}

/// One send after the other, each as soon as the one before has ended, until the failure is known.
void while_it_is_sent_to(lci::comp_t ends) {
  std::vector<char> bytes(kBytes, 'b');
  note("posted");
  bool is_posted = false;
  try {
    for (;;) {
      if (!is_posted) {
        CHECK(lci::post_send_x(kVictim, bytes.data(), kBytes, 1, ends)
                  .comp_semantic(lci::comp_semantic_t::network)()
                  .is_posted());
        is_posted = true;
      }
      lci::progress();
      if (lci::cq_pop(ends).is_done()) is_posted = false;
    }
  } catch (const lci::peer_failure_error& error) {
    CHECK(error.failed_rank() == kVictim);
  }
  CHECK(is_posted && !lci::cq_pop(ends).is_done());
}

void free_payload(lci::status_t status) { std::free(status.buffer); }

}  // namespace

int main(int count, char** arguments) {
  CHECK(count == 3);
  folder = arguments[2];
  lci::g_runtime_init();
  CHECK(lci::get_rank_n() == 3);
  lci::comp_t handler = lci::alloc_handler(free_payload), ends = lci::alloc_cq();
  const lci::rcomp_t remote = lci::register_rcomp(handler);
  std::vector<char> memory(kBytes);
  lci::mr_t region = lci::register_memory(memory.data(), memory.size());
  std::vector<lci::rmr_t> keys(3);
  const lci::rmr_t own = lci::get_rmr(region);
  lci::allgather(&own, keys.data(), sizeof own);
  switch (lci::get_rank_me()) {
    case kPoster:
      if (std::string(arguments[1]) == "between")
        between_posts_and_progress(remote, keys[kVictim], ends);
      else
        while_it_is_sent_to(ends);
      break;
    case kVictim:
      await_note("posted");
      kill(getpid(), SIGKILL);
      return 1;
    case kWitness:
      while (lci::post_am(kVictim, nullptr, 0, lci::COMP_NULL_RETRY, remote).is_retry()) lci::progress();
      await_failure();
      note("failed");
      break;
  }
  lci::deregister_memory(&region);
  // What has not ended yet has nobody to tell.
  lci::free_comp(&ends);
  for (int i = 0; i < 1000; ++i) lci::progress();
  lci::free_comp(&handler);
  lci::g_runtime_fina();
  std::puts("ok");
}
