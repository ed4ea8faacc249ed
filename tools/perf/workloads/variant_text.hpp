#pragma once

#include <cstddef>
#include <string>

#include "perf/workloads/workload.hpp"

namespace weft::tools::perf {

/// " at 64 bytes, window 16": the parameters that are not the workload's own; often empty.
std::string text_of(const Variant& variant, const WorkloadInfo& workload);

/// Formats a size: "64 bytes", "64K".
std::string bytes_text(std::size_t size);

/// The number of distinct buffers of a rank: as many as messages in a window unless the workload reuses some.
std::size_t buffers_of(const WorkloadInfo& workload, const Variant& variant);

}  // namespace weft::tools::perf
