// The rows of the catalogue: who takes part in which workloads.
#include "perf/transports.hpp"

#include <algorithm>
#include <iterator>

namespace weft::tools::perf {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

const Environment& ucx_environment() {
  static const Environment environment{{"UCX_TLS", "shm,self"}, {"UCX_WARN_UNUSED_ENV_VARS", "n"}};
  return environment;
}

/// Two ranks on this host, bound by the workers themselves, also for root and where there is one core.
Environment openmpi_environment(Environment further) {
  Environment environment{{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                          {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                          {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                          {"OMPI_MCA_rmaps_base_oversubscribe", "1"}};
  environment.insert(environment.end(), further.begin(), further.end());
  return environment;
}

std::vector<Transport> make_transports() {
  constexpr std::string_view kUcx = "Debian: libucx-dev";
  constexpr std::string_view kMpich = "Debian: mpich libmpich-dev";
  constexpr std::string_view kOpenMpi = "Debian: openmpi-bin libopenmpi-dev";
  return {
      {"ring", Role::limit, Launch::alone, "bare limit: ring of 1024 slots of 64 bytes"},
      {"line", Role::limit, Launch::alone, "bare limit: one cache line to and fro"},
      {"futex", Role::limit, Launch::alone, "bare limit: a word, and the kernel's call that wakes for it"},
      {"raw", Role::limit, Launch::alone, "bare limit: stores, loads and memcpy in memory that both map"},
      {"serial-handler", Role::weft, Launch::ranks, "SerialEndpoint to a handler"},
      {"serial-queue", Role::weft, Launch::ranks, "SerialEndpoint to a SerialCompletionQueue"},
      {"single-consumer-queue", Role::weft, Launch::ranks, "SerialEndpoint to a SingleConsumerQueue"},
      {"queue", Role::weft, Launch::ranks, "SerialEndpoint to a CompletionQueue"},
      {"default-handler", Role::weft, Launch::ranks, "Endpoint to a handler"},
      {"threads", Role::weft, Launch::one_rank, "two threads, each with a device that sends to itself"},
      {"one-device", Role::weft, Launch::one_rank, "two threads, both over one Endpoint"},
      {"processes", Role::weft, Launch::alone, "8 ranks of 1 thread"},
      {"threads-own", Role::weft, Launch::alone, "2 ranks of 4 threads, each with a device"},
      {"threads-shared", Role::weft, Launch::alone, "2 ranks of 4 threads, which share one device"},
      {"1-thread-serial", Role::weft, Launch::alone, "one thread, an object that only one thread may use"},
      {"1-thread", Role::weft, Launch::alone, "one thread"},
      {"2-threads", Role::weft, Launch::alone, "two threads"},
      {"4-threads", Role::weft, Launch::alone, "four threads"},
      {"8-threads", Role::weft, Launch::alone, "eight threads"},
      {"weft-serial", Role::weft, Launch::ranks, "SerialEndpoint, serial matching engine"},
      {"weft", Role::weft, Launch::ranks, "Endpoint, default matching engine"},
      {"weft-ordered", Role::weft, Launch::ranks, "Endpoint, ordered matching engine"},
      {"weft-read",
       Role::weft,
       Launch::ranks,
       "Endpoint, large messages by cross-memory attach",
       {},
       {},
       {},
       {{"WEFT_RENDEZVOUS", "read"}}},
      {"weft-am", Role::weft, Launch::ranks, "Endpoint, active messages to a handler"},
      {"weft-am-serial", Role::weft, Launch::ranks, "SerialEndpoint, active messages to a handler"},
      {"ucx", Role::peer, Launch::ucx_perftest, "UCX active messages (ucx_perftest)"},
      {"ucp",
       Role::peer,
       Launch::plugin,
       "UCX through its UCP interface",
       "ucx",
       {},
       kUcx,
       ucx_environment()},
      {"mpich", Role::peer, Launch::mpiexec, "MPICH", "mpich", "mpiexec.mpich", kMpich},
      {"openmpi", Role::peer, Launch::mpiexec, "Open MPI, its own shared memory (pml ob1)", "openmpi",
       "mpiexec.openmpi", kOpenMpi,
       openmpi_environment({{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "vader,self"}})},
      {"openmpi-ucx", Role::peer, Launch::mpiexec, "Open MPI over UCX (pml ucx)", "openmpi",
       "mpiexec.openmpi", kOpenMpi,
       openmpi_environment({{"OMPI_MCA_pml", "ucx"},
                            {"OMPI_MCA_osc", "ucx"},
                            {"OMPI_MCA_opal_common_ucx_tls", "any"},
                            {"OMPI_MCA_opal_common_ucx_devices", "any"},
                            {"UCX_TLS", "shm,self"},
                            {"UCX_WARN_UNUSED_ENV_VARS", "n"}})},
  };
}

}  // namespace

const std::vector<Transport>& all_transports() {
  static const std::vector<Transport> transports = [] {
    std::vector<Transport> all = make_transports();
    std::ranges::move(further_transports(), std::back_inserter(all));
    return all;
  }();
  return transports;
}

std::vector<std::string_view> transports_of(Workload workload) {
  switch (workload) {
    case Workload::rate:
      return {"ring",  "serial-handler",  "serial-queue", "single-consumer-queue",
              "queue", "default-handler", "ucx",          "ucp"};
    case Workload::latency:
      return {"line",  "serial-handler",  "serial-queue", "single-consumer-queue",
              "queue", "default-handler", "ucx",          "ucp"};
    case Workload::solo:
      return {"threads"};
    case Workload::solo_shared:
      return {"one-device"};
    case Workload::idle:
      return {"weft", "ucp", "mpich", "openmpi"};
    case Workload::wake_up:
      return {"futex", "weft", "ucp"};
    case Workload::modes:
      return {"processes", "threads-own", "threads-shared"};
    case Workload::resource_queue:
    case Workload::resource_matching:
      return {"1-thread-serial", "1-thread", "2-threads", "4-threads", "8-threads"};
    case Workload::resource_packet:
      return {"1-thread", "2-threads", "4-threads", "8-threads"};
    case Workload::matched:
    case Workload::matched_latency:
    case Workload::exchange:
    case Workload::matching:
    case Workload::unexpected:
    case Workload::unacknowledged:
      return {"weft-serial", "weft", "weft-ordered", "ucp", "mpich", "openmpi", "openmpi-ucx"};
    case Workload::outstanding_100:
    case Workload::outstanding_1000:
    case Workload::bandwidth_64k:
    case Workload::bandwidth_1m:
    case Workload::reused_64k:
    case Workload::reused_1m:
      return {"weft", "weft-read", "ucp", "mpich", "openmpi", "openmpi-ucx"};
    case Workload::put_rate:
    case Workload::get_rate:
    case Workload::put_bandwidth:
    case Workload::get_bandwidth:
    case Workload::add_rate:
    case Workload::fetch_add_rate:
      return {"raw", "weft-serial", "weft", "ucp", "mpich", "openmpi-ucx"};
    case Workload::rate_threads_1:
    case Workload::rate_threads_2:
    case Workload::rate_threads_4:
    case Workload::rate_threads_8:
      return {"weft-am-serial", "weft-am", "ucp", "mpich", "openmpi", "openmpi-ucx"};
    case Workload::rate_shared_2:
    case Workload::rate_shared_4:
    case Workload::rate_shared_8:
      return {"weft-am", "ucp", "mpich", "openmpi", "openmpi-ucx"};
    case Workload::threads_1:
    case Workload::threads_2:
    case Workload::threads_4:
    case Workload::pairs_1:
    case Workload::pairs_2:
    case Workload::pairs_4:
      return {"weft-am-serial", "weft-am", "weft", "ucp", "mpich", "openmpi", "openmpi-ucx"};
    case Workload::shared_2:
    case Workload::shared_4:
    case Workload::many_to_one:
    case Workload::all_to_all:
    case Workload::pairs_shared_2:
    case Workload::pairs_shared_4:
      return {"weft-am", "weft", "ucp", "mpich", "openmpi", "openmpi-ucx"};
    case Workload::allreduce:
    case Workload::allreduce_1k:
    case Workload::allreduce_1m:
      return {"weft-serial", "weft", "mpich", "openmpi", "openmpi-ucx"};
  }
  return {};
}

}  // namespace weft::tools::perf
