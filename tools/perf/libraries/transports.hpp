#pragma once

#include <vector>

#include "perf/libraries/catalogue.hpp"

namespace weft::tools::perf {

const std::vector<Transport>& all_transports();
/// The transports of all_transports() that the standard comparison does not need.
std::vector<Transport> further_transports();

}  // namespace weft::tools::perf
