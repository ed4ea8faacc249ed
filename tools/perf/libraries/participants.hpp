#pragma once

#include <string_view>
#include <vector>

#include "perf/workloads/workload.hpp"

namespace weft::tools::perf {

/// The names of the transports that take part in a workload, in the order of the tables.
std::vector<std::string_view> transports_of(Workload workload);
/// The names of the transports that the standard comparison leaves out, to keep it short.
std::vector<std::string_view> further_transports_of(Workload workload);

}  // namespace weft::tools::perf
