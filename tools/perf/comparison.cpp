#include "perf/comparison.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include <algorithm>

#include "perf/pinning.hpp"
#include "perf/progress_bar.hpp"
#include "perf/ring.hpp"
#include "perf/round.hpp"
#include "perf/ucx.hpp"

namespace weft::tools::perf {
namespace {

constexpr double kBusyShare = 0.9;  // of a core, below which other programs disturbed a round

class Comparison {
 public:
  explicit Comparison(const Options& options)
      : processors_(choose_processors()), ucx_(processors_, options.size, options.seconds) {
    results_.options = options;
    results_.processors = processors_;
  }

  Results run() {
    choose();
    const int planned = results_.options.rounds;
    ProgressBar bar(static_cast<std::size_t>(planned) * results_.series.size());
    int pass = 0;
    for (; pass < planned; ++pass) make_pass(pass, bar);
    judge_rounds(results_);
    // A machine that changed its state has spoilt rounds: make up for them, within reason.
    for (; pass < 2 * planned && lacks_rounds(); ++pass) {
      bar.extend(results_.series.size());
      make_pass(pass, bar);
      judge_rounds(results_);
    }
    bar.finish();
    remark();
    return std::move(results_);
  }

 private:
  void choose() {
    for (const Measurement* measurement : results_.options.measurements) {
      if (is_possible(*measurement)) results_.series.push_back({.measurement = measurement, .rounds = {}});
    }
    if (!ucx_.remark().empty()) results_.remarks.push_back(ucx_.remark());
    if (processors_.size() < 2)
      results_.remarks.push_back("only one processor: nothing is bound, and figures tell little");
  }

  bool is_possible(const Measurement& measurement) {
    if (measurement.is_ucx()) return ucx_.prepare(measurement.workload);
    if (measurement.transport() == "ring" && results_.options.size > Ring::kPayload) {
      results_.remarks.push_back(
          fmt::format("the bare ring is left out: its slots hold {} bytes", Ring::kPayload));
      return false;
    }
    if (measurement.workload == Workload::solo && processors_.size() < 2) {
      results_.remarks.push_back("solo is left out: it needs two processors");
      return false;
    }
    return true;
  }

  void make_pass(int pass, ProgressBar& bar) {
    const bool reversed = pass % 2 == 1;
    const std::size_t count = results_.series.size();
    for (std::size_t i = 0; i < count; ++i) {
      Series& series = results_.series[reversed ? count - 1 - i : i];
      bar.show(series.measurement->name);
      try {
        series.rounds.push_back(make_round(*series.measurement, reversed));
      } catch (const Error& error) {
        if (!series.measurement->is_ucx()) throw;
        series.failure = error.what();
      }
      bar.advance();
    }
    std::erase_if(results_.series, [this](const Series& series) {
      if (series.failure.empty()) return false;
      results_.remarks.push_back(fmt::format("{} is left out: {}", series.measurement->name, series.failure));
      return true;
    });
  }

  Round make_round(const Measurement& measurement, bool reversed) {
    Round round;
    round.before_ns = probe_machine(processors_);
    if (measurement.is_ucx()) {
      round.value = ucx_.run(measurement.workload);
    } else {
      measure(measurement, reversed, round);
    }
    round.after_ns = probe_machine(processors_);
    return round;
  }

  void measure(const Measurement& measurement, bool reversed, Round& round) {
    const Task task{.measurement = std::string(measurement.name),
                    .verify = false,
                    .size = measurement.workload == Workload::rate ? results_.options.size : 8,
                    .seconds = results_.options.seconds,
                    .reversed = reversed,
                    .processors = processors_};
    for (const Outcome& outcome : start_worker(measurement, task)) {
      round.core_share = std::min(round.core_share, outcome.core_share);
      // Of a rate, the receiver's figure is the one that counts.
      if (measurement.workload == Workload::rate && outcome.role == "sender") {
        round.sender = outcome.value;
      } else {
        round.value = outcome.value;
        round.parts = outcome.parts;
      }
    }
  }

  [[nodiscard]] bool lacks_rounds() const {
    return std::ranges::any_of(results_.series, [this](const Series& series) {
      return 2 * std::ranges::count(series.rounds, true, &Round::kept) <= results_.options.rounds - 1;
    });
  }

  void remark() {
    std::size_t busy = 0;
    std::size_t all = 0;
    for (const Series& series : results_.series) {
      all += series.rounds.size();
      busy += static_cast<std::size_t>(std::ranges::count_if(
          series.rounds, [](const Round& round) { return round.core_share < kBusyShare; }));
    }
    if (busy > 0) {
      results_.remarks.push_back(
          fmt::format("{} of {} rounds had less than {:.0f} % of their cores: other programs ran", busy, all,
                      100 * kBusyShare));
    }
  }

  std::vector<int> processors_;
  UcxPeer ucx_;
  Results results_;
};

}  // namespace

Results compare(const Options& options) { return Comparison(options).run(); }

bool verify(const Options& options) {
  const std::vector<int> processors = choose_processors();
  bool well = true;
  for (const Measurement* measurement : options.measurements) {
    const bool too_long = measurement->transport() == "ring" && options.size > Ring::kPayload;
    if (measurement->workload == Workload::latency || measurement->is_ucx() || too_long) continue;
    const Task task{.measurement = std::string(measurement->name),
                    .verify = true,
                    .size = options.size,
                    .seconds = options.seconds,
                    .reversed = false,
                    .processors = processors};
    Outcome sum;
    for (const Outcome& outcome : start_worker(*measurement, task)) {
      sum.messages = std::max(sum.messages, outcome.messages);
      sum.lost += outcome.lost;
      sum.duplicated += outcome.duplicated;
      sum.torn += outcome.torn;
    }
    well = well && sum.lost == 0 && sum.duplicated == 0 && sum.torn == 0;
    fmt::print("{:<28}{:>12} messages, {} lost, {} duplicated, {} torn\n", measurement->name, sum.messages,
               sum.lost, sum.duplicated, sum.torn);
  }
  return well;
}

}  // namespace weft::tools::perf
