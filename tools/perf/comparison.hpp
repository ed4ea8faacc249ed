#pragma once

#include "perf/results.hpp"

namespace weft::tools::perf {

/// Makes the rounds: all measurements in turn, pass by pass, every second pass in the opposite order, so that
/// what drifts hits all of them alike. Throws weft::Error when a round of weft fails; a failing peer becomes
/// a remark.
Results compare(const Options& options);

/// `--verify`: one run of each measurement that checks every message, with a line for each. True when all was
/// well.
bool verify(const Options& options);

}  // namespace weft::tools::perf
