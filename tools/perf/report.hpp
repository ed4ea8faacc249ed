#pragma once

#include <string>

#include "perf/results.hpp"

namespace weft::tools::perf {

/// For people: one table per workload, and the remarks.
std::string as_table(const Results& results);
/// Three lines: rate, latency, and both compared with the bare limits.
std::string as_brief(const Results& results);
/// For programs: every round, with the figures of the table.
std::string as_json(const Results& results);

}  // namespace weft::tools::perf
