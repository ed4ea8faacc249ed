#include "perf/comparison.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/machine/other_programs.hpp"
#include "common/pinning.hpp"
#include "common/progress_bar.hpp"
#include "common/stopwatch.hpp"
#include "experiment/alternation.hpp"
#include "experiment/launch/interruption.hpp"
#include "perf/libraries/availability.hpp"
#include "perf/libraries/ucx_perftest.hpp"
#include "perf/limits/machine_probe.hpp"
#include "perf/limits/ring_limit.hpp"
#include "perf/report/bars.hpp"
#include "perf/report/report_formats.hpp"
#include "perf/series_task.hpp"
#include "perf/variants.hpp"
#include "perf/worker_process.hpp"
#include "perf/workloads/variant_text.hpp"

namespace weft::tools::perf {
namespace {

constexpr int kMostPasses = 3;  // times --rounds, over what undecided bars compare

/// Returns true when figures of one series are divided by figures of the other, round by round.
bool are_compared(const Series& one, const Series& other) {
  const Workload workload = one.measurement->workload;
  const Workload another = other.measurement->workload;
  return workload == another || (is_stream_of_threads(workload) && is_stream_of_threads(another));
}

/// Returns true when the measurement can be made with --progress-thread.
bool takes_progress_thread(const Measurement& measurement) {
  if (measurement.over->role != Role::weft) return true;  // peers and limits: as they are
  return measurement.transport().starts_with("weft") && !measurement.transport().ends_with("-serial");
}

/// Returns true when payloads of the measurement may be written right before their posts.
bool takes_fresh(const Measurement& measurement) {
  switch (measurement.workload) {
    case Workload::rate:
      return !measurement.is_ucx_perftest();
    case Workload::matched:
    case Workload::unexpected:
    case Workload::matched_any_source:
    case Workload::matched_any_tag:
    case Workload::unexpected_any_source:
    case Workload::unexpected_any_tag:
    case Workload::unacknowledged:
      return true;
    default:
      return false;
  }
}

class Comparison {
 public:
  Comparison(const Options& options, const std::vector<const Measurement*>& measurements)
      : measurements_(measurements),
        processors_(choose_processors()),
        ucx_(processors_, options.seconds),
        cores_(count_cores()) {
    results_.options = options;
    results_.processors = processors_;
  }

  Results run() {
    const Interruption interruption;
    choose();
    const int planned = results_.options.rounds;
    steps_ = static_cast<std::size_t>(planned) * results_.series.size();
    int pass = 0;
    for (; pass < planned && !has_ended(); ++pass) make_pass(pass, all_series());
    judge_rounds(results_);
    // A machine that changed its state has spoilt rounds: make further passes for them, within reason.
    for (; pass < 2 * planned && !has_ended(); ++pass) {
      const std::vector<Series*> again = series_that_lack_rounds();
      if (again.empty()) break;
      steps_ += again.size();
      make_pass(pass, again);
      judge_rounds(results_);
    }
    decide(pass);
    bar_.clear();
    remark_on_missing();
    remark();
    return std::move(results_);
  }

 private:
  void choose() {
    for (const Measurement* measurement : measurements_) {
      const WorkloadInfo& workload = info_of(measurement->workload);
      for (const Variant& variant : variants_of(workload, results_.options)) {
        if (!is_possible(*measurement, variant)) continue;
        results_.series.push_back({.measurement = measurement,
                                   .variant = variant,
                                   .oversubscribed = variant.ranks * workload.threads > cores_,
                                   .rounds = {}});
      }
    }
    if (const auto& left_out = results_.options.left_out; !left_out.empty())
      remark_once(
          fmt::format("left out, as with --hosts they do not leave a host: {}", fmt::join(left_out, ", ")));
    if (!ucx_.remark().empty()) results_.remarks.push_back(ucx_.remark());
    if (processors_.size() < 2)
      results_.remarks.push_back("only one processor: nothing is bound, and figures tell little");
  }

