// --verify.
#include <weft/error.hpp>

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>

#include "common/pinning.hpp"
#include "perf/comparison.hpp"
#include "perf/libraries/availability.hpp"
#include "perf/limits/ring_limit.hpp"
#include "perf/series_task.hpp"
#include "perf/variants.hpp"
#include "perf/worker_process.hpp"
#include "perf/workloads/variant_text.hpp"

namespace weft::tools::perf {

bool verify(const Options& options, const std::vector<const Measurement*>& measurements) {
  const std::vector<int> processors = choose_processors();
  const int cores = count_cores();
  bool well = true;
  if (!options.left_out.empty())
    fmt::print("left out, as with --hosts they do not leave a host: {}\n", fmt::join(options.left_out, ", "));
  for (const Measurement* measurement : measurements) {
    const bool unordered = measurement->transport().starts_with("weft-am") &&
                           !is_stream_of_threads(measurement->workload) &&
                           !is_large_stream(measurement->workload);
    if (measurement->workload == Workload::latency || measurement->is_ucx_perftest() || unordered) continue;
    if (!why_absent(*measurement->over).empty()) continue;
    const WorkloadInfo& workload = info_of(measurement->workload);
    for (const Variant& variant : variants_of(workload, options)) {
      if (measurement->transport() == "bare-ring-buffer" && variant.size > Ring::kPayload) continue;
      const Series series{.measurement = measurement,
                          .variant = variant,
                          .oversubscribed = variant.ranks * workload.threads > cores};
      const std::string name = measurement->name + text_of(variant, workload);
      Outcome sum;
      try {
        for (const Outcome& outcome :
             start_worker(*measurement, task_of(series, options, processors), options.hosts)) {
          sum.messages = std::max(sum.messages, outcome.messages);
          sum.lost += outcome.lost;
          sum.duplicated += outcome.duplicated;
          sum.torn += outcome.torn;
        }
      } catch (const Error& error) {
        if (!measurement->is_peer()) throw;
        fmt::print("{} is left out: {}\n", name, error.what());
        continue;
      }
      well = well && sum.lost == 0 && sum.duplicated == 0 && sum.torn == 0;
      fmt::print("{:<28}{:>12} messages, {} lost, {} duplicated, {} torn\n", name, sum.messages, sum.lost,
                 sum.duplicated, sum.torn);
    }
  }
  return well;
}

}  // namespace weft::tools::perf
