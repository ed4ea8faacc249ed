#pragma once

#include <weft/topology.hpp>

#include <vector>

#include "run/job/options.hpp"

namespace weft::tools::run {

/// The processors that the rank at `place` of the `count` ranks of a host is bound to; empty: it may run
/// anywhere.
std::vector<int> processors_of(const Topology& host, Binding binding, int place, int count);

}  // namespace weft::tools::run