  bool is_possible(const Measurement& measurement, const Variant& variant) {
    if (results_.options.fresh && !takes_fresh(measurement)) {
      remark_once(fmt::format("{} is left out: its payloads are not written before their posts (--fresh)",
                              measurement.name));
      return false;
    }
    if (!results_.options.hosts.names.empty() && variant.ranks != 2) {
      remark_once(fmt::format("{} is left out: with --hosts there are two ranks", measurement.name));
      return false;
    }
    if (measurement.is_ucx_perftest()) return ucx_.prepare(measurement.workload, variant.size);
    if (const std::string reason = why_absent(*measurement.over); !reason.empty()) {
      remark_once(fmt::format("{} is left out: {}", measurement.transport(), reason));
      return false;
    }
    if (measurement.transport() == "bare-ring-buffer" && variant.size > Ring::kPayload) {
      remark_once(fmt::format("the bare ring buffer is left out: its slots hold {} bytes", Ring::kPayload));
      return false;
    }
    if (results_.options.progress_thread && !takes_progress_thread(measurement)) {
      remark_once(
          fmt::format("{} is left out: only the thread that uses it may progress it", measurement.name));
      return false;
    }
    const bool solo = measurement.workload == Workload::solo || measurement.workload == Workload::solo_shared;
    if (solo && processors_.size() < 2) {
      results_.remarks.push_back(
          fmt::format("{} is left out: it needs two processors", name_of(measurement.workload)));
      return false;
    }
    return true;
  }

  /// The series of which rounds can be made.
  std::vector<Series*> all_series() {
    std::vector<Series*> all;
    for (Series& series : results_.series)
      if (series.failure.empty()) all.push_back(&series);
    return all;
  }

  [[nodiscard]] bool has_ended() const { return !results_.ended_early.empty(); }

  /// Makes one round of each selected series.
  void make_pass(int pass, const std::vector<Series*>& selected) {
    pass_ = static_cast<std::uint64_t>(pass);
    alternate(pass_, selected.size(), [&](std::size_t index) { return take_turn(*selected[index]); });
    forget_failed();
  }

  /// False: the comparison has ended.
  bool take_turn(Series& series) {
    if (!series.failure.empty()) return true;
    bar_.show_steps(done_++, steps_, series.measurement->name);
    try {
      series.rounds.push_back(make_round(series, pass_ % 2 == 1));
    } catch (const Error& error) {
      if (Interruption::signal() != 0 || !series.measurement->is_peer()) {
        results_.ended_early = Interruption::signal() != 0 ? "interrupted" : error.what();
        return false;
      }
      give_up(series, error.what());
    }
    return true;
  }

  /// Between hosts, what cannot be started once is not waited for in every row.
  void give_up(Series& failed, const std::string& why) {
    failed.failure = why;
    if (results_.options.hosts.names.empty() || !failed.rounds.empty()) return;
    bar_.clear();
    fmt::print(stderr, "weft perf: {}\n", why);
    if (failed.measurement->over->launch != Launch::mpiexec) return;
    for (Series& series : results_.series)
      if (series.measurement->over == failed.measurement->over && series.rounds.empty()) series.failure = why;
  }

  /// What was measured before a failure stays.
  void forget_failed() {
    std::erase_if(results_.series, [this](const Series& series) {
      if (series.failure.empty() || !series.rounds.empty()) return false;
      remark_once(fmt::format("{} is left out: {}", title_of(series), series.failure));
      return true;
    });
  }

  static std::string title_of(const Series& series) {
    return series.measurement->name + text_of(series.variant, info_of(series.measurement->workload));
  }

  void remark_on_missing() {
    for (const Series& series : results_.series)
      if (!series.failure.empty())
        remark_once(
            fmt::format("{} has {} rounds: {}", title_of(series), series.rounds.size(), series.failure));
    if (!has_ended()) return;
    std::vector<std::string> missing;
    std::erase_if(results_.series, [&missing](const Series& series) {
      if (series.rounds.empty()) missing.push_back(title_of(series));
      return series.rounds.empty();
    });
    remark_once(
        fmt::format("ended early: {}{}", results_.ended_early,
                    missing.empty() ? "" : fmt::format("; not measured: {}", fmt::join(missing, ", "))));
  }

  Round make_round(const Series& series, bool reversed) {
    const Measurement& measurement = *series.measurement;
    Round round;
    round.before_ns = probe_machine(processors_);
    if (measurement.is_ucx_perftest()) {
      round.value = ucx_.run(measurement.workload, series.variant.size);
    } else {
      measure(series, reversed, round);
    }
    round.after_ns = probe_machine(processors_);
    return round;
  }

