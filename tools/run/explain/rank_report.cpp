#include "run/explain/rank_report.hpp"

#include <nlohmann/json.hpp>

namespace weft::tools::run {

using nlohmann::json;

std::optional<RankReport> parse_report(const std::string& text) {
  RankReport report;
  try {
    const json parsed = json::parse(text);
    for (const json& wait : parsed.at("waits"))
      report.waits.push_back({.what = wait.at("what"),
                              .file = wait.at("file"),
                              .line = wait.at("line"),
                              .peer = wait.at("peer"),
                              .exposed = wait.at("exposed"),
                              .seconds = wait.at("seconds"),
                              .completion = wait.at("completion"),
                              .is_for_all = wait.at("is_for_all")});
    for (const json& operation : parsed.at("operations"))
      report.operations.push_back({.kind = operation.at("kind"),
                                   .state = operation.at("state"),
                                   .peer = operation.at("peer"),
                                   .has_tag = operation.at("has_tag"),
                                   .tag = operation.at("tag"),
                                   .size = operation.at("size"),
                                   .completion = operation.at("completion"),
                                   .seconds = operation.value("seconds", 0.0)});
    const json none = json::array();
    for (const json& queue : parsed.value("queues", none))
      report.queues.push_back(
          {.exposed = queue.at("exposed"), .messages = queue.at("messages"), .seconds = queue.at("seconds")});
    for (const json& refusals : parsed.value("refusals", none))
      report.refusals.push_back({.reason = refusals.at("reason"), .count = refusals.at("count")});
  } catch (const json::exception&) {
    return std::nullopt;
  }
  return report;
}

}  // namespace weft::tools::run
