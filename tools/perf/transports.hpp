#pragma once

#include <string_view>
#include <vector>

#include "perf/catalogue.hpp"

namespace weft::tools::perf {

const std::vector<Transport>& all_transports();
/// Names of those that take part, in the order of the tables.
std::vector<std::string_view> transports_of(Workload workload);
/// Of all_transports(), those that no standard comparison needs.
std::vector<Transport> further_transports();
/// The same of those that the standard comparison leaves out, for its length.
std::vector<std::string_view> further_transports_of(Workload workload);

}  // namespace weft::tools::perf
