// A matching study for a terminal, and as CSV and JSON.
#include <fmt/core.h>

#include <iterator>

#include "common/text_table.hpp"
#include "experiment/report/report_files.hpp"
#include "study/matching/matching_groups.hpp"

namespace weft::tools::study {

namespace {

std::string cell(const std::optional<double>& value) { return value ? short_number(*value) : "-"; }

std::string table_of(const MatchingGroup& group, const MatchingFigure& figure) {
  const bool is_depth = std::string_view(figure.name) == "depth";
  const bool is_of_threads = group.rows.front()->mode != "trace";
  TextRow head{is_of_threads ? "decomposition" : "trace"};
  if (is_of_threads) head.insert(head.end(), {"receivers", "senders"});
  head.push_back("messages");
  for (const std::string& engine : group.engines) head.push_back(engine);
  bool has_bound = false;
  bool has_simulated = false;
  bool has_paper = false;
  for (const std::string& scenario : group.scenarios) {
    has_bound = has_bound || (is_depth && bound_of(group, scenario));
    has_simulated = has_simulated || (is_depth && simulated_of(group, scenario));
    has_paper = has_paper || (is_depth ? paper_depth_of : paper_us_of)(group, scenario);
  }
  if (has_bound) head.push_back("list by theory");
  if (has_simulated) head.push_back("list, interleaved replay");
  if (has_paper) head.push_back(is_depth ? "printed by the paper" : "paper's machine");
  std::vector<TextColumn> columns(head.size(), {TextColumn::Align::right});
  columns.front() = {TextColumn::Align::left};
  std::vector<TextRow> rows{head};
  for (const std::string& scenario : group.scenarios) {
    const HaloCounts& counts = group.any(scenario).counts;
    TextRow row{scenario};
    if (is_of_threads)
      row.insert(row.end(), {std::to_string(counts.receivers), std::to_string(counts.senders)});
    row.push_back(std::to_string(counts.messages));
    for (const std::string& engine : group.engines) {
      const MatchingRow* const found = group.find(scenario, engine);
      row.push_back(found == nullptr ? "-" : cell(figure.of(*found)));
    }
    if (has_bound) row.push_back(cell(bound_of(group, scenario)));
    if (has_simulated) row.push_back(cell(simulated_of(group, scenario)));
    if (has_paper) {
      const PaperRow* const paper = paper_row_of(scenario);
      row.push_back((is_depth && paper != nullptr && paper->is_more ? "> " : "") +
                    cell((is_depth ? paper_depth_of : paper_us_of)(group, scenario)));
    }
    rows.push_back(std::move(row));
  }
  return text_table(rows, columns);
}

std::string resource_tables(const std::vector<ResourceRow>& resources) {
  const std::vector<TextColumn> columns{{TextColumn::Align::left},  {TextColumn::Align::right},
                                        {TextColumn::Align::right}, {TextColumn::Align::right},
                                        {TextColumn::Align::right}, {TextColumn::Align::right}};
  std::vector<TextRow> rows{
      {"resource", "threads", "pairs/us", "lowest..highest", "contended/1000", "of other threads/1000"}};
  for (const ResourceRow& row : resources)
    rows.push_back({row.resource, std::to_string(row.threads), short_number(row.operations_per_us.median),
                    fmt::format("{}..{}", short_number(row.operations_per_us.low),
                                short_number(row.operations_per_us.high)),
                    short_number(row.contended), cell(row.from_other_threads)});
  return text_table(rows, columns);
}

Json json_of(const Spread& spread) {
  return {{"median", spread.median}, {"low", spread.low}, {"high", spread.high}, {"count", spread.count}};
}

Json json_of(const MatchingRow& row) {
  Json entry = {{"mode", row.mode},
                {"engine", row.engine},
                {"scenario", row.scenario},
                {"receivers", row.counts.receivers},
                {"senders", row.counts.senders},
                {"messages", row.counts.messages},
                {"sending_ranks", row.senders}};
  if (row.threads != 0) entry["threads"] = row.threads;
  if (!row.sweep.empty()) entry["sweep"] = row.sweep;
  if (!row.order.empty()) entry["order"] = row.order;
  if (!row.remark.empty()) entry["remark"] = row.remark;
  if (row.depth.count > 0) {
    entry["depth"] = row.mean_depth;
    entry["depth_of_runs"] = json_of(row.depth);
    entry["deepest"] = row.deepest;
    entry["list_length"] = json_of(row.length);
    entry["longest_list"] = row.longest;
    entry["search_ns"] = json_of(row.search_ns);
    entry["lock_misses"] = row.lock_misses;
  }
  if (row.drain_us.count > 0) entry["drain_us"] = json_of(row.drain_us);
  if (row.bound) entry["bound"] = *row.bound;
  if (const std::optional<bool> keeps = row.keeps_bound()) entry["keeps_bound"] = *keeps;
  if (row.simulated) entry["interleaved_replay_depth"] = *row.simulated;
  if (row.paper_depth) entry["paper_depth"] = *row.paper_depth;
  if (row.paper_ms) entry["paper_ms"] = *row.paper_ms;
  return entry;
}

}  // namespace

std::string matching_text(const MatchingResults& results) {
  std::string text;
  for (const MatchingGroup& group : groups_of(results))
    for (const MatchingFigure& figure : matching_figures())
      text += fmt::format("{}: {}\n{}\n", group.title, figure.title, table_of(group, figure));
  if (!results.resources.empty())
    text += fmt::format("Pairs of operations (something in, something out) of all threads\n{}\n",
                        resource_tables(results.resources));
  for (const SoakRow& row : results.soaks) text += "soak: " + text_of(row) + "\n";
  return text + findings_text(matching_findings(results), results.remarks);
}

std::string text_of(const SoakRow& row) {
  return fmt::format("{}: {} messages in {:.1f} s, none lost, doubled or mismatched", row.engine,
                     row.messages, row.seconds);
}

std::string matching_csv(const MatchingResults& results) {
  std::string text =
      "mode,order,sending_ranks,scenario,receivers,senders,messages,engine,depth,deepest,list_length,"
      "search_ns,lock_misses,drain_us,drain_us_low,drain_us_high,bound,paper_ms,paper_depth,threads,sweep\n";
  const auto optional = [](bool is_there, double value) {
    return is_there ? fmt::format("{:.6g}", value) : std::string();
  };
  for (const MatchingRow& row : results.rows) {
    const bool is_counted = row.depth.count > 0;
    const bool is_timed = row.drain_us.count > 0;
    fmt::format_to(
        std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
        row.mode, row.order, row.senders, row.scenario, row.counts.receivers, row.counts.senders,
        row.counts.messages, row.engine, optional(is_counted, row.mean_depth),
        optional(is_counted, static_cast<double>(row.deepest)), optional(is_counted, row.length.median),
        optional(is_counted, row.search_ns.median),
        optional(is_counted, static_cast<double>(row.lock_misses)), optional(is_timed, row.drain_us.median),
        optional(is_timed, row.drain_us.low), optional(is_timed, row.drain_us.high),
        optional(row.bound.has_value(), row.bound.value_or(0)),
        optional(row.paper_ms.has_value(), row.paper_ms.value_or(0)),
        optional(row.paper_depth.has_value(), row.paper_depth.value_or(0)),
        optional(row.threads != 0, static_cast<double>(row.threads)), row.sweep);
  }
  return text;
}

std::string matching_json(const MatchingResults& results) {
  Json all = {{"study", "matching"},
              {"machine", results.machine},
              {"seed", results.seed},
              {"runs", results.runs},
              {"findings", matching_findings(results)},
              {"left_out", results.remarks},
              {"rows", Json::array()},
              {"resources", Json::array()},
              {"soaks", Json::array()}};
  for (const MatchingRow& row : results.rows) all["rows"].push_back(json_of(row));
  for (const ResourceRow& row : results.resources) {
    Json entry = {{"resource", row.resource},
                  {"threads", row.threads},
                  {"pairs_per_us", json_of(row.operations_per_us)},
                  {"contended_per_thousand", row.contended}};
    if (row.from_other_threads) entry["of_other_threads_per_thousand"] = *row.from_other_threads;
    all["resources"].push_back(std::move(entry));
  }
  for (const SoakRow& row : results.soaks)
    all["soaks"].push_back({{"engine", row.engine}, {"messages", row.messages}, {"seconds", row.seconds}});
  return all.dump(1) + "\n";
}

}  // namespace weft::tools::study
