#pragma once

#include <vector>

#include "perf/libraries/catalogue.hpp"
#include "perf/measure/perf_options.hpp"
#include "perf/workloads/workload.hpp"

namespace weft::tools::perf {

/// The sizes, windows and numbers of ranks at which a workload is measured: its own, or those of the options
/// that it takes.
std::vector<Variant> variants_of(const WorkloadInfo& workload, const Options& options);

/// Throws weft::Error when an option concerns none of the measurements, or a variant cannot be measured.
void check_variants(const Options& options, const std::vector<const Measurement*>& measurements);

}  // namespace weft::tools::perf
