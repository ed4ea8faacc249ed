#include "perf/listing.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "common/text_table.hpp"
#include "perf/libraries/availability.hpp"
#include "perf/libraries/catalogue.hpp"
#include "perf/libraries/transports.hpp"
#include "perf/report/report_formats.hpp"

namespace weft::tools::perf {
namespace {

constexpr std::array kColumns = {TextColumn{TextColumn::Align::left}, TextColumn{TextColumn::Align::left},
                                 TextColumn{TextColumn::Align::left}};

/// The options that vary a workload: "size, window".
std::string variations_of(Workload workload) {
  std::vector<std::string_view> options;
  if (takes_size(workload)) options.push_back("size");
  if (takes_window(workload)) options.push_back("window");
  if (takes_ranks(workload)) options.push_back("ranks");
  return options.empty() ? "-" : fmt::format("{}", fmt::join(options, ", "));
}

/// Returns true when `all` has a measurement of the transport.
bool is_in_all(const Transport& over) {
  return std::ranges::any_of(catalogue(),
                             [&](const Measurement& each) { return each.over == &over && !each.further; });
}

TextRow row_of(const Transport& over) {
  const std::string reason = why_absent(over);
  if (!reason.empty())
    return {std::string(over.name), "absent", fmt::format("{}; {}", over.description, reason)};
  return {std::string(over.name), is_in_all(over) ? "all" : "further", std::string(over.description)};
}

}  // namespace

std::string as_list() {
  std::vector<TextRow> workloads;
  for (const WorkloadInfo& each : all_workloads())
    workloads.push_back({std::string(each.name), variations_of(each.workload), what_of(each, each.own())});
  std::vector<TextRow> transports;
  for (const Transport& each : all_transports()) transports.push_back(row_of(each));
  return "Workloads (--only WORKLOAD), and by which of --size, --window and --ranks they vary:\n" +
         text_table(workloads, kColumns) +
         "\nWhat they are measured over (--only TRANSPORT or WORKLOAD/TRANSPORT, --compare TRANSPORT,...). "
         "all: "
         "part of `--only all`;\nfurther: measured where its workload or itself is named; absent: not on "
         "this "
         "host.\n" +
         text_table(transports, kColumns) +
         "\nFurther names of --only: all, polling, streams; without --only: rate, latency and solo.\n";
}

}  // namespace weft::tools::perf
