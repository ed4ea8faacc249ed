#pragma once

#include <vector>

namespace weft::tools::perf {

/// The state of the machine in one number: nanoseconds that a cache line takes from one core to the other,
/// measured by a ping-pong of a few milliseconds. Virtual machines move between core placements that differ
/// by factors.
double probe_machine(const std::vector<int>& processors);

}  // namespace weft::tools::perf
