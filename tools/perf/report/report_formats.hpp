#pragma once

#include <string>
#include <string_view>

#include "perf/report/results.hpp"

namespace weft::tools::perf {

/// For readers: one table per workload, the bars, and the remarks.
std::string as_table(const Results& results);
/// Four lines: rate, latency, both compared with the bare limits, and the state of the machine; a fifth where
/// other programs ran.
std::string as_brief(const Results& results);
/// For programs: every round, with the figures of the table.
std::string as_json(const Results& results);
/// For spreadsheets: one line per round.
std::string as_csv(const Results& results);
/// For browsers: one page with a plot per workload. `command`: the command line.
std::string as_html(const Results& results, std::string_view command);

// Texts that several formats share.
/// What a workload does, and with its unit.
std::string what_of(const WorkloadInfo& workload, const Variant& variant);
std::string title_of(const WorkloadInfo& workload, const Variant& variant);
const char* unit_of(Workload workload);
/// "near each other (a cache line took 31 to 50 ns from one to the other)"
std::string state_text(const MachineState& state);
/// "other programs ran, which took 46 % of the processors and cores of 7 of 20 rounds"
std::string text_of_others(const Results& results);
/// Now, in UTC.
std::string date_text();

}  // namespace weft::tools::perf
