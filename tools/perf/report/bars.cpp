#include "perf/report/bars.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>

namespace weft::tools::perf {
namespace {

using Base = Bar::Base;

constexpr double kMillion = 1e6;
constexpr double kMicrosecond = 1e3;

constexpr Bar kBars[] = {
    {"rate/serial-handler", Base::best_peer, 5, 5},
    {"rate/serial-handler", Base::limit, 0.5, 0.8},
    {"rate/default-handler", Base::best_peer, 4, 6},
    {"rate/single-consumer-queue", Base::best_peer, 3.5, 5},
    {"rate/queue", Base::best_peer, 2.5, 4},
    {"latency/serial-handler", Base::best_peer, 1, 1},
    {"latency/serial-handler", Base::limit, 1.5, 1.3},
    {"matched/weft-serial", Base::best_peer, 2, 3},
    {"matched/weft", Base::best_peer, 2, 3},
    {"matching/weft-serial", Base::ucp, 0.5, 0.35},
    {"matching/weft", Base::ucp, 0.5, 0.35},
    {"rate-threads-2/weft-am-serial", Base::best_peer, 8, 12},
    {"rate-threads-4/weft-am-serial", Base::best_peer, 8, 12},
    {"rate-threads-2/weft-am-serial", Base::one_thread, 0.8, 0.95},
    {"rate-threads-4/weft-am-serial", Base::one_thread, 0.8, 0.95},
    {"rate-threads-2/weft-am", Base::best_peer, 8, 12},
    {"rate-threads-4/weft-am", Base::best_peer, 8, 12},
    {"rate-threads-2/weft-am", Base::one_thread, 0.8, 0.95},
    {"rate-threads-4/weft-am", Base::one_thread, 0.8, 0.95},
    {"rate-shared-2/weft-am", Base::best_peer, 6, 10},
    {"rate-shared-4/weft-am", Base::best_peer, 6, 10},
    {"pairs-2/weft-am", Base::best_peer, 0.5, 0.33, Figure::p99},
    {"pairs-2/weft-am", Base::none, 0.7, 0.9, Figure::share},
    {"pairs-4/weft-am", Base::best_peer, 0.5, 0.33, Figure::p99},
    {"pairs-4/weft-am", Base::none, 0.7, 0.9, Figure::share},
    {"pairs-shared-2/weft-am", Base::best_peer, 0.5, 0.33, Figure::p99},
    {"pairs-shared-2/weft-am", Base::none, 0.7, 0.9, Figure::share},
    {"pairs-shared-4/weft-am", Base::best_peer, 0.5, 0.33, Figure::p99},
    {"pairs-shared-4/weft-am", Base::none, 0.7, 0.9, Figure::share},
    {"solo/threads", Base::none, 0.95, 0.99},
    {"solo-shared/one-device", Base::none, 1, 1.5},
    {"modes/threads-own", Base::processes, 1, 1.1},
    {"modes/threads-shared", Base::processes, 1, 1.1},
    {"resource-queue/1-thread-serial", Base::none, 100, 100, Figure::value, kMillion},
    {"resource-queue/1-thread", Base::none, 100, 100, Figure::value, kMillion},
    {"resource-matching/1-thread", Base::none, 40, 40, Figure::value, kMillion},
    {"resource-packet/1-thread", Base::none, 200, 200, Figure::value, kMillion},
    {"idle/weft", Base::none, 2, 0.5},
    {"wake-up/weft", Base::none, 60, 45, Figure::value, kMicrosecond},
    {"outstanding-100/weft", Base::best_peer, 3, 4.5},
    {"outstanding-1000/weft", Base::best_peer, 3, 4.5},
    {"bandwidth-64k/weft", Base::best_peer, 1.5, 3},
    {"bandwidth-1m/weft", Base::best_peer, 2, 3},
    {"reused-64k/weft", Base::best_peer, 1.1, 1.5},
    {"reused-1m/weft", Base::best_peer, 1.1, 1.5},
    {"am-64k/weft-am", Base::best_peer, 1, 1.5},
    {"am-256k/weft-am", Base::best_peer, 1, 1.5},
    {"am-1m/weft-am", Base::best_peer, 1, 1.5},
    {"am-4m/weft-am", Base::best_peer, 1, 1.5},
    {"am-16m/weft-am", Base::best_peer, 1, 1.5},
    {"am-fresh-64k/weft-am", Base::best_peer, 1, 1.5},
    {"am-fresh-256k/weft-am", Base::best_peer, 1, 1.5},
    {"am-fresh-1m/weft-am", Base::best_peer, 1, 1.5},
    {"am-fresh-4m/weft-am", Base::best_peer, 1, 1.5},
    {"am-fresh-16m/weft-am", Base::best_peer, 1, 1.5},
    {"am-64k/weft-am", Base::few_requests, 0.8, 0.95},
    {"am-256k/weft-am", Base::few_requests, 0.8, 0.95},
    {"am-1m/weft-am", Base::few_requests, 0.8, 0.95},
    {"am-4m/weft-am", Base::few_requests, 0.8, 0.95},
    {"am-16m/weft-am", Base::few_requests, 0.8, 0.95},
    {"am-fresh-64k/weft-am", Base::few_requests, 0.8, 0.95},
    {"am-fresh-256k/weft-am", Base::few_requests, 0.8, 0.95},
    {"am-fresh-1m/weft-am", Base::few_requests, 0.8, 0.95},
    {"am-fresh-4m/weft-am", Base::few_requests, 0.8, 0.95},
    {"am-fresh-16m/weft-am", Base::few_requests, 0.8, 0.95},
    {"allreduce/weft", Base::best_peer, 1, 0.8},
    {"streams-2/weft-streams", Base::one_endpoint, 1.2, 1.5},
    {"streams-1/weft-streams", Base::by_hand, 0.97, 1},
    {"streams-2/weft-streams", Base::by_hand, 0.97, 1},
    {"streams-4/weft-streams", Base::by_hand, 0.97, 1},
    {"streams-1/weft-streams", Base::mpix_stream, 3, 10},
    {"streams-2/weft-streams", Base::mpix_stream, 3, 10},
    {"streams-4/weft-streams", Base::mpix_stream, 3, 10},
    {"streams-to-one/weft-streams", Base::mpix_stream, 3, 10},
    {"allreduce-1k/weft", Base::best_peer, 1, 0.8},
    {"allreduce-1m/weft", Base::best_peer, 1, 0.8},
    {"put-rate/weft-serial", Base::limit, 0.9, 0.97},
    {"get-rate/weft-serial", Base::limit, 0.9, 0.97},
    {"put-bandwidth/weft-serial", Base::limit, 0.9, 0.97},
    {"get-bandwidth/weft-serial", Base::limit, 0.9, 0.97},
};

/// Returns true for a series with the workload's own variant and without options that change it; bars judge
/// no other.
bool is_own(const Options& options, const Series& series) {
  return series.variant == info_of(series.measurement->workload).own() && options.compute_ns == 0 &&
         !options.fresh && !options.progress_thread && options.pins;
}

const Series* base_of(const Results& results, const Bar& bar, const Series& series) {
  switch (bar.base) {
    case Base::best_peer:
      return best_peer_of(results, series, bar.figure);
    case Base::limit:
      return limit_of(results, series);
    case Base::ucp:
      return find_series(results, std::string(name_of(series.measurement->workload)) + "/ucp");
    case Base::processes:
      return find_series(results, std::string(name_of(series.measurement->workload)) + "/processes");
    case Base::one_thread:
      return find_series(results, "rate-threads-1/" + std::string(series.measurement->transport()));
    case Base::few_requests:
      return find_series(results, std::string(name_of(series.measurement->workload)) + "/weft-am-16");
    case Base::one_endpoint:
      return find_series(results, std::string(name_of(series.measurement->workload)) + "/weft-one-endpoint");
    case Base::by_hand:
      return find_series(results, std::string(name_of(series.measurement->workload)) + "/weft-by-hand");
    case Base::mpix_stream:
      return find_series(results, std::string(name_of(series.measurement->workload)) + "/mpich-stream");
    case Base::none:
      break;
  }
  return nullptr;
}

Spread divided(Spread spread, double unit) {
  for (double* each :
       {&spread.median, &spread.low, &spread.high, &spread.interval_low, &spread.interval_high})
    *each /= unit;
  return spread;
}

Verdict judge(const Spread& ratio, const Bar& bar, bool smaller_is_better) {
  const double worse = smaller_is_better ? ratio.interval_high : ratio.interval_low;
  const double better = smaller_is_better ? ratio.interval_low : ratio.interval_high;
  const auto meets = [&](double value, double bound) {
    return smaller_is_better ? value <= bound : value >= bound;
  };
  if (meets(worse, bar.aim)) return Verdict::aim_met;
  if (meets(worse, bar.must)) return Verdict::met;
  return meets(better, bar.must) ? Verdict::undecided : Verdict::missed;
}

/// The libraries that take part in the standard comparison of a workload and have no figure in these results.
std::vector<std::string_view> missing_libraries(const Results& results, const Series& series, Figure figure) {
  std::vector<std::string_view> missing;
  const Workload workload = series.measurement->workload;
  for (const Measurement& each : catalogue()) {
    if (each.workload != workload || each.further || !each.is_peer()) continue;
    const std::string_view library = library_of(*each.over);
    const bool was_measured = std::ranges::any_of(results.series, [&](const Series& other) {
      return other.measurement->workload == workload && library_of(*other.measurement->over) == library &&
             other.variant == series.variant && spread_of(other, figure).count > 0;
    });
    if (!was_measured && std::ranges::find(missing, library) == missing.end()) missing.push_back(library);
  }
  return missing;
}

/// Says that more than half of the rounds of the judged series, or of its base, were disturbed; empty when
/// not.
std::string why_disturbed(const Series& series, bool is_base) {
  const auto disturbed = static_cast<std::size_t>(
      std::ranges::count_if(series.rounds, [&](const Round& round) { return is_disturbed(series, round); }));
  if (2 * disturbed <= series.rounds.size()) return {};
  return fmt::format("{} of {} rounds{}{} were disturbed", disturbed, series.rounds.size(),
                     is_base ? " of " : "", is_base ? series.measurement->name : "");
}

void judge(const Results& results, Judged& judged) {
  const Bar& bar = *judged.bar;
  judged.verdict = Verdict::not_judged;
  if (bar.base == Base::best_peer) {
    const std::vector<std::string_view> missing = missing_libraries(results, *judged.series, bar.figure);
    if (!missing.empty()) {
      judged.reason =
          fmt::format("{} {} not measured", fmt::join(missing, ", "), missing.size() == 1 ? "was" : "were");
      return;
    }
  }
  judged.may_be_judged_later = true;
  judged.reason = why_disturbed(*judged.series, false);
  if (judged.reason.empty() && judged.base != nullptr) judged.reason = why_disturbed(*judged.base, true);
  if (judged.reason.empty() && judged.ratio.count == 0)
    judged.reason = "no pass measured both in one state of the machine";
  if (!judged.reason.empty()) return;
  judged.verdict = judge(judged.ratio, bar, judged.smaller_is_better());
  judged.may_be_judged_later = judged.verdict == Verdict::undecided;
}

}  // namespace

std::string_view text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::aim_met:
      return "met, and the aim";
    case Verdict::met:
      return "met";
    case Verdict::undecided:
      return "undecided";
    case Verdict::missed:
      return "missed";
    case Verdict::not_judged:
      return "not judged";
  }
  return "";
}

