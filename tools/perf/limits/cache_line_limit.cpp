#include "perf/limits/cache_line_limit.hpp"

#include <new>

#include "perf/limits/limits.hpp"
#include "perf/measure/forked_ranks.hpp"
#include "perf/measure/round_trips.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {

int run_line(const Task& task) {
  const SharedMemory memory(sizeof(Line));
  Line& line = *new (memory.data()) Line;
  const bool well = run_pair(
      task,
      [&] {
        const Latency latency = measure_round_trips(task, [&](std::uint64_t count) { line.ping(count); });
        line.end();
        print({.role = "sender",
               .value = latency.one_way_ns,
               .core_share = latency.core_share,
               .percentiles_ns = latency.percentiles_ns,
               .messages = latency.round_trips});
      },
      [&] { line.answer(); });
  return well ? 0 : 1;
}

}  // namespace weft::tools::perf
