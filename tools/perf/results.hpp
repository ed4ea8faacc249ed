#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/catalogue.hpp"
#include "perf/options.hpp"
#include "perf/probe.hpp"
#include "perf/statistics.hpp"

namespace weft::tools::perf {

/// One measurement, once.
struct Round {
  double value =
      0;  ///< messages, accesses or bytes per second, nanoseconds, or the smaller ratio of solo's threads
  double sender = 0;      ///< rate as the sender saw it, 0 when it is not told
  double core_share = 1;  ///< of the rank or thread that had less of its core
  double before_ns = 0;   ///< probes of the machine
  double after_ns = 0;
  std::vector<double> parts;           ///< as in Outcome
  std::vector<double> percentiles_ns;  ///< as in Outcome
  bool kept = true;                    ///< in the state in which the machine was most of the time
};

struct Series {
  const Measurement* measurement = nullptr;
  Variant variant{};            ///< of the workload
  bool oversubscribed = false;  ///< threads share cores
  std::vector<Round> rounds{};  ///< one per pass over all that it is compared with
  std::string failure{};        ///< why the rounds of a peer ended early; empty: they did not
  bool disturbed = false;       ///< no round was in the majority's state: figures come from all of them
};

struct Results {
  Options options;
  std::vector<int> processors;
  std::vector<Series> series;
  MachineState state;
  std::vector<std::string> remarks;  ///< one line each
};

/// Marks the rounds that were made in another state of the machine than most.
void judge_rounds(Results& results);
/// Rounds of a series that are left out of its figures.
std::size_t left_out(const Series& series);

/// The one of that name, of the workload's own variant where that was measured.
[[nodiscard]] const Series* find_series(const Results& results, std::string_view name);
/// The variants of a workload that were measured, in the order in which they were.
std::vector<Variant> measured_variants(const Results& results, Workload workload);

/// What a round tells.
enum class Figure {
  value,
  p99,            ///< of single round trips
  share,          ///< of the slowest thread, 1 being fair
  median_window,  ///< rate of the median window, of workloads that consist of windows
};
/// 0 when the round does not tell it.
double figure_of(const Series& series, const Round& round, Figure figure);
bool smaller_is_better(const Series& series, Figure figure);

Spread spread_of(const Series& series, Figure figure = Figure::value);
/// figure / figure of the base, round by round of the same pass; count 0 when there is nothing to compare.
Spread ratio_of(const Series& series, const Series* base, Figure figure = Figure::value);
/// Of solo: rate together / rate alone of one thread.
Spread thread_ratio_of(const Series& series, std::size_t thread);

/// What a series is compared with: the bare limit, and the other library that is best in this figure, of the
/// same workload and variant. nullptr when none was measured.
[[nodiscard]] const Series* limit_of(const Results& results, const Series& series);
[[nodiscard]] const Series* best_peer_of(const Results& results, const Series& series,
                                         Figure figure = Figure::value);

}  // namespace weft::tools::perf
