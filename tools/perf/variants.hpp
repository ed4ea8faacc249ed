#pragma once

#include <string>
#include <vector>

#include "perf/options.hpp"

namespace weft::tools::perf {

/// At which sizes, windows and numbers of ranks a workload is measured: its own, or those of the options that
/// it takes.
std::vector<Variant> variants_of(const WorkloadInfo& workload, const Options& options);

/// Throws weft::Error when an option concerns none of the measurements, or a variant cannot be measured.
void check_variants(const Options& options);

/// " at 64 bytes, window 16" with what is not the workload's own; often empty.
std::string text_of(const Variant& variant, const WorkloadInfo& workload);

/// "64 bytes", "64K".
std::string bytes_text(std::size_t size);

/// Distinct buffers of a rank: as many as messages in a window unless the workload reuses some.
std::size_t buffers_of(const WorkloadInfo& workload, const Variant& variant);

}  // namespace weft::tools::perf
