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
  double value = 0;   ///< messages per second, nanoseconds one way, or the smaller ratio of solo's threads
  double sender = 0;  ///< rate as the sender saw it, 0 when it is not told
  double core_share = 1;  ///< of the rank or thread that had less of its core
  double before_ns = 0;   ///< probes of the machine
  double after_ns = 0;
  std::vector<double> parts;  ///< solo: rate alone and together, thread by thread
  bool kept = true;           ///< in the state in which the machine was most of the time
};

struct Series {
  const Measurement* measurement = nullptr;
  std::vector<Round> rounds{};  ///< one per pass over all measurements
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

[[nodiscard]] const Series* find_series(const Results& results, std::string_view name);

Spread spread_of(const Series& series);
/// value / base value, round by round of the same pass; count 0 when there is nothing to compare.
Spread ratio_of(const Series& series, const Series* base);
/// Of solo: rate together / rate alone of one thread.
Spread thread_ratio_of(const Series& series, std::size_t thread);

/// The series that a measurement is compared with: the bare limit, and UCX. nullptr when it was not measured.
[[nodiscard]] const Series* limit_of(const Results& results, const Measurement& measurement);
[[nodiscard]] const Series* ucx_of(const Results& results, const Measurement& measurement);

}  // namespace weft::tools::perf
