#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perf/workload.hpp"

namespace weft::tools::perf {

/// Who talks in a measurement.
enum class Role {
  weft,
  limit,  ///< what the machine could do at best
  peer,   ///< another library
};

/// How the processes of a round come to be.
enum class Launch {
  alone,         ///< one process, which makes a second one where it needs it
  ranks,         ///< two ranks under `weft run`
  one_rank,      ///< one
  plugin,        ///< as alone, over the library of a plugin
  mpiexec,       ///< as ranks, by the library's own launcher, over its plugin
  ucx_perftest,  ///< UCX's own measuring program
};

struct Transport {
  std::string_view name;
  Role role;
  Launch launch;
  std::string_view description;
  std::string_view plugin{};    ///< of Launch::plugin and mpiexec
  std::string_view launcher{};  ///< of Launch::mpiexec: the program
  std::string_view package{};   ///< where it comes from, "Debian: libucx-dev"
  std::vector<std::pair<std::string, std::string>> environment{};
};

struct Measurement {
  std::string name;  ///< WORKLOAD/TRANSPORT
  Workload workload;
  const Transport* over;
  bool further = false;  ///< not among all, only where its workload or transport is named

  [[nodiscard]] std::string_view transport() const { return over->name; }
  [[nodiscard]] std::string_view description() const { return over->description; }
  [[nodiscard]] bool is_ucx_perftest() const { return over->launch == Launch::ucx_perftest; }
  [[nodiscard]] bool is_peer() const { return over->role == Role::peer; }
};

std::span<const Measurement> catalogue();
/// nullptr when there is none.
const Measurement* find_measurement(std::string_view name);

/// Those that one of the names means: a whole name, a workload, or a transport; without names, the workloads
/// of active messages. Throws weft::Error for a name that means none.
std::vector<const Measurement*> select_measurements(const std::vector<std::string>& names);
/// Of `measurements`, those of the named transports. Throws weft::Error for a name that means none of them.
std::vector<const Measurement*> keep_transports(const std::vector<const Measurement*>& measurements,
                                                const std::vector<std::string>& transports);

std::string_view name_of(Workload workload);

/// What --size takes.
inline constexpr std::size_t kLargestSize = std::size_t{16} << 20;

}  // namespace weft::tools::perf
