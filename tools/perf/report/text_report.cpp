#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "common/text_table.hpp"
#include "perf/report/bars.hpp"
#include "perf/report/report_formats.hpp"

namespace weft::tools::perf {
namespace {

constexpr double kOneMillion = 1e6;
constexpr double kBillion = 1e9;

std::string shown_ratio(const Spread& ratio) {
  if (ratio.count == 0) return "-";
  return fmt::format("{:.2f} ({:.2f} .. {:.2f})", ratio.median, ratio.low, ratio.high);
}

/// Aligns the first and the last column to the left, numbers to the right.
std::string aligned(const std::vector<TextRow>& rows) {
  std::vector<TextColumn> columns(rows.front().size(), {TextColumn::Align::right});
  columns.front().align = columns.back().align = TextColumn::Align::left;
  return text_table(rows, columns);
}

double divisor_of(Unit unit) {
  switch (unit) {
    case Unit::messages:
      return kOneMillion;
    case Unit::bytes:
      return kBillion;
    default:
      return 1;
  }
}

/// The median over the rounds of one element of Round::parts.
double median_part(const Series& series, std::size_t part) {
  std::vector<double> values;
  for (const Round& round : series.rounds)
    if ((round.kept || series.disturbed) && round.parts.size() > part) values.push_back(round.parts[part]);
  return spread_of(std::move(values)).median;
}

/// The median over the rounds of each percentile, in units of `divisor` nanoseconds.
std::string percentiles_of(const Series& series, double divisor, int digits) {
  std::string text;
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<double> values;
    for (const Round& round : series.rounds)
      if ((round.kept || series.disturbed) && round.percentiles_ns.size() > i)
        values.push_back(round.percentiles_ns[i] / divisor);
    text += fmt::format("{}{:.{}f}", i == 0 ? "" : " ", spread_of(std::move(values)).median, digits);
  }
  return text;
}

/// One line with the further results of a workload: `show` makes the words of a series from its parts.
template <class Show>
void append_parts(std::string& text, const std::vector<const Series*>& all, const char* what,
                  const Show& show) {
  std::string line;
  for (const Series* each : all) {
    const Series& series = *each;
    const Round& first = series.rounds.front();
    if (first.parts.empty() && first.percentiles_ns.empty()) continue;
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", series.measurement->transport(), show(series));
  }
  if (!line.empty()) text += fmt::format("  {}: {}\n", what, line);
}

void append_further(std::string& text, const std::vector<const Series*>& all, Workload workload) {
  if (workload == Workload::matching) {
    append_parts(text, all, "posting one receive before that, nanoseconds",
                 [](const Series& series) { return fmt::format("{:.1f}", median_part(series, 0)); });
    append_parts(text, all, "shortest repetition",
                 [](const Series& series) { return fmt::format("{:.1f}", median_part(series, 1)); });
  } else if (workload == Workload::wake_up) {
    append_parts(text, all, "percentiles 50 and 99, nanoseconds", [](const Series& series) {
      return fmt::format("{:.0f} {:.0f}", median_part(series, 0), median_part(series, 2));
    });
  } else if (is_window(workload)) {
    const double unit = divisor_of(info_of(workload).unit);
    append_parts(text, all, "the median window by itself", [unit](const Series& series) {
      return fmt::format("{:.1f}", median_part(series, 0) / unit);
    });
  } else if (is_allreduce(workload)) {
    append_parts(text, all, "the median block by itself",
                 [](const Series& series) { return fmt::format("{:.1f}", median_part(series, 0)); });
  } else if (workload == Workload::latency || workload == Workload::matched_latency) {
    append_parts(text, all, "percentiles 50, 99, 99.9 of single round trips, half",
                 [](const Series& series) { return percentiles_of(series, 1, 0); });
  } else if (workload == Workload::exchange) {
    append_parts(text, all, "percentiles 50, 99, 99.9 of single exchanges",
                 [](const Series& series) { return percentiles_of(series, 1, 0); });
  }
  if (is_pairs(workload))
    append_parts(text, all, "percentiles 50, 99, 99.9 of single round trips, microseconds",
                 [](const Series& series) { return percentiles_of(series, 1000, 2); });
  if (info_of(workload).threads > 1 && workload != Workload::streams_to_one)  // whose receiver is one thread
    append_parts(text, all, "the slowest thread's share, 1 being fair", [](const Series& series) {
      return fmt::format("{:.2f}", spread_of(series, Figure::share).median);
    });
}

/// Formats small figures with more digits.
std::string figure_text(double value) {
  return fmt::format("{:.{}f}", value, value < 1 ? 3 : value < 10 ? 2 : 1);
}

TextRow row_of(const Series& series, const Results& results) {
  const Measurement& measurement = *series.measurement;
  const Spread spread = spread_of(series);
  const double unit = divisor_of(info_of(measurement.workload).unit);
  const Series* limit = limit_of(results, series);
  const Series* peer = best_peer_of(results, series);
  return {std::string(measurement.transport()) + (series.disturbed ? " !" : ""),
          figure_text(spread.median / unit),
          fmt::format("{} .. {}", figure_text(spread.low / unit), figure_text(spread.high / unit)),
          shown_ratio(ratio_of(series, limit)),
          shown_ratio(ratio_of(series, peer)),
          std::string(measurement.description())};
}

std::string heading(const char* what, const Series* series) {
  return series == nullptr ? std::string(what) : fmt::format("to {}", series->measurement->transport());
}

void append_workload(std::string& text, const Results& results, const WorkloadInfo& workload,
                     const Variant& variant) {
  std::vector<TextRow> rows = {
      {std::string(workload.name), "median", "lowest .. highest", "to the limit", "to a peer", ""}};
  std::vector<const Series*> all;
  for (const Series& series : results.series) {
    if (series.measurement->workload != workload.workload || series.variant != variant) continue;
    rows.front()[3] = heading("to the limit", limit_of(results, series));
    rows.front()[4] = heading("to a peer", best_peer_of(results, series));
    rows.push_back(row_of(series, results));
    all.push_back(&series);
  }
  text += title_of(workload, variant) + "\n";
  text += aligned(rows);
  append_further(text, all, workload.workload);
  text += "\n";
}

void append_solo(std::string& text, const Results& results) {
  const Series* series = find_series(results, "solo/threads");
  if (series == nullptr) return;
  text += "Two threads of one process, each with a device that sends to itself: rate together / rate alone\n";
  std::vector<TextRow> rows = {{"thread", "median", "lowest .. highest", "alone, million/s", ""}};
  for (std::size_t thread = 0; thread < 2; ++thread) {
    const Spread ratio = thread_ratio_of(*series, thread);
    std::vector<double> alone;
    for (const Round& round : series->rounds) {
      if ((round.kept || series->disturbed) && round.parts.size() > 2 * thread)
        alone.push_back(round.parts[2 * thread] / kOneMillion);
    }
    rows.push_back({fmt::format("{}", thread), fmt::format("{:.3f}", ratio.median),
                    fmt::format("{:.3f} .. {:.3f}", ratio.low, ratio.high),
                    fmt::format("{:.1f}", spread_of(std::move(alone)).median), ""});
  }
  text += aligned(rows);
  text += "\n";
}

void append_bars(std::string& text, const Results& results) {
  std::vector<TextRow> rows = {{"bar", "ratio", "interval", "must", "aim", ""}};
  for (const Judged& each : judge_bars(results)) {
    const char* sign = each.smaller_is_better() ? "<=" : ">=";
    rows.push_back(
        {each.base == nullptr ? name_of(each) : fmt::format("{} to {}", name_of(each), base_of(each)),
         each.ratio.count == 0 ? "-" : fmt::format("{:.2f}", each.ratio.median),
         each.ratio.count == 0 ? "-"
                               : fmt::format("{:.2f} .. {:.2f} ({:.0f} %)", each.ratio.interval_low,
                                             each.ratio.interval_high, 100 * each.ratio.confidence),
         fmt::format("{} {:g}", sign, each.bar->must), fmt::format("{} {:g}", sign, each.bar->aim),
         verdict_text(each)});
  }
  if (rows.size() == 1) return;
  text += aligned(rows);
  text += "\n";
}

/// The figures of the rounds that were made in another state of the machine than most.
void append_other_states(std::string& text, const Results& results) {
  for (std::size_t state = 1; state < results.states.size(); ++state) {
    std::vector<TextRow> rows = {
        {"measurement", "median", "lowest .. highest", "rounds", "to the limit", "to a peer", ""}};
    for (const Series& series : results.series) {
      const Spread spread = spread_in_state(series, state);
      if (spread.count == 0) continue;
      const double unit = divisor_of(info_of(series.measurement->workload).unit);
      rows.push_back(
          {series.measurement->name, figure_text(spread.median / unit),
           fmt::format("{} .. {}", figure_text(spread.low / unit), figure_text(spread.high / unit)),
           fmt::format("{}", spread.count),
           shown_ratio(ratio_in_state(series, limit_of(results, series), state)),
           shown_ratio(ratio_in_state(series, best_peer_of(results, series), state)), ""});
    }
    if (rows.size() == 1) continue;
    text += fmt::format("While cores were {}, a result of its own\n", state_text(results.states[state]));
    text += aligned(rows);
    text += "\n";
  }
}

void append_state(std::string& text, const Results& results) {
  auto out = std::back_inserter(text);
  std::size_t rounds = 0;
  std::size_t dropped = 0;
  bool disturbed = false;
  for (const Series& series : results.series) {
    rounds += series.rounds.size();
    dropped += left_out(series);
    disturbed = disturbed || series.disturbed;
  }
  if (results.processors.size() == 2) {
    fmt::format_to(out, "Bound to processors {} and {}. ", results.processors[0], results.processors[1]);
  }
  fmt::format_to(out,
                 "Cores were {} most of the time; {} of {} rounds were made in another state, or lost their "
                 "cores to other programs, and are no part of the figures above.\n",
                 state_text(results.state), dropped, rounds);
  if (disturbed)
    text += "!: every round was made in another state of the machine than most, so that all of them count.\n";
  for (const std::string& remark : results.remarks) text += remark + "\n";
}

double median_of(const Results& results, std::string_view name) {
  const Series* series = find_series(results, name);
  return series == nullptr ? 0 : spread_of(*series).median;
}

}  // namespace

