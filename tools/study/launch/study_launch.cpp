#include "study/launch/study_launch.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>

#include <sstream>
#include <string_view>

#include "experiment/launch/weft_path.hpp"

namespace weft::tools::study {

using Json = nlohmann::json;

std::string reason_of(const Ended& ended) {
  constexpr std::string_view kOwn = "weft study: ";
  const std::size_t found = ended.errors.find(kOwn);
  if (found == std::string::npos) return ended.reason();
  const std::size_t begin = found + kOwn.size();
  return ended.errors.substr(begin, ended.errors.find('\n', begin) - begin);
}

std::vector<Json> run_ranks(const std::string& name, const std::vector<std::string>& launcher,
                            const Json& job, double seconds) {
  Command command;
  command.arguments = launcher;
  command.arguments.insert(command.arguments.end(), {"-n", job.at("ranks").dump()});
  if (launcher.size() > 1 && launcher[1] == "run") command.arguments.emplace_back("--");
  command.arguments.insert(command.arguments.end(), {weft_path(), "study", "--rank", job.dump()});
  command.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
  const Ended ended = run_to_end(command, seconds);
  if (!ended.well) throw Error(fmt::format("{}: {}", name, reason_of(ended)));
  std::vector<Json> answers;
  std::istringstream lines(ended.output);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line.front() == '{') answers.push_back(Json::parse(line));
  return answers;
}

}  // namespace weft::tools::study
