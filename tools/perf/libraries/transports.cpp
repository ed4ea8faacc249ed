// The transports of the standard comparison.
#include "perf/libraries/transports.hpp"

#include <algorithm>
#include <iterator>

namespace weft::tools::perf {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

const Environment& ucx_environment() {
  static const Environment environment{{"UCX_TLS", "shm,self"}, {"UCX_WARN_UNUSED_ENV_VARS", "n"}};
  return environment;
}

/// Environment for two ranks on this host that are bound by the workers themselves, also for root and on a
/// host with one core.
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
      {"bare-ring-buffer", Role::limit, Launch::alone, "bare limit: ring of 1024 slots of 64 bytes"},
      {"bare-cache-line", Role::limit, Launch::alone, "bare limit: one cache line to and fro"},
      {"bare-futex", Role::limit, Launch::alone,
       "bare limit: a word, and the kernel's call that wakes for it"},
      {"bare-memory", Role::limit, Launch::alone,
       "bare limit: stores, loads and memcpy in memory that both map"},
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
      {"stream-queue", Role::weft, Launch::alone, "operations of a StreamQueue"},
      {"host-functions", Role::weft, Launch::alone, "the same calls in functions of the stream"},
      {"1-thread-serial", Role::weft, Launch::alone, "one thread, an object that only one thread may use"},
      {"1-thread", Role::weft, Launch::alone, "one thread"},
      {"2-threads", Role::weft, Launch::alone, "two threads"},
      {"4-threads", Role::weft, Launch::alone, "four threads"},
      {"8-threads", Role::weft, Launch::alone, "eight threads"},
      {"weft-serial", Role::weft, Launch::ranks, "SerialEndpoint, serial matching engine"},
      {"weft", Role::weft, Launch::ranks, "Endpoint, default matching engine"},
      {"weft-ordered", Role::weft, Launch::ranks, "Endpoint, ordered matching engine"},
      {"weft-streams", Role::weft, Launch::ranks, "a stream for each thread, in groups"},
      {"weft-by-hand", Role::weft, Launch::ranks,
       "a device, SerialEndpoint and ordered engine for each thread, by hand"},
      {"weft-one-endpoint", Role::weft, Launch::ranks, "one Endpoint and ordered engine for all threads"},
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

}  // namespace weft::tools::perf
