#include "study/ranks/grain.hpp"

#include <algorithm>

namespace weft::tools::study {

namespace {

double rounds_per_ns = 0;
volatile double result = 0;  // so that the loop is not left out

}  // namespace

[[gnu::noinline]] void Grain::loop(std::uint64_t rounds) {
  double value = result;  // not known to the compiler
  for (std::uint64_t round = 0; round < rounds; ++round) value = value * 0.999999 + 1e-6;
  result = value;
}

void Grain::calibrate() {
  if (rounds_per_ns != 0) return;
  constexpr std::uint64_t kRounds = 200'000;
  double best = 1e18;
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    loop(kRounds);
    best = std::min(
        best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
  }
  rounds_per_ns = kRounds / best;
}

void Grain::compute(double nanoseconds) { loop(static_cast<std::uint64_t>(nanoseconds * rounds_per_ns)); }

}  // namespace weft::tools::study
