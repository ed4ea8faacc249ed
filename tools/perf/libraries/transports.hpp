#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "perf/libraries/catalogue.hpp"

namespace weft::tools::perf {

/// The transports that --hosts can measure.
inline constexpr std::array<std::string_view, 6> kTransportsBetweenHosts = {
    "weft-tcp", "weft-am-tcp", "weft-ofi-tcp", "sockets", "mpich-tcp", "openmpi-tcp"};

const std::vector<Transport>& all_transports();
/// The transports of all_transports() that the standard comparison does not need.
std::vector<Transport> further_transports();

}  // namespace weft::tools::perf
