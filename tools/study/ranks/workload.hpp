// Workloads that ranks of a study run, one case after the other.
#pragma once

#include <weft/parcel/parcel.hpp>

#include <cmath>
#include <cstdint>
#include <ctime>
#include <nlohmann/json.hpp>

namespace weft::tools::study {

using Json = nlohmann::json;

/// Runs the case on all ranks, each in its main thread, and returns the figures on rank 0. Throws
/// weft::Error when a count or a content is wrong.
using Workload = Json (*)(parcel::Runtime& runtime, const Json& parameters);

/// Chains of tasks that carry a buffer back and forth between two ranks.
Json run_chains(parcel::Runtime& runtime, const Json& parameters);
/// Parcels from rank 0 to rank 1, at a rate or as fast as they go.
Json run_stream(parcel::Runtime& runtime, const Json& parameters);
/// Unbalanced tree search.
Json run_tree(parcel::Runtime& runtime, const Json& parameters);
/// Task Bench's graphs.
Json run_graph(parcel::Runtime& runtime, const Json& parameters);

inline std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

/// What changed in the runtime's counters on all ranks. Collective; meaningful on rank 0.
class CountersOf {
 public:
  explicit CountersOf(parcel::Runtime& runtime);
  [[nodiscard]] Json changes();

 private:
  [[nodiscard]] parcel::ParcelCounters total();
  parcel::Runtime& runtime_;
  parcel::ParcelCounters before_;
};

}  // namespace weft::tools::study
