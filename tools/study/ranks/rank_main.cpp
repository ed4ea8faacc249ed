#include "study/ranks/rank_main.hpp"

#include <weft/error.hpp>
#include <weft/topology.hpp>

#include <fmt/core.h>

#include <malloc.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "study/matching/ranks/live_ranks.hpp"
#include "study/parcelports/parcelports.hpp"
#include "study/ranks/plain_mpi.hpp"
#include "study/ranks/two_copy_ring.hpp"
#include "study/ranks/workload.hpp"

namespace weft::tools::study {

namespace {

constexpr std::array kWorkloads{
    std::pair<std::string_view, Workload>{"chains", run_chains},
    std::pair<std::string_view, Workload>{"stream", run_stream},
    std::pair<std::string_view, Workload>{"tree", run_tree},
    std::pair<std::string_view, Workload>{"graph", run_graph},
};

Workload workload_of(const std::string& name) {
  for (const auto& [each, workload] : kWorkloads)
    if (each == name) return workload;
  throw Error("there is no workload '" + name + "'");
}

/// Binds this thread, and so the workers, to cores of the rank's own, where there are as many cores as ranks.
void bind_rank(int ranks) {
  const char* own = nullptr;
  for (const char* const name : {"WEFT_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"})
    if (own == nullptr) own = std::getenv(name);
  if (own == nullptr) return;
  const Topology topology = read_topology();
  if (static_cast<std::size_t>(ranks) > topology.cores.size()) return;
  const std::size_t cores = topology.cores.size() / static_cast<std::size_t>(ranks);
  const std::size_t first = static_cast<std::size_t>(std::atoi(own)) * cores;
  std::vector<int> processors;
  for (std::size_t core = first; core < first + cores && core < topology.cores.size(); ++core)
    processors.insert(processors.end(), topology.cores[core].processors.begin(),
                      topology.cores[core].processors.end());
  if (!processors.empty()) bind_thread(processors);
}

/// Arrays that come and go make the heap shrink and grow by a system call and a page fault each, by which
/// measurements would differ from run to run. It keeps what it has, as the allocators do that task runtimes
/// are usually built with.
void keep_freed_memory() {
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

}  // namespace

int rank_main(const std::string& job) {
  try {
    const Json description = Json::parse(job);
    keep_freed_memory();
    bind_rank(description.at("ranks").get<int>());
    if (description.contains("matching")) {
      live_ranks_main(description);
      return 0;
    }
    const std::string options = description.at("options");
    if (options.starts_with("plain-mpi")) return plain_mpi_main(description);
    if (options.starts_with("two-copy-ring")) return two_copy_ring_main(description);
    parcel::ports::register_all();
    parcel::Runtime runtime({.text = options});
    if (runtime.size() != description.at("ranks").get<int>())
      throw Error(fmt::format("the job has {} ranks instead of {}", runtime.size(),
                              description.at("ranks").get<int>()));
    for (const Json& parameters : description.at("cases")) {
      Json figures = workload_of(parameters.at("workload"))(runtime, parameters);
      if (runtime.rank() != 0) continue;
      fmt::print("{}\n", figures.dump());
      std::fflush(stdout);
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft study: {}\n", error.what());
    std::fflush(stderr);
    // Other ranks may wait for this one: the launcher ends them.
    std::_Exit(1);
  }
}

}  // namespace weft::tools::study
