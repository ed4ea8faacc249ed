#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perf/workloads/workload.hpp"

namespace weft::tools::perf {

/// The role of a transport in a comparison.
enum class Role {
  weft,
  limit,  ///< the best that the machine could do
  peer,   ///< another library
};

/// How the processes of a round are started.
enum class Launch {
  alone,         ///< one process, which makes a second one when it needs it
  ranks,         ///< two ranks under `weft run`
  one_rank,      ///< one rank under `weft run`
  plugin,        ///< as `alone`, over the library of a plugin
  mpiexec,       ///< as `ranks`, but by the library's own launcher, over its plugin
  ucx_perftest,  ///< UCX's own measuring program
};

struct Transport {
  std::string_view name;
  Role role;
  Launch launch;
  std::string_view description;
  std::string_view plugin{};    ///< for Launch::plugin and Launch::mpiexec
  std::string_view launcher{};  ///< for Launch::mpiexec: the program
  std::string_view package{};   ///< origin of the library, "Debian: libucx-dev"
  std::vector<std::pair<std::string, std::string>> environment{};
};

/// The library behind a transport: "weft", "UCX", "MPICH", "Open MPI", "libfabric", "sockets", or "bare
/// machine".
std::string_view library_of(const Transport& over);
/// The name of a transport for readers: "bare ring buffer" for bare-ring-buffer.
std::string shown_name(const Transport& over);

struct Measurement {
  std::string name;  ///< WORKLOAD/TRANSPORT
  Workload workload;
  const Transport* over;
  bool further = false;  ///< only when its workload or transport is named

  [[nodiscard]] std::string_view transport() const { return over->name; }
  [[nodiscard]] std::string_view description() const { return over->description; }
  [[nodiscard]] bool is_ucx_perftest() const { return over->launch == Launch::ucx_perftest; }
  [[nodiscard]] bool is_peer() const { return over->role == Role::peer; }
};

std::span<const Measurement> catalogue();
/// Returns nullptr when there is no measurement of that name.
const Measurement* find_measurement(std::string_view name);

/// The measurements that the names select: a whole name, a workload, or a transport; without names, the
/// workloads of active messages. Throws weft::Error for a name that selects none.
std::vector<const Measurement*> select_measurements(const std::vector<std::string>& names);
/// Keeps the measurements of the named transports. Throws weft::Error for a name that selects none of
/// `measurements`.
std::vector<const Measurement*> keep_transports(const std::vector<const Measurement*>& measurements,
                                                const std::vector<std::string>& transports);

std::string_view name_of(Workload workload);

/// Maximum of --size.
inline constexpr std::size_t kLargestSize = std::size_t{16} << 20;

}  // namespace weft::tools::perf
