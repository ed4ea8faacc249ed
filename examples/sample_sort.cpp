// Numbers spread over the ranks are sorted: every rank gets the numbers between two splitters, which are
// chosen from samples of all; how many go where is told by one alltoall, and they go by another, of blocks of
// different lengths.
#include <weft/weft.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

int main() try {
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  weft::Collective all{runtime, endpoint};
  const auto ranks = static_cast<std::size_t>(all.size());

  constexpr std::size_t kNumbers = 20'000;  // of each rank
  constexpr std::size_t kSamples = 32;
  std::vector<std::uint64_t> mine(kNumbers);
  std::uint64_t state = 1 + static_cast<std::uint64_t>(all.rank());
  for (std::uint64_t& number : mine) number = state = state * 6364136223846793005 + 1442695040888963407;
  std::ranges::sort(mine);

  std::vector<std::uint64_t> samples(kSamples);
  for (std::size_t sample = 0; sample < kSamples; ++sample)
    samples[sample] = mine[sample * kNumbers / kSamples];
  std::vector<std::uint64_t> all_samples(kSamples * ranks);
  if (all.allgather(samples, all_samples) != weft::Outcome::ok) return 1;
  std::ranges::sort(all_samples);

  // What lies between the splitters rank and rank + 1 goes to the rank; it is in a row already.
  std::vector<std::size_t> out(ranks);
  std::size_t begin = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto end =
        rank + 1 == ranks ? mine.end() : std::ranges::lower_bound(mine, all_samples[(rank + 1) * kSamples]);
    out[rank] = static_cast<std::size_t>(end - mine.begin()) - begin;
    begin += out[rank];
  }
  std::vector<std::size_t> in(ranks);
  if (all.alltoall(out, in) != weft::Outcome::ok) return 1;
  std::vector<std::uint64_t> sorted(std::accumulate(in.begin(), in.end(), std::size_t{0}));
  if (all.alltoall(mine, out, sorted, in) != weft::Outcome::ok) return 1;
  std::ranges::sort(sorted);

  // In order within the ranks and between them, and none is missing.
  std::uint64_t last = sorted.empty() ? 0 : sorted.back();
  std::uint64_t before = 0;
  if (all.exclusive_scan(last, before, weft::operators::Max{}) != weft::Outcome::ok) return 1;
  const bool is_in_order = sorted.empty() || before <= sorted.front();
  std::uint64_t checks[3] = {sorted.size(),
                             std::accumulate(sorted.begin(), sorted.end(), std::uint64_t{0}) -
                                 std::accumulate(mine.begin(), mine.end(), std::uint64_t{0}),
                             is_in_order ? 0U : 1U};
  if (all.allreduce(checks, checks, weft::operators::Sum{}) != weft::Outcome::ok) return 1;
  const bool is_right = checks[0] == kNumbers * ranks && checks[1] == 0 && checks[2] == 0;
  if (all.rank() == 0) std::printf("%zu numbers: %s\n", kNumbers * ranks, is_right ? "sorted" : "not sorted");
  return is_right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
