// What `weft study matching` has measured.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/statistics.hpp"
#include "study/matching/model/geometry.hpp"

namespace weft::tools::study {

using Json = nlohmann::json;

/// One engine, or one MPI library, with one decomposition in one mode.
struct MatchingRow {
  std::string mode;           ///< "replay", "live", "unexpected", "trace"
  std::string engine;         ///< or "MPICH", "Open MPI"
  std::string scenario;       ///< the decomposition, or the trace's file
  std::string order;          ///< of arrivals, in replays
  std::string sweep;          ///< the family of --sweep, whose figures are drawn against threads; or empty
  std::uint64_t threads = 0;  ///< of the decomposition
  HaloCounts counts;
  int senders = 1;  ///< ranks from which the messages come

  Spread depth;           ///< entries compared for a message, of each run on average; count 0: not known
  double mean_depth = 0;  ///< over all runs
  Spread length;          ///< mean length of the list that was searched
  std::uint64_t deepest = 0;
  std::uint64_t longest = 0;
  Spread search_ns;  ///< nanoseconds of a search, with the clock's own
  std::uint64_t lock_misses = 0;
  Spread drain_us;                       ///< microseconds until all messages were matched
  std::optional<std::uint64_t> matches;  ///< of a trace
  std::string remark;                    ///< why there are no figures

  std::optional<double> bound;        ///< of the depth, whatever the machine
  std::optional<double> tolerance;    ///< share by which the depth may differ from the bound
  std::optional<double> simulated;    ///< depth of a list by the interleaved replay
  std::optional<double> paper_depth;  ///< of a list, as the paper prints it
  std::optional<double> paper_ms;     ///< drain time on the paper's machine

  /// True, false, or nothing where there is no bound.
  [[nodiscard]] std::optional<bool> keeps_bound() const {
    if (!bound || depth.count == 0) return std::nullopt;
    const double allowed = tolerance.value_or(0) * *bound + 1e-9;
    return mean_depth >= *bound - allowed && mean_depth <= *bound + allowed;
  }
};

/// One structure used by some threads at a time, each of which puts something in and takes something out.
struct ResourceRow {
  std::string resource;  ///< "matching engine hash", "completion queue", "packet pool"
  int threads = 1;
  Spread operations_per_us;  ///< pairs of operations, of all threads together
  double contended = 0;      ///< attempts of a thousand pairs that found another thread inside
  /// Of a thousand things taken, those that another thread had put in, where a thing shows that.
  std::optional<double> from_other_threads;
};

struct SoakRow {
  std::string engine;
  std::uint64_t messages = 0;
  double seconds = 0;
};

struct MatchingResults {
  std::string command;  ///< as it was typed
  std::uint64_t seed = 1;
  int runs = 0;
  std::string machine;
  double others = 0;  ///< OtherPrograms::share()
  std::vector<MatchingRow> rows;
  std::vector<ResourceRow> resources;
  std::vector<SoakRow> soaks;
  std::vector<std::string> remarks;
};

[[nodiscard]] std::string text_of(const SoakRow& row);
[[nodiscard]] std::string matching_text(const MatchingResults& results);
[[nodiscard]] std::string matching_csv(const MatchingResults& results);
[[nodiscard]] std::string matching_json(const MatchingResults& results);
[[nodiscard]] std::string matching_html(const MatchingResults& results);
/// What the paper found, and what shows here, one line each.
[[nodiscard]] std::vector<std::string> matching_findings(const MatchingResults& results);

}  // namespace weft::tools::study
