// One rank of a job whose ranks talk to few others: neighbours_rank --rounds N [--all 1] [--last 1].
//
// Every rank sends its number to the rank on its left and the one on its right, and waits for theirs, N
// times; with --all to every other rank, once. With --last rank 0 waits until all others have
// left. Every rank prints what must not grow with the job.
#include "support/rank_program.hpp"

#include <sys/resource.h>
#include <fstream>

namespace {

using namespace weft;
using test::require;

struct Greeting {
  std::int32_t sender;
  std::int32_t round;
};

/// The number of segments of ranks, its own included, that this process has mapped.
std::size_t mapped_segments() {
  std::ifstream lines("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);)
    if (line.find("memfd:weft-rank-") != std::string::npos) ++count;
  return count;
}

/// The faults of memory of this process so far: pages that it has touched first.
long faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = std::stoi(test::option(count, arguments, "rounds", "10"));
  const bool greets_all = test::option(count, arguments, "all", "0") == "1";
  const bool is_last = test::option(count, arguments, "last", "0") == "1";
  Runtime runtime;
  Endpoint endpoint(runtime);
  const int ranks = runtime.size();
  const int own = runtime.rank();
  require(greets_all || ranks >= 3, "a rank needs two neighbours");
  std::vector<int> heard(static_cast<std::size_t>(ranks), 0);
  std::uint64_t arrived = 0;
  Handler handler([&](Message& message) {
    const auto greeting = message.as<Greeting>();
    require(greeting.sender == message.peer() && greeting.sender < ranks, "wrong sender");
    require(heard[static_cast<std::size_t>(greeting.sender)]++ <= greeting.round, "a message came twice");
    ++arrived;
  });
  const RemoteCompletion everybody = runtime.expose(handler, {.id = 1});
  const auto greet = [&](int peer, int round) {
    const Greeting greeting{own, round};
    static_cast<void>(endpoint.send_am(peer, everybody, bytes_of(greeting)));
  };
  std::uint64_t expected = 0;
  if (greets_all) {
    for (int step = 1; step < ranks; ++step) greet((own + step) % ranks, 0);
    expected = static_cast<std::uint64_t>(ranks - 1);
    endpoint.wait_until([&] { return arrived == expected; });
  } else {
    for (int round = 0; round < rounds; ++round) {
      greet((own + 1) % ranks, round);
      greet((own + ranks - 1) % ranks, round);
      expected += 2;
      endpoint.wait_until([&] { return arrived >= expected; });
    }
  }
  require(arrived >= expected, "messages are missing");
  const std::size_t segments = mapped_segments();
  long while_others_left = 0;
  if (is_last && own == 0) {
    const long before = faults();
    // Ends when no rank is left that could send.
    const Message nothing = endpoint.receive(any_source, 0, {}, {.policy = MatchingPolicy::any});
    require(nothing.outcome() == Outcome::peer_failed, "a message that nobody has sent");
    while_others_left = faults() - before;
  }
  std::printf("rank %d: %zu segments, %ld faults while others left\n", own, segments, while_others_left);
}
