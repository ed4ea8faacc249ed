#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "perf/report/results.hpp"

namespace weft::tools::perf {

/// A requirement on a figure of weft, relative to another one of the same run, or by itself.
struct Bar {
  enum class Base {
    best_peer,
    limit,
    ucp,
    processes,
    one_thread,
    few_requests,
    one_endpoint,
    by_hand,
    mpix_stream,
    none
  };
  std::string_view measurement;
  Base base;
  double must;  ///< ratio: at least, or at most where a smaller figure is better
  double aim;
  Figure figure = Figure::value;  ///< the figure that is compared, on both sides
  double unit = 1;                ///< of must and aim when the figure is judged by itself
};

enum class Verdict {
  aim_met,
  met,        ///< the whole interval of the ratio meets the bar
  undecided,  ///< the bar lies inside the interval
  missed,
  not_judged,  ///< the rounds allow no verdict: Judged::reason
};
std::string_view text_of(Verdict verdict);

struct Judged {
  const Bar* bar;
  const Series* series;
  const Series* base;  ///< nullptr: the figure is judged by itself
  Spread ratio;        ///< or the figure
  Verdict verdict;
  std::string reason{};              ///< of a bar that is not judged, as a clause
  bool may_be_judged_later = false;  ///< by further rounds

  [[nodiscard]] bool smaller_is_better() const { return perf::smaller_is_better(*series, bar->figure); }
};
/// The name of the judged figure, e.g. "pairs-2/weft, p99".
std::string name_of(const Judged& judged);
/// The name of its base: a transport, the whole name when the workload is another, or "itself".
std::string_view base_of(const Judged& judged);
std::string_view text_of(Figure figure);
/// The verdict, and why there is none.
std::string verdict_text(const Judged& judged);

/// Judges all bars whose figures were measured. A bar is not judged when one of the libraries that take part
/// in its workload was not measured, of which "the best other library" might have been one, or when most of
/// the rounds of either side were disturbed.
std::vector<Judged> judge_bars(const Results& results);
/// Returns true when a bar on which further rounds may decide is about the series, or compares another one
/// with it.
bool is_undecided(const std::vector<Judged>& judged, const Series& series);

}  // namespace weft::tools::perf
