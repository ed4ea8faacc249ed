#include "perf/limits/mapped_memory_limit.hpp"

#include <new>

#include "perf/limits/limits.hpp"
#include "perf/workloads/run_over.hpp"

namespace weft::tools::perf {

int run_raw(const Task& task, Workload workload) {
  const SharedMemory control(sizeof(RawShared));
  const SharedMemory region(task.size * task.buffers);
  RawShared& shared = *new (control.data()) RawShared;
  const auto run = [&](int rank) {
    RawTransport transport(rank, shared, {static_cast<std::byte*>(region.data()), task.size * task.buffers});
    print(run_over(transport, task, workload));
  };
  return run_pair(
             task, [&] { run(0); }, [&] { run(1); })
             ? 0
             : 1;
}

}  // namespace weft::tools::perf
