#include "perf/series_task.hpp"

#include <weft/topology.hpp>

#include "common/pinning.hpp"
#include "perf/variants.hpp"
#include "perf/workloads/variant_text.hpp"

namespace weft::tools::perf {

Task task_of(const Series& series, const Options& options, const std::vector<int>& processors) {
  const WorkloadInfo& workload = info_of(series.measurement->workload);
  const Variant& variant = series.variant;
  const auto threads = static_cast<std::size_t>(variant.ranks * workload.threads);
  Task task{.measurement = series.measurement->name,
            .verify = options.verify,
            .size = variant.size,
            .window = variant.window,
            .buffers = buffers_of(workload, variant),
            .threads = workload.threads,
            .shared = workload.shared,
            .ranks = variant.ranks,
            .yields = series.oversubscribed || workload.threads > 1 || options.progress_thread,
            .progress_thread = options.progress_thread,
            .compute_ns = options.compute_ns,
            .fresh = options.fresh,
            .seed = options.seed,
            .seconds = options.seconds,
            .warm_up = options.warm_up.value_or(warm_up_of(options.seconds)),
            .apart = !options.hosts.names.empty(),
            .reversed = false,
            .processors = processors};
  if (variant.ranks > 2) {
    task.processors = choose_processors_of_ranks(threads);
  } else if (threads > 2) {
    task.processors = choose_processors(threads);
  }
  if (!options.pins) task.processors.clear();
  return task;
}

int count_cores() { return static_cast<int>(read_topology().cores.size()); }

}  // namespace weft::tools::perf
