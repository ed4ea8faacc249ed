// Ranks of a parcel runtime in one process, over shared memory or the simulated network.
#pragma once

#include <weft/parcel/parcel.hpp>
#include <weft/testing/in_process_job.hpp>
#include <weft/testing/simulation.hpp>

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "study/parcelports/parcelports.hpp"

namespace weft::test {

struct ParcelSettings {
  const char* name;
  bool is_simulated;
  parcel::Aggregation aggregation;
  unsigned workers = 1;
  unsigned devices = 1;
  std::string_view port = "weft";
  const char* text = "";  ///< further options
};

inline void PrintTo(const ParcelSettings& settings, std::ostream* out) { *out << settings.name; }

/// Whether a launcher of MPI has started this process.
inline bool is_rank_of_mpi() {
  return std::getenv("PMI_RANK") != nullptr || std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;
}

/// Runs `main` as each rank, in a thread of its own, and destroys the runtimes. Over MPI this process is one
/// of the ranks, and `main` runs once; not at all when the job has another number of ranks.
inline void run_parcel_ranks(int ranks, const ParcelSettings& settings,
                             const std::function<void(parcel::Runtime&)>& main) {
  parcel::ports::register_all();
  const parcel::RuntimeOptions options{.text = settings.text,
                                       .port = settings.port,
                                       .workers = settings.workers,
                                       .aggregation = settings.aggregation,
                                       .devices = settings.devices};
  if (settings.port.starts_with("mpi")) {
    parcel::Runtime runtime(options);
    if (runtime.size() == ranks) main(runtime);
    return;
  }
  std::optional<InProcessJob> job;
  std::optional<sim::Simulation> simulation;
  if (settings.is_simulated)
    simulation.emplace(sim::Options{.ranks = ranks, .seed = 11, .delay = 20, .reorder = 20, .refuse = 10});
  else
    job.emplace(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      std::optional<parcel::Runtime> runtime;
      if (settings.is_simulated)
        runtime.emplace(*simulation, rank, options);
      else
        runtime.emplace(*job, rank, options);
      main(*runtime);
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace weft::test
