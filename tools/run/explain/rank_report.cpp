#include "run/explain/rank_report.hpp"

#include <nlohmann/json.hpp>

namespace weft::tools::run {

using nlohmann::json;

std::optional<RankReport> parse_report(const std::string& text) {
  RankReport report;
  try {
    const json parsed = json::parse(text);
    const json none = json::array();
    for (const json& wait : parsed.at("waits")) {
      report.waits.push_back({.what = wait.at("what"),
                              .file = wait.at("file"),
                              .line = wait.at("line"),
                              .context = wait.value("is_in_context", false)
                                             ? wait.at("function").get<std::string>()
                                             : std::string(),
                              .peer = wait.at("peer"),
                              .exposed = wait.at("exposed"),
                              .seconds = wait.at("seconds"),
                              .completion = wait.at("completion"),
                              .is_for_all = wait.at("is_for_all"),
                              .is_in_handler = wait.value("is_in_handler", false),
                              .is_whole = wait.value("is_whole", false),
                              .remote_id = wait.value("remote_id", std::int64_t{-1}),
                              .refusal = wait.value("refusal", std::string()),
                              .sequence = wait.value("sequence", std::uint64_t{0}),
                              .step = wait.value("step", std::uint64_t{0}),
                              .step_name = wait.value("step_name", std::string())});
      if (!wait.contains("operations")) continue;
      report.waits.back().operations.emplace();
      for (const json& index : wait.at("operations")) report.waits.back().operations->push_back(index);
    }
    for (const json& operation : parsed.at("operations"))
      report.operations.push_back({.kind = operation.at("kind"),
                                   .state = operation.at("state"),
                                   .peer = operation.at("peer"),
                                   .has_tag = operation.at("has_tag"),
                                   .tag = operation.at("tag"),
                                   .tag_mask = operation.value("tag_mask", ~std::uint64_t{0}),
                                   .tag_text = operation.value("tag_text", std::string()),
                                   .is_collective = operation.value("is_collective", false),
                                   .size = operation.at("size"),
                                   .completion = operation.at("completion"),
                                   .seconds = operation.value("seconds", 0.0),
                                   .remote_id = operation.value("remote_id", std::int64_t{-1})});
    for (const json& queue : parsed.value("queues", none))
      report.queues.push_back(
          {.exposed = queue.at("exposed"), .messages = queue.at("messages"), .seconds = queue.at("seconds")});
    for (const json& refusals : parsed.value("refusals", none))
      report.refusals.push_back({.reason = refusals.at("reason"),
                                 .count = refusals.at("count"),
                                 .peer = refusals.value("peer", std::int64_t{-1}),
                                 .remote_id = refusals.value("remote_id", std::int64_t{-1})});
    for (const json& id : parsed.value("exposed", none)) report.exposed.push_back(id);
    for (const json& sequence : parsed.value("sequences", none))
      report.sequences.push_back({.sequence = sequence.at("sequence"),
                                  .steps = sequence.at("steps"),
                                  .name = sequence.at("name"),
                                  .last = sequence.at("last")});
    for (const json& layer : parsed.value("layers", none)) report.layers.push_back(layer);
    report.has_more_exposed = parsed.value("has_more_exposed", false);
  } catch (const json::exception&) {
    return std::nullopt;
  }
  return report;
}

}  // namespace weft::tools::run