std::string verdict_text(const Judged& judged) {
  std::string text(text_of(judged.verdict));
  return judged.reason.empty() ? text : text + ": " + judged.reason;
}

std::string_view text_of(Figure figure) {
  switch (figure) {
    case Figure::value:
      return "value";
    case Figure::p99:
      return "p99";
    case Figure::share:
      return "share";
    case Figure::median_window:
      return "median window";
  }
  return "";
}

std::string name_of(const Judged& judged) {
  std::string name = judged.series->measurement->name;
  if (judged.bar->figure != Figure::value) name.append(", ").append(text_of(judged.bar->figure));
  return name;
}

std::string_view base_of(const Judged& judged) {
  if (judged.base == nullptr) return "itself";
  const Measurement& base = *judged.base->measurement;
  return base.workload == judged.series->measurement->workload ? base.transport()
                                                               : std::string_view(base.name);
}

std::vector<Judged> judge_bars(const Results& results) {
  std::vector<Judged> judged;
  for (const Bar& bar : kBars) {
    const Series* series = find_series(results, bar.measurement);
    if (series == nullptr || !is_own(results.options, *series)) continue;
    const Series* base = base_of(results, bar, *series);
    const Spread ratio = bar.base == Base::none ? divided(spread_of(*series, bar.figure), bar.unit)
                                                : ratio_of(*series, base, bar.figure);
    if (bar.base == Base::none ? ratio.count == 0 : base == nullptr || base == series) continue;
    judge(results, judged.emplace_back(Judged{&bar, series, base, ratio, Verdict::not_judged}));
  }
  return judged;
}

bool is_undecided(const std::vector<Judged>& judged, const Series& series) {
  return std::ranges::any_of(judged, [&](const Judged& each) {
    return each.may_be_judged_later && (each.series == &series || each.base == &series);
  });
}

}  // namespace weft::tools::perf
