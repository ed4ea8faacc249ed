#include "perf/measure/task.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace weft::tools::perf {

using Json = nlohmann::json;

std::string_view Task::transport() const {
  const std::size_t slash = measurement.find('/');
  return std::string_view{measurement}.substr(slash == std::string::npos ? 0 : slash + 1);
}

std::string text_of(const Task& task) {
  return Json{{"measurement", task.measurement},
              {"verify", task.verify},
              {"size", task.size},
              {"window", task.window},
              {"buffers", task.buffers},
              {"threads", task.threads},
              {"shared", task.shared},
              {"ranks", task.ranks},
              {"yields", task.yields},
              {"progress_thread", task.progress_thread},
              {"compute_ns", task.compute_ns},
              {"fresh", task.fresh},
              {"seed", task.seed},
              {"seconds", task.seconds},
              {"warm_up", task.warm_up},
              {"apart", task.apart},
              {"reversed", task.reversed},
              {"processors", task.processors}}
      .dump();
}

Task parse_task(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    Task task;
    json.at("measurement").get_to(task.measurement);
    json.at("verify").get_to(task.verify);
    json.at("size").get_to(task.size);
    json.at("window").get_to(task.window);
    json.at("buffers").get_to(task.buffers);
    json.at("threads").get_to(task.threads);
    json.at("shared").get_to(task.shared);
    json.at("ranks").get_to(task.ranks);
    json.at("yields").get_to(task.yields);
    json.at("progress_thread").get_to(task.progress_thread);
    json.at("compute_ns").get_to(task.compute_ns);
    json.at("fresh").get_to(task.fresh);
    json.at("seed").get_to(task.seed);
    json.at("seconds").get_to(task.seconds);
    json.at("warm_up").get_to(task.warm_up);
    json.at("apart").get_to(task.apart);
    json.at("reversed").get_to(task.reversed);
    json.at("processors").get_to(task.processors);
    return task;
  } catch (const Json::exception&) {
    throw Error(
        fmt::format("--worker \"{}\" is not a task; it is how `weft perf` starts its own rounds", text));
  }
}

void print(const Outcome& outcome) {
  const Json json = {{"role", outcome.role},
                     {"value", outcome.value},
                     {"core_share", outcome.core_share},
                     {"parts", outcome.parts},
                     {"percentiles", outcome.percentiles_ns},
                     {"library", outcome.peer_library},
                     {"messages", outcome.messages},
                     {"lost", outcome.lost},
                     {"duplicated", outcome.duplicated},
                     {"torn", outcome.torn}};
  fmt::print("{}\n", json.dump());
  std::fflush(stdout);
}

std::vector<Outcome> parse_outcomes(std::string_view output) {
  std::vector<Outcome> outcomes;
  while (!output.empty()) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(output.size(), line.size() + 1));
    if (line.empty()) continue;
    try {
      const Json json = Json::parse(line);
      Outcome outcome;
      json.at("role").get_to(outcome.role);
      json.at("value").get_to(outcome.value);
      json.at("core_share").get_to(outcome.core_share);
      json.at("parts").get_to(outcome.parts);
      json.at("percentiles").get_to(outcome.percentiles_ns);
      json.at("library").get_to(outcome.peer_library);
      json.at("messages").get_to(outcome.messages);
      json.at("lost").get_to(outcome.lost);
      json.at("duplicated").get_to(outcome.duplicated);
      json.at("torn").get_to(outcome.torn);
      outcomes.push_back(std::move(outcome));
    } catch (const Json::exception&) {
      throw Error(fmt::format("a round printed \"{}\" where its result was expected", line));
    }
  }
  return outcomes;
}

}  // namespace weft::tools::perf
