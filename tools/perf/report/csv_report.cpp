#include <fmt/core.h>

#include <iterator>

#include "perf/report/report_formats.hpp"

namespace weft::tools::perf {

std::string as_csv(const Results& results) {
  std::string text =
      "workload,transport,size,window,ranks,pass,value,unit,kept,cores,core_share,before_ns,after_ns\n";
  for (const Series& series : results.series) {
    const Measurement& measurement = *series.measurement;
    for (std::size_t pass = 0; pass < series.rounds.size(); ++pass) {
      const Round& round = series.rounds[pass];
      fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{},{:.3f},{:.1f},{:.1f}\n",
                     name_of(measurement.workload), measurement.transport(), series.variant.size,
                     series.variant.window, series.variant.ranks, pass, round.value,
                     unit_of(measurement.workload), round.kept ? 1 : 0,
                     round.state ? distance_of(results.states[*round.state]) : "changed", round.core_share,
                     round.before_ns, round.after_ns);
    }
  }
  return text;
}

}  // namespace weft::tools::perf
