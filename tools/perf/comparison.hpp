#pragma once

#include <vector>

#include "perf/report/results.hpp"

namespace weft::tools::perf {

/// Makes the rounds: all measurements in turn, pass by pass, every second pass in the opposite order, so that
/// a drift hits all of them alike. A failing peer becomes a remark. A failing round of weft, and a signal to
/// end, end the measurement (Results::ended_early): what was measured before stays.
Results compare(const Options& options, const std::vector<const Measurement*>& measurements);

/// `--verify`: makes one run of each measurement that checks every message, and prints a line for each.
/// Returns true when all went well.
bool verify(const Options& options, const std::vector<const Measurement*>& measurements);

}  // namespace weft::tools::perf
