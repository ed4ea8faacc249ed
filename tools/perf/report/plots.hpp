#pragma once

#include <string>

#include "perf/report/results.hpp"

namespace weft::tools::perf {

/// A figure of a series with its unit: "22 us".
std::string figure_text(const Series& series, double value);

/// The section of a workload in the page of --report: bars, or, when it was measured at several sizes,
/// windows or numbers of ranks, curves over each of them. Empty when it was not measured.
std::string plots_of(const Results& results, const WorkloadInfo& workload);

/// Rates against the number of threads, with resources of their own and shared: a section for each family
/// that was measured with at least two numbers of threads.
std::string plots_against_threads(const Results& results);

/// The first of these charts, active messages with resources of their own, as a picture. Empty when that was
/// not measured, or, said on standard error, when there can be no picture.
std::string picture_of_message_rate(const Results& results);

}  // namespace weft::tools::perf
