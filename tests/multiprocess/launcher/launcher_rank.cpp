// A rank for the tests of `weft run`: joins the job and does what its first argument says.
#include <weft/error.hpp>

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/attributes.hpp"
#include "bootstrap/selection/select.hpp"

namespace {

using weft::bootstrap::Bootstrap;

std::unique_ptr<Bootstrap> join() {
  return weft::bootstrap::select_bootstrap(weft::base::Attributes::load());
}

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

// The ranks agree on everybody's number.
void gather(Bootstrap& bootstrap) {
  const int mine = bootstrap.rank();
  std::vector<int> all(static_cast<std::size_t>(bootstrap.size()));
  bootstrap.allgather(std::as_bytes(std::span{&mine, 1}), std::as_writable_bytes(std::span{all}));
  for (int rank = 0; rank < bootstrap.size(); ++rank) {
    if (all[static_cast<std::size_t>(rank)] != rank) throw weft::Error("allgather brought wrong numbers");
  }
  bootstrap.barrier();
}

bool is_last_rank() {
  const char* const rank = std::getenv("WEFT_RANK");
  const char* const size = std::getenv("WEFT_SIZE");
  return rank != nullptr && size != nullptr && std::atoi(rank) + 1 == std::atoi(size);
}

int behave(std::string_view what) {
  if (what == "last-never-joins" && is_last_rank()) return 0;
  if (what == "others-join-later") {
    if (is_last_rank()) return 0;
    ::usleep(300'000);
  }
  const auto bootstrap = join();
  const std::string name =
      "rank " + std::to_string(bootstrap->rank()) + " of " + std::to_string(bootstrap->size());
  if (what == "gather") {
    gather(*bootstrap);
    say(name);
  } else if (what == "job") {
    say(std::string(bootstrap->job_id()));
  } else if (what == "twice") {
    gather(*bootstrap);
    const auto second = join();
    gather(*second);
    say(std::string(bootstrap->job_id()) + " " + std::string(second->job_id()));
  } else if (what == "last-exits-inside" || what == "last-exits-inside-a-barrier") {
    if (bootstrap->rank() == bootstrap->size() - 1) std::_Exit(0);
    if (what == "last-exits-inside-a-barrier") bootstrap->barrier();
    ::pause();
  } else if (what == "last-leaves-early") {
    if (bootstrap->rank() == bootstrap->size() - 1) return 0;
    bootstrap->barrier();
  } else if (what == "last-aborts") {
    if (bootstrap->rank() == bootstrap->size() - 1) bootstrap->abort(7, "the input is broken");
    bootstrap->barrier();
  } else if (what == "last-crashes") {
    if (bootstrap->rank() == bootstrap->size() - 1) {
      ::signal(SIGSEGV, SIG_DFL);
      ::raise(SIGSEGV);
    }
    bootstrap->barrier();
  } else if (what == "last-never-joins" || what == "others-join-later") {
    ::pause();
  } else if (what == "counts") {
    for (int count = 0;; ++count) {
      say(std::to_string(count));
      ::usleep(20'000);
    }
  } else if (what == "wait") {
    say(name);
    ::pause();
  } else {
    throw weft::Error("unknown behaviour: " + std::string(what));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return behave(argc > 1 ? argv[1] : "");
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 40;
  }
}
