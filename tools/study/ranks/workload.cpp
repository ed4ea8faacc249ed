#include "study/ranks/workload.hpp"

#include <algorithm>

namespace weft::tools::study {

namespace {

double rounds_per_ns = 0;
volatile double result = 0;  // so that the loop is not left out

parcel::ParcelCounters counters_here(parcel::Runtime& runtime) { return runtime.counters(); }

}  // namespace

[[gnu::noinline]] void Grain::loop(std::uint64_t rounds) {
  double value = result;  // not known to the compiler
  for (std::uint64_t round = 0; round < rounds; ++round) {
    value = value * 0.999999 + 1e-6;
  }
  result = value;
}

void Grain::calibrate() {
  if (rounds_per_ns != 0) return;
  constexpr std::uint64_t kRounds = 200'000;
  double best = 1e18;
  for (int repeat = 0; repeat < 20; ++repeat) {
    const std::int64_t begin = now_ns();
    loop(kRounds);
    best = std::min(best, static_cast<double>(now_ns() - begin));
  }
  rounds_per_ns = kRounds / best;
}

void Grain::compute(double nanoseconds) { loop(static_cast<std::uint64_t>(nanoseconds * rounds_per_ns)); }

CountersOf::CountersOf(parcel::Runtime& runtime) : runtime_(runtime), before_(total()) {}

parcel::ParcelCounters CountersOf::total() {
  parcel::ParcelCounters sum;
  if (runtime_.rank() == 0)
    for (int rank = 0; rank < runtime_.size(); ++rank) {
      const auto there = runtime_.async(rank, parcel::action<&counters_here>).get();
      sum.sent += there.sent;
      sum.messages += there.messages;
      sum.pushed_back += there.pushed_back;
      sum.aggregated += there.aggregated;
      sum.tasks += there.tasks;
      sum.stolen += there.stolen;
      sum.parks += there.parks;
    }
  runtime_.barrier();
  return sum;
}

Json CountersOf::changes() {
  const parcel::ParcelCounters after = total();
  return {{"parcels", after.sent - before_.sent},
          {"messages", after.messages - before_.messages},
          {"pushed_back", after.pushed_back - before_.pushed_back},
          {"aggregated", after.aggregated - before_.aggregated},
          {"tasks", after.tasks - before_.tasks},
          {"stolen", after.stolen - before_.stolen},
          {"parks", after.parks - before_.parks}};
}

}  // namespace weft::tools::study
