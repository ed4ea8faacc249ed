#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "perf/report.hpp"

namespace weft::tools::perf {
namespace {

constexpr double kMillion = 1e6;
constexpr double kUcxBar = 5;  // what weft's rate must be in UCX's

using Row = std::vector<std::string>;

std::string shown_ratio(const Spread& ratio) {
  if (ratio.count == 0) return "-";
  return fmt::format("{:.2f} ({:.2f} .. {:.2f})", ratio.median, ratio.low, ratio.high);
}

/// The first and the last column to the left, numbers to the right.
void append_rows(std::string& text, const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    std::string line = "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool left = i == 0 || i + 1 == row.size();
      line += left ? fmt::format("{:<{}}  ", row[i], widths[i]) : fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
}

Row row_of(const Series& series, const Results& results) {
  const Measurement& measurement = *series.measurement;
  const bool rate = measurement.workload == Workload::rate;
  const Spread spread = spread_of(series);
  const double unit = rate ? kMillion : 1;
  return {std::string(measurement.transport()) + (series.disturbed ? " !" : ""),
          fmt::format("{:.1f}", spread.median / unit),
          fmt::format("{:.1f} .. {:.1f}", spread.low / unit, spread.high / unit),
          shown_ratio(ratio_of(series, limit_of(results, measurement))),
          shown_ratio(ratio_of(series, ucx_of(results, measurement))),
          std::string(measurement.description)};
}

void append_workload(std::string& text, const Results& results, Workload workload) {
  const bool rate = workload == Workload::rate;
  std::vector<Row> rows = {{rate ? "rate" : "latency", "median", "lowest .. highest",
                            rate ? "to the bare ring" : "to the bare line", "to UCX", ""}};
  for (const Series& series : results.series) {
    if (series.measurement->workload == workload) rows.push_back(row_of(series, results));
  }
  if (rows.size() == 1) return;
  text += rate ? fmt::format("Active messages of {} bytes between two ranks, million per second\n",
                             results.options.size)
               : std::string("Active messages of 8 bytes between two ranks, nanoseconds one way\n");
  append_rows(text, rows);
  text += "\n";
}

void append_solo(std::string& text, const Results& results) {
  const Series* series = find_series(results, "solo/threads");
  if (series == nullptr) return;
  text += "Two threads of one process, each with a device that sends to itself: rate together / rate alone\n";
  std::vector<Row> rows = {{"thread", "median", "lowest .. highest", "alone, million/s", ""}};
  for (std::size_t thread = 0; thread < 2; ++thread) {
    const Spread ratio = thread_ratio_of(*series, thread);
    std::vector<double> alone;
    for (const Round& round : series->rounds) {
      if ((round.kept || series->disturbed) && round.parts.size() > 2 * thread)
        alone.push_back(round.parts[2 * thread] / kMillion);
    }
    rows.push_back({fmt::format("{}", thread), fmt::format("{:.3f}", ratio.median),
                    fmt::format("{:.3f} .. {:.3f}", ratio.low, ratio.high),
                    fmt::format("{:.1f}", spread_of(std::move(alone)).median), ""});
  }
  append_rows(text, rows);
  text += "\n";
}

void append_bar(std::string& text, const Results& results) {
  const Series* weft = find_series(results, "rate/serial-handler");
  if (weft == nullptr) return;
  const Spread ratio = ratio_of(*weft, ucx_of(results, *weft->measurement));
  if (ratio.count == 0) return;
  const char* verdict = ratio.low >= kUcxBar      ? "met"
                        : ratio.median >= kUcxBar ? "met by the median, not by every round"
                                                  : "missed";
  fmt::format_to(std::back_inserter(text),
                 "SerialEndpoint to a handler against UCX's active messages: {:.1f} times the rate ({:.1f} "
                 ".. {:.1f}); at least {:.0f} times: {}\n",
                 ratio.median, ratio.low, ratio.high, kUcxBar, verdict);
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
                 "A cache line took {:.0f} .. {:.0f} ns from one to the other most of the time; {} of {} "
                 "rounds were made in another state and left out.\n",
                 results.state.low_ns, results.state.high_ns, dropped, rounds);
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
  append_workload(text, results, Workload::rate);
  append_workload(text, results, Workload::latency);
  append_solo(text, results);
  append_bar(text, results);
  append_state(text, results);
  return text;
}

std::string as_brief(const Results& results) {
  const Series* rate = find_series(results, "rate/serial-handler");
  const Series* latency = find_series(results, "latency/serial-handler");
  return fmt::format(
      "message rate  {:.1f} million/s (8-byte active messages, SerialEndpoint to a handler)\n"
      "latency       {:.1f} ns one way\n"
      "bare limit    {:.2f} of the rate of a bare ring ({:.1f} million/s), {:.2f} times the latency of a "
      "bare cache line ({:.1f} ns)\n",
      spread_of(*rate).median / kMillion, spread_of(*latency).median,
      ratio_of(*rate, find_series(results, "rate/ring")).median, median_of(results, "rate/ring") / kMillion,
      ratio_of(*latency, find_series(results, "latency/line")).median, median_of(results, "latency/line"));
}

}  // namespace weft::tools::perf
