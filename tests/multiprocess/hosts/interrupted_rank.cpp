// A rank in which the handler of a timer runs all the time, without SA_RESTART, as that of a profiler does.
// interrupted_rank MICROSECONDS MODE
//   joins     joins the job and leaves it
//   talks     exchanges messages of several sizes with all ranks
//   sleeps    waits for a message that comes late
#include "support/rank_program.hpp"

#include "base/clock.hpp"

#include <weft/weft.hpp>

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace weft {
namespace {

using test::require;

void start_timer(long microseconds) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{microseconds / 1'000'000, microseconds % 1'000'000},
                        {microseconds / 1'000'000, microseconds % 1'000'000}};
  require(::setitimer(ITIMER_REAL, &often, nullptr) == 0, "setitimer");
}

void talk(Runtime& runtime) {
  Endpoint endpoint(runtime);
  for (const std::size_t size : {8U, 4'000U, 300'000U}) {
    const std::vector<std::byte> mine(size, std::byte(runtime.rank()));
    for (int rank = 0; rank < runtime.size(); ++rank) {
      if (rank == runtime.rank()) continue;
      std::vector<std::byte> theirs(size);
      const auto send = [&] { require(endpoint.send(rank, 1, mine) == Outcome::ok, "a send"); };
      const auto receive = [&] {
        require(endpoint.receive(rank, 1, theirs).outcome() == Outcome::ok, "a receive");
        require(theirs.front() == std::byte(rank) && theirs.back() == std::byte(rank),
                "bytes of another rank");
      };
      // A large send waits for its receive.
      if (rank > runtime.rank()) send();
      receive();
      if (rank < runtime.rank()) send();
    }
  }
}

void sleep_long(Runtime& runtime) {
  Endpoint endpoint(runtime);
  std::uint64_t number = 7;
  if (runtime.rank() == 0) {
    const base::Deadline late(0.3);
    while (!late.passed()) ::usleep(10'000);
    for (int rank = 1; rank < runtime.size(); ++rank)
      require(endpoint.send(rank, 1, bytes_of(number)) == Outcome::ok, "a send");
  } else {
    std::uint64_t got = 0;
    require(endpoint.receive(0, 1, std::as_writable_bytes(std::span(&got, 1))).outcome() == Outcome::ok,
            "a receive");
    require(got == number, "another number");
  }
}

int run(long microseconds, std::string_view mode) {
  start_timer(microseconds);
  Runtime runtime;
  if (mode == "talks") talk(runtime);
  if (mode == "sleeps") sleep_long(runtime);
  runtime.barrier();
  if (runtime.rank() == 0) std::printf("all of %d\n", runtime.size());
  return 0;
}

}  // namespace
}  // namespace weft

int main(int, char** argv) { return weft::run(std::atol(argv[1]), argv[2]); }