  void measure(const Series& series, bool reversed, Round& round) {
    const Measurement& measurement = *series.measurement;
    Task task = task_of(series, results_.options, processors_);
    task.reversed = reversed;
    task.seed = results_.options.seed + pass_;
    for (const Outcome& outcome : start_worker(measurement, task, results_.options.hosts)) {
      round.core_share = std::min(round.core_share, outcome.core_share);
      note_library(measurement, outcome.peer_library);
      // When both ranks have a figure, the receiver's counts.
      if (outcome.role == "sender" && round.value > 0) {
        round.sender = outcome.value;
      } else if (outcome.value > 0) {
        if (outcome.role == "receiver") round.sender = round.value;
        round.value = outcome.value;
        round.parts = outcome.parts;
        round.percentiles_ns = outcome.percentiles_ns;
      }
    }
    const WorkloadInfo& workload = info_of(measurement.workload);
    if (workload.unit == Unit::bytes) {
      round.value *= static_cast<double>(task.size);
      round.sender *= static_cast<double>(task.size);
      for (double& part : round.parts) part *= static_cast<double>(task.size);
    }
    if (round.value <= 0) throw Error(fmt::format("{}: the round told no figure", measurement.name));
  }

  void note_library(const Measurement& measurement, const std::string& library) {
    if (library.empty()) return;
    remark_once(fmt::format("{}: {}", measurement.transport(), library));
  }

  void remark_once(const std::string& remark) {
    if (std::ranges::find(results_.remarks, remark) == results_.remarks.end())
      results_.remarks.push_back(remark);
  }

  /// Returns the series that lack rounds, together with the series that they are compared with, so that all
  /// of these have as many rounds.
  std::vector<Series*> series_that_lack_rounds() {
    const auto lacks = [this](const Series& series) {
      return series.failure.empty() &&
             2 * std::ranges::count(series.rounds, true, &Round::kept) <= results_.options.rounds - 1;
    };
    std::vector<Series*> found = all_series();
    std::erase_if(found, [&](const Series* each) {
      return std::ranges::none_of(results_.series, [&](const Series& series) {
        return lacks(series) && are_compared(*each, series);
      });
    });
    return found;
  }

  /// Makes further passes over the series that undecided bars compare. The undecided bars are chosen once,
  /// not after each pass: repeating until an interval lies where it should would find it there by chance.
  void decide(int pass) {
    const double end = results_.options.minutes * 60;
    if (end <= 0 || has_ended()) return;
    const std::vector<Which> undecided = compared_by_undecided_bars();
    const int most = kMostPasses * results_.options.rounds;
    int further = 0;
    for (double pass_takes = 0; further < most && !has_ended() && watch_.seconds() + pass_takes < end;
         ++further) {
      const std::vector<Series*> again = series_of(undecided);
      if (again.empty()) break;
      const double began = watch_.seconds();
      steps_ += again.size();
      make_pass(pass + further, again);
      pass_takes = watch_.seconds() - began;
    }
    judge_rounds(results_);
    if (further > 0)
      results_.remarks.push_back(
          fmt::format("{} further passes over the {} measurements that undecided bars compare", further,
                      undecided.size()));
  }

  /// Names a series: series move in memory when one of them fails.
  using Which = std::pair<const Measurement*, Variant>;
  std::vector<Which> compared_by_undecided_bars() {
    std::vector<Which> found;
    const std::vector<Judged> judged = judge_bars(results_);
    for (const Series& series : results_.series) {
      if (is_undecided(judged, series)) found.emplace_back(series.measurement, series.variant);
    }
    return found;
  }
  std::vector<Series*> series_of(const std::vector<Which>& wanted) {
    std::vector<Series*> found = all_series();
    std::erase_if(found, [&](const Series* each) {
      return std::ranges::find(wanted, Which{each->measurement, each->variant}) == wanted.end();
    });
    return found;
  }

  void remark() {
    if (const auto [busy, all] = busy_rounds(results_); busy > 0)
      results_.remarks.push_back(
          fmt::format("{} of {} rounds had less than {:.0f} % of their cores: other programs ran", busy, all,
                      100 * kBusyShare));
    results_.others = others_.share();
    if (is_disturbed(results_))
      results_.remarks.push_back(
          fmt::format("{}: these figures are not comparable", text_of_others(results_)));
  }

  const Stopwatch watch_;
  const OtherPrograms others_;
  const std::vector<const Measurement*>& measurements_;
  std::vector<int> processors_;
  UcxPeer ucx_;
  const int cores_;
  Results results_;
  std::uint64_t pass_ = 0;
  ProgressBar bar_;
  std::size_t steps_ = 0;  // rounds that are planned
  std::size_t done_ = 0;
};

}  // namespace

Results compare(const Options& options, const std::vector<const Measurement*>& measurements) {
  return Comparison(options, measurements).run();
}

}  // namespace weft::tools::perf
