#include "perf/report/results.hpp"

#include <algorithm>

#include "common/machine/other_programs.hpp"

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

bool is_comparable(const Series& one, const Series& other) {
  return one.measurement->workload == other.measurement->workload && one.variant == other.variant;
}

bool lost_cores(const Series& series, const Round& round) {
  return !series.oversubscribed && round.core_share < kBusyShare;
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
  results.states = machine_states(std::move(probes));
  results.state = results.states.empty() ? MachineState{} : results.states.front();
  for (Series& series : results.series) {
    for (Round& round : series.rounds) {
      round.state.reset();
      for (std::size_t state = 0; state < results.states.size(); ++state)
        if (results.states[state].contains(round.before_ns) && results.states[state].contains(round.after_ns))
          round.state = state;
      round.kept = round.state == 0U && !lost_cores(series, round);
    }
    // Threads that sleep between messages never have all of a core.
    if (std::ranges::none_of(series.rounds, &Round::kept))
      for (Round& round : series.rounds) round.kept = round.state == 0U;
    series.disturbed = std::ranges::none_of(series.rounds, &Round::kept);
  }
}

std::size_t left_out(const Series& series) {
  if (series.disturbed) return 0;
  return static_cast<std::size_t>(std::ranges::count(series.rounds, false, &Round::kept));
}

bool is_disturbed(const Series& series, const Round& round) {
  return !round.kept || lost_cores(series, round);
}

bool has_rounds(const Results& results) {
  return std::ranges::any_of(results.series, [](const Series& series) { return !series.rounds.empty(); });
}

BusyRounds busy_rounds(const Results& results) {
  BusyRounds rounds;
  for (const Series& series : results.series) {
    if (series.oversubscribed) continue;
    rounds.all += series.rounds.size();
    rounds.busy += static_cast<std::size_t>(
        std::ranges::count_if(series.rounds, [&](const Round& round) { return lost_cores(series, round); }));
  }
  return rounds;
}

bool is_disturbed(const Results& results) {
  const BusyRounds rounds = busy_rounds(results);
  return results.others > kDisturbingShare || 2 * rounds.busy > rounds.all;
}

const Series* find_series(const Results& results, std::string_view name) {
  const Series* first = nullptr;
  for (const Series& series : results.series) {
    if (series.measurement->name != name) continue;
    if (series.variant == info_of(series.measurement->workload).own()) return &series;
    if (first == nullptr) first = &series;
  }
  return first;
}

std::vector<Variant> measured_variants(const Results& results, Workload workload) {
  std::vector<Variant> variants;
  for (const Series& series : results.series) {
    if (series.measurement->workload == workload &&
        std::ranges::find(variants, series.variant) == variants.end())
      variants.push_back(series.variant);
  }
  return variants;
}

double figure_of(const Series& series, const Round& round, Figure figure) {
  const WorkloadInfo& workload = info_of(series.measurement->workload);
  switch (figure) {
    case Figure::value:
      return round.value;
    case Figure::p99:
      return round.percentiles_ns.size() > 1 ? round.percentiles_ns[1] : 0;
    case Figure::share:
      if (workload.threads == 1 || round.parts.empty() || round.value <= 0) return 0;
      return std::ranges::min(round.parts) * workload.threads / round.value;
    case Figure::median_window:
      return is_window(workload.workload) && !round.parts.empty() ? round.parts[0] : 0;
  }
  return 0;
}

bool smaller_is_better(const Series& series, Figure figure) {
  if (figure == Figure::p99) return true;
  return figure != Figure::share && info_of(series.measurement->workload).smaller_is_better();
}

Spread spread_of(const Series& series, Figure figure) {
  std::vector<double> values =
      values_of(series, [&](const Round& round) { return figure_of(series, round, figure); });
  std::erase(values, 0);
  return spread_of(std::move(values));
}

Spread ratio_of(const Series& series, const Series* base, Figure figure) {
  if (base == nullptr || base == &series) return {};
  std::vector<double> ratios;
  for (std::size_t pass = 0; pass < series.rounds.size(); ++pass) {
    if (!counts(series, pass) || !counts(*base, pass)) continue;
    const double own = figure_of(series, series.rounds[pass], figure);
    const double other = figure_of(*base, base->rounds[pass], figure);
    if (own > 0 && other > 0) ratios.push_back(own / other);
  }
  return spread_of(std::move(ratios));
}

Spread spread_in_state(const Series& series, std::size_t state) {
  std::vector<double> values;
  for (const Round& round : series.rounds)
    if (round.state == state) values.push_back(round.value);
  return spread_of(std::move(values));
}

Spread ratio_in_state(const Series& series, const Series* base, std::size_t state) {
  if (base == nullptr || base == &series) return {};
  std::vector<double> ratios;
  for (std::size_t pass = 0; pass < std::min(series.rounds.size(), base->rounds.size()); ++pass) {
    const Round& own = series.rounds[pass];
    const Round& other = base->rounds[pass];
    if (own.state == state && other.state == state && other.value > 0)
      ratios.push_back(own.value / other.value);
  }
  return spread_of(std::move(ratios));
}

std::size_t rounds_in_state(const Results& results, std::size_t state) {
  std::size_t count = 0;
  for (const Series& series : results.series)
    count += static_cast<std::size_t>(
        std::ranges::count_if(series.rounds, [state](const Round& round) { return round.state == state; }));
  return count;
}

Spread thread_ratio_of(const Series& series, std::size_t thread) {
  return spread_of(values_of(series, [thread](const Round& round) {
    const double alone = round.parts.size() > 2 * thread + 1 ? round.parts[2 * thread] : 0;
    return alone > 0 ? round.parts[2 * thread + 1] / alone : 0;
  }));
}

const Series* limit_of(const Results& results, const Series& series) {
  for (const Series& other : results.series)
    if (is_comparable(other, series) && other.measurement->over->role == Role::limit) return &other;
  return nullptr;
}

const Series* best_peer_of(const Results& results, const Series& own, Figure figure) {
  const Series* best = nullptr;
  for (const Series& series : results.series) {
    if (!is_comparable(series, own) || !series.measurement->is_peer()) continue;
    const Spread spread = spread_of(series, figure);
    if (spread.count == 0) continue;
    const bool smaller = smaller_is_better(series, figure);
    if (best == nullptr || (smaller ? spread.median < spread_of(*best, figure).median
                                    : spread.median > spread_of(*best, figure).median))
      best = &series;
  }
  return best;
}

}  // namespace weft::tools::perf
