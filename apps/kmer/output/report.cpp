#include "output/report.hpp"

#include "output/outputs.hpp"

#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <weft/version.hpp>

#include "common/text_table.hpp"

namespace kmer {

namespace {

using weft::tools::TextColumn;

std::uint64_t per_second(std::uint64_t amount, double seconds) {
  return seconds > 0 ? static_cast<std::uint64_t>(static_cast<double>(amount) / seconds) : 0;
}

}  // namespace

std::string grouped(std::uint64_t value) {
  std::string digits = fmt::format("{}", value);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string json_report(const Report& report) {
  const CountOptions& options = report.options;
  const Totals& totals = report.totals;
  nlohmann::ordered_json json;
  json["program"] = kProgramName;
  json["version"] = weft::library_version();
  json["parameters"] = {{"k", options.k},
                        {"files", options.files},
                        {"ranks", report.ranks},
                        {"threads", options.threads},
                        {"progress", options.progress == Progress::workers ? "workers" : "dedicated"},
                        {"buffer", options.buffer},
                        {"memory", options.memory},
                        {"false_positives", options.false_positive_rate},
                        {"skip_ends", options.skip_ends}};
  json["totals"] = {{"reads", totals.reads},
                    {"kmers", totals.kmers},
                    {"distinct", totals.distinct},
                    {"kept", totals.kept},
                    {"kept_occurrences", totals.kept_occurrences},
                    {"super_kmers", totals.super_kmers},
                    {"messages", totals.messages},
                    {"message_bytes", totals.message_bytes},
                    {"peak_memory_bytes", totals.peak_memory},
                    {"spilled_receivers", totals.spilled_receivers}};
  json["seconds"] = {{"reading", report.timings.reading},
                     {"counting", report.timings.counting},
                     {"writing", report.timings.writing},
                     {"total", report.timings.total}};
  json["kmers_per_second"] = per_second(totals.kmers, report.timings.total);
  json["messages_per_second"] = per_second(totals.messages, report.timings.reading);
  auto& bins = json["histogram"] = nlohmann::ordered_json::array();
  for (const Histogram::Bin& bin : report.histogram.bins())
    bins.push_back({{"count", bin.count}, {"kmers", bin.kmers}});
  return json.dump(1) + "\n";
}

std::string table_report(const Report& report) {
  const Totals& totals = report.totals;
  const Timings& timings = report.timings;
  const std::vector<weft::tools::TextRow> rows = {
      {"reads", grouped(totals.reads)},
      {fmt::format("{}-mers", report.options.k), grouped(totals.kmers)},
      {"distinct", grouped(totals.distinct)},
      {"kept (count >= 2)", grouped(totals.kept)},
      {"time", fmt::format("{:.3f} s", timings.total)},
      {"  reading", fmt::format("{:.3f} s", timings.reading)},
      {"  counting", fmt::format("{:.3f} s", timings.counting)},
      {"  writing", fmt::format("{:.3f} s", timings.writing)},
      {"k-mers/s", grouped(per_second(totals.kmers, timings.total))},
      {"messages", grouped(totals.messages)},
      {"messages/s", grouped(per_second(totals.messages, timings.reading))},
      {"peak memory", fmt::format("{:.1f} MiB", static_cast<double>(totals.peak_memory) / (1 << 20))},
  };
  const std::string heading =
      fmt::format("{} rank{} x {} thread{}, k = {}\n", report.ranks, report.ranks == 1 ? "" : "s",
                  report.options.threads, report.options.threads == 1 ? "" : "s", report.options.k);
  const TextColumn columns[] = {{TextColumn::Align::left, 18}, {TextColumn::Align::right}};
  return heading + weft::tools::text_table(rows, columns, 1);
}

}  // namespace kmer