std::string as_table(const Results& results) {
  std::string text;
  for (const WorkloadInfo& workload : all_workloads()) {
    if (workload.workload == Workload::solo) {
      append_solo(text, results);
    } else {
      for (const Variant& variant : measured_variants(results, workload.workload))
        append_workload(text, results, workload, variant);
    }
  }
  append_bars(text, results);
  append_other_states(text, results);
  append_state(text, results);
  return text;
}

std::string as_brief(const Results& results) {
  const Series* rate = find_series(results, "rate/serial-handler");
  const Series* latency = find_series(results, "latency/serial-handler");
  const std::string warning =
      is_disturbed(results) ? fmt::format("              {}: not comparable\n", text_of_others(results)) : "";
  return fmt::format(
      "message rate  {:.1f} million/s (8-byte active messages, SerialEndpoint to a handler)\n"
      "latency       {:.1f} ns one way\n"
      "bare limit    {:.2f} of the rate of a bare ring buffer ({:.1f} million/s), {:.2f} times the latency "
      "of a "
      "bare cache line ({:.1f} ns)\n"
      "machine       cores {}\n{}",
      spread_of(*rate).median / kOneMillion, spread_of(*latency).median,
      ratio_of(*rate, find_series(results, "rate/bare-ring-buffer")).median,
      median_of(results, "rate/bare-ring-buffer") / kOneMillion,
      ratio_of(*latency, find_series(results, "latency/bare-cache-line")).median,
      median_of(results, "latency/bare-cache-line"), state_text(results.state), warning);
}

}  // namespace weft::tools::perf
