#pragma once

#include <weft/topology.hpp>

#include <vector>

#include "run/job/options.hpp"

namespace weft::tools::run {

/// The processors that rank `local_rank` of the `count` ranks of a host is bound to; empty: it may run
/// anywhere.
std::vector<int> processors_of(const Topology& host, Binding binding, int local_rank, int count);

}  // namespace weft::tools::run
