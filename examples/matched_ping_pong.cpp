// Ranks 0 and 1, 2 and 3, ... swap messages of growing size: a receive and a send in one synchronizer, each
// in its slot. Every round has its own tag; the receiver learns sender, length and outcome.
#include <weft/weft.hpp>

#include <cstdio>
#include <vector>

namespace {

constexpr std::uint64_t kRounds = 1000;

std::size_t size_of(std::uint64_t round) { return round % 100 == 99 ? 100'000 : 8 * (round % 64); }

std::byte content(int rank, std::uint64_t round, std::size_t place) {
  return static_cast<std::byte>(static_cast<std::uint64_t>(rank) * 31 + round * 7 + place);
}

}  // namespace

int main() try {
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  const int me = runtime.rank();
  const int partner = (me ^ 1) < runtime.size() ? me ^ 1 : me;  // the last of an odd number plays with itself

  weft::Synchronizer both{2};
  std::vector<std::byte> out;
  std::vector<std::byte> in(100'000);
  std::uint64_t wrong = 0;
  std::uint64_t bytes = 0;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    out.resize(size_of(round));
    for (std::size_t place = 0; place < out.size(); ++place) out[place] = content(me, round, place);

    while (endpoint.post_receive(partner, round, in, {.completion = &both, .user_data = both.slot(0)})
               .is_retry())
      endpoint.progress();
    while (
        endpoint.post_send(partner, round, out, {.completion = &both, .user_data = both.slot(1)}).is_retry())
      endpoint.progress();
    endpoint.wait(both);

    const weft::Message& received = *both.by_slot(0);
    if (received.outcome() != weft::Outcome::ok || received.peer() != partner ||
        received.size() != out.size())
      ++wrong;
    for (std::size_t place = 0; place < received.size(); ++place)
      if (received.data()[place] != content(partner, round, place)) {
        ++wrong;
        break;
      }
    bytes += received.size();
    both.reset();
  }
  std::printf("rank %d and rank %d: %llu swaps, %llu bytes received, %llu wrong\n", me, partner,
              static_cast<unsigned long long>(kRounds), static_cast<unsigned long long>(bytes),
              static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
