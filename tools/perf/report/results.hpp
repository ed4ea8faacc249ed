#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/statistics.hpp"
#include "perf/libraries/catalogue.hpp"
#include "perf/measure/machine_state.hpp"
#include "perf/measure/perf_options.hpp"

namespace weft::tools::perf {

/// One round of a series.
struct Round {
  double value =
      0;  ///< messages, accesses or bytes per second, nanoseconds, or the smaller ratio of solo's threads
  double sender = 0;      ///< rate as seen by the sender; 0 when it is not reported
  double core_share = 1;  ///< of the rank or thread with the smaller share
  double before_ns = 0;   ///< probes of the machine
  double after_ns = 0;
  std::vector<double> parts;           ///< see Outcome
  std::vector<double> percentiles_ns;  ///< see Outcome
  /// Made in the state in which the machine was most of the time, and with cores of its own, where the series
  /// has such rounds.
  bool kept = true;
  std::optional<std::size_t> state{};  ///< of Results::states; none when the machine changed meanwhile
};

struct Series {
  const Measurement* measurement = nullptr;
  Variant variant{};            ///< of the workload
  bool oversubscribed = false;  ///< threads share cores
  std::vector<Round> rounds{};  ///< one per pass over all measurements that it is compared with
  std::string failure{};        ///< reason why the rounds of a peer ended early; empty: they did not
  bool disturbed = false;       ///< no round was in the majority's state: figures come from all rounds
};

struct Results {
  Options options;
  std::vector<int> processors;
  std::vector<Series> series;
  MachineState state;                ///< in which most probes were made
  std::vector<MachineState> states;  ///< all; that one first
  double others = 0;                 ///< OtherPrograms::share() of the whole run
  std::vector<std::string> remarks;  ///< one line each
  std::string ended_early;           ///< why rounds are missing of all series; empty: none are
};

using tools::spread_of;

/// Finds the states of the machine, and marks the rounds that were made in the most frequent one, with their
/// cores.
void judge_rounds(Results& results);
/// Share of a core below which other programs disturbed a round.
inline constexpr double kBusyShare = 0.9;
/// Returns true when figures of the round say little: the machine was in another state than mostly, or other
/// programs took its cores.
bool is_disturbed(const Series& series, const Round& round);
/// Returns true when figures of the run are not those of a quiet machine: other programs took a part of the
/// processors, or cores of more than half of all rounds.
bool is_disturbed(const Results& results);
/// The number of rounds of all series that lost a part of their cores, of those whose threads had cores.
struct BusyRounds {
  std::size_t busy = 0;
  std::size_t all = 0;
};
BusyRounds busy_rounds(const Results& results);
/// Returns true when anything was measured.
bool has_rounds(const Results& results);
/// The number of rounds of a series that are left out of its figures.
std::size_t left_out(const Series& series);

/// Returns the series of that name, with the workload's own variant if that was measured.
[[nodiscard]] const Series* find_series(const Results& results, std::string_view name);
/// The measured variants of a workload, in order of measurement.
std::vector<Variant> measured_variants(const Results& results, Workload workload);

/// Figures of a round.
enum class Figure {
  value,
  p99,            ///< of single round trips
  share,          ///< of the slowest thread; 1 is fair
  median_window,  ///< rate of the median window, for workloads that consist of windows
};
/// Returns 0 when the round does not have the figure.
double figure_of(const Series& series, const Round& round, Figure figure);
bool smaller_is_better(const Series& series, Figure figure);

Spread spread_of(const Series& series, Figure figure = Figure::value);
/// figure / figure of the base, round by round of the same pass; count is 0 when there is nothing to compare.
Spread ratio_of(const Series& series, const Series* base, Figure figure = Figure::value);
/// Of the rounds made in one state of the machine; count is 0 when there were none.
Spread spread_in_state(const Series& series, std::size_t state);
Spread ratio_in_state(const Series& series, const Series* base, std::size_t state);
/// The number of rounds made in a state of the machine.
std::size_t rounds_in_state(const Results& results, std::size_t state);
/// For solo: rate together / rate alone of one thread.
Spread thread_ratio_of(const Series& series, std::size_t thread);

/// The series that a series is compared with: the limit, and the other library that is best in this figure,
/// of the same workload and variant. nullptr when none was measured.
[[nodiscard]] const Series* limit_of(const Results& results, const Series& series);
[[nodiscard]] const Series* best_peer_of(const Results& results, const Series& series,
                                         Figure figure = Figure::value);

}  // namespace weft::tools::perf
