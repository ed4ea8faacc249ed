#include <fmt/core.h>
#include <fmt/format.h>

#include <ctime>

#include "perf/report/report_formats.hpp"
#include "perf/workloads/variant_text.hpp"

namespace weft::tools::perf {

std::string what_of(const WorkloadInfo& workload, const Variant& variant) {
  return fmt::format(fmt::runtime(workload.title), bytes_text(variant.size), variant.window, variant.ranks);
}

std::string title_of(const WorkloadInfo& workload, const Variant& variant) {
  const char* unit = workload.unit == Unit::messages  ? "million per second"
                     : workload.unit == Unit::bytes   ? "GB per second"
                     : workload.unit == Unit::ratio   ? "a ratio"
                     : workload.unit == Unit::percent ? "percent of a core"
                                                      : "nanoseconds";
  return fmt::format("{}, {}", what_of(workload, variant), unit);
}

const char* unit_of(Workload workload) {
  switch (info_of(workload).unit) {
    case Unit::messages:
      if (is_resource(workload)) return "operations/s";
      if (is_pairs(workload) || is_polling(workload)) return "round trips/s";
      return is_access_rate(workload) ? "accesses/s" : "messages/s";
    case Unit::bytes:
      return "bytes/s";
    case Unit::nanoseconds:
      if (workload == Workload::wake_up) return "ns";
      return workload == Workload::matching ? "ns per message" : "ns one way";
    case Unit::percent:
      return "percent of a core";
    case Unit::ratio:
      return workload == Workload::solo_shared ? "total together to alone"
                                               : "smaller ratio of together to alone";
  }
  return "";
}

std::string state_text(const MachineState& state) {
  return fmt::format("{} each other (a cache line took {:.0f} to {:.0f} ns from one to the other)",
                     distance_of(state) == "near" ? "near" : "far from", state.low_ns, state.high_ns);
}

std::string text_of_others(const Results& results) {
  const BusyRounds rounds = busy_rounds(results);
  return fmt::format("other programs ran, which took {:.0f} % of the processors and cores of {} of {} rounds",
                     100 * results.others, rounds.busy, rounds.all);
}

std::string date_text() {
  const std::time_t now = std::time(nullptr);
  std::tm fields{};
  ::gmtime_r(&now, &fields);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &fields);
  return text;
}

}  // namespace weft::tools::perf
