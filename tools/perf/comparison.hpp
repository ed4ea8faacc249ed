#pragma once

#include <vector>

#include "perf/report/results.hpp"

namespace weft::tools::perf {

/// Makes the rounds: all measurements in turn, pass by pass, every second pass in the opposite order, so that
/// a drift hits all of them alike. Throws weft::Error when a round of weft fails; a failing peer becomes a
/// remark.
Results compare(const Options& options, const std::vector<const Measurement*>& measurements);

/// `--verify`: makes one run of each measurement that checks every message, and prints a line for each.
/// Returns true when all went well.
bool verify(const Options& options, const std::vector<const Measurement*>& measurements);

}  // namespace weft::tools::perf
