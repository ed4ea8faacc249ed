// One rank of a job whose ranks do nothing but collectives, of every kind and length, until one of them
// fails: collective_failure_rank. Then each that is left requires that they end as peer_failed, now and
// later.
#include "support/rank_program.hpp"

#include <weft/collective.hpp>

#include <unistd.h>
#include <array>
#include <cstdint>
#include <vector>

namespace {

using namespace weft;
using test::require;

constexpr std::array<std::size_t, 4> kLengths = {1, 400, 3'000, 100'000};  // of 64-bit integers

/// The number says which.
Outcome call(Collective& collective, std::uint64_t number, std::vector<std::uint64_t>& from,
             std::vector<std::uint64_t>& to) {
  const std::size_t length = kLengths[number / 4 % kLengths.size()];
  const int root = static_cast<int>(number % static_cast<std::uint64_t>(collective.size()));
  from.assign(length, number);
  to.assign(length, 0);
  switch (number % 4) {
    case 0:
      return collective.barrier();
    case 1:
      return collective.broadcast(to, root);
    case 2:
      return collective.reduce(from, to, operators::Sum{}, root);
    default:
      break;
  }
  const Outcome outcome = collective.allreduce(from, to, operators::Sum{});
  if (outcome == Outcome::ok)
    require(to.front() == number * static_cast<std::uint64_t>(collective.size()) && to.back() == to.front(),
            "a sum is wrong");
  return outcome;
}

}  // namespace

int main() {
  Runtime runtime;
  Endpoint endpoint(runtime);
  Collective collective(runtime, endpoint);
  std::vector<std::uint64_t> from;
  std::vector<std::uint64_t> to;
  require(collective.barrier() == Outcome::ok, "the ranks do not meet");
  std::printf("pid %d rank %d\n", static_cast<int>(::getpid()), runtime.rank());
  std::fflush(stdout);
  std::uint64_t number = 0;
  Outcome outcome = Outcome::ok;
  while ((outcome = call(collective, number, from, to)) == Outcome::ok) ++number;
  require(outcome == Outcome::peer_failed, std::string("a collective ends as ") + name_of(outcome));
  int victim = -1;
  require(test::until([&] { return runtime.failed_peers(std::span(&victim, 1)) == 1; },
                      [&] { endpoint.progress(); }),
          "no rank is listed as failed");
  for (std::uint64_t later = 0; later < 200; ++later)
    require(call(collective, number + later, from, to) == Outcome::peer_failed,
            "a later collective does not end as peer_failed");
  std::printf("survived rank %d\n", victim);
  return 0;
}
