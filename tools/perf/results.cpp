#include "perf/results.hpp"

#include <algorithm>

namespace weft::tools::perf {
namespace {

template <class Value>
std::vector<double> values_of(const Series& series, const Value& value) {
  std::vector<double> values;
  for (const Round& round : series.rounds) {
    if (round.kept || series.disturbed) values.push_back(value(round));
  }
  return values;
}

bool counts(const Series& series, std::size_t pass) {
  return pass < series.rounds.size() && (series.rounds[pass].kept || series.disturbed);
}

}  // namespace

void judge_rounds(Results& results) {
  std::vector<double> probes;
  for (const Series& series : results.series) {
    for (const Round& round : series.rounds) {
      probes.push_back(round.before_ns);
      probes.push_back(round.after_ns);
    }
  }
  results.state = majority_state(std::move(probes));
  for (Series& series : results.series) {
    for (Round& round : series.rounds) {
      round.kept = results.state.contains(round.before_ns) && results.state.contains(round.after_ns);
    }
    series.disturbed = std::ranges::none_of(series.rounds, &Round::kept);
  }
}

std::size_t left_out(const Series& series) {
  if (series.disturbed) return 0;
  return static_cast<std::size_t>(std::ranges::count(series.rounds, false, &Round::kept));
}

const Series* find_series(const Results& results, std::string_view name) {
  for (const Series& series : results.series) {
    if (series.measurement->name == name) return &series;
  }
  return nullptr;
}

Spread spread_of(const Series& series) {
  return spread_of(values_of(series, [](const Round& round) { return round.value; }));
}

Spread ratio_of(const Series& series, const Series* base) {
  if (base == nullptr || base == &series) return {};
  std::vector<double> ratios;
  for (std::size_t pass = 0; pass < series.rounds.size(); ++pass) {
    if (counts(series, pass) && counts(*base, pass) && base->rounds[pass].value > 0) {
      ratios.push_back(series.rounds[pass].value / base->rounds[pass].value);
    }
  }
  return spread_of(std::move(ratios));
}

Spread thread_ratio_of(const Series& series, std::size_t thread) {
  return spread_of(values_of(series, [thread](const Round& round) {
    const double alone = round.parts.size() > 2 * thread + 1 ? round.parts[2 * thread] : 0;
    return alone > 0 ? round.parts[2 * thread + 1] / alone : 0;
  }));
}

const Series* limit_of(const Results& results, const Measurement& measurement) {
  switch (measurement.workload) {
    case Workload::rate:
      return find_series(results, "rate/ring");
    case Workload::latency:
      return find_series(results, "latency/line");
    case Workload::solo:
      break;
  }
  return nullptr;
}

const Series* ucx_of(const Results& results, const Measurement& measurement) {
  switch (measurement.workload) {
    case Workload::rate:
      return find_series(results, "rate/ucx");
    case Workload::latency:
      return find_series(results, "latency/ucx");
    case Workload::solo:
      break;
  }
  return nullptr;
}

}  // namespace weft::tools::perf
