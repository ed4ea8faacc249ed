#include <weft/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "common/progress_bar.hpp"
#include "perf/measure/child_process.hpp"
#include "perf/measure/own_path.hpp"
#include "study/study_results.hpp"

namespace weft::tools::study {

namespace {

/// What a rank has said, before its launcher has reported that it ended.
std::string reason_of(const perf::Ended& ended) {
  constexpr std::string_view kOwn = "weft study: ";
  const std::size_t found = ended.errors.find(kOwn);
  if (found == std::string::npos) return ended.reason();
  const std::size_t begin = found + kOwn.size();
  return ended.errors.substr(begin, ended.errors.find('\n', begin) - begin);
}

/// Runs all cases as one job of the variant; the answers in their order.
std::vector<Json> run_job(const StudyOptions& options, const Variant& variant, const Json& cases) {
  const Json job = {{"options", fmt::format("{},workers={}", variant.options, options.workers)},
                    {"ranks", options.ranks},
                    {"cases", cases}};
  perf::Command command;
  command.arguments = variant.launcher;
  command.arguments.insert(command.arguments.end(), {"-n", std::to_string(options.ranks)});
  if (variant.launcher.size() > 1 && variant.launcher[1] == "run") command.arguments.emplace_back("--");
  command.arguments.insert(command.arguments.end(), {perf::own_path(), "study", "--rank", job.dump()});
  command.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
  constexpr double kSecondsOfCase = 60;
  const perf::Ended ended = perf::run_to_end(command, 30 + kSecondsOfCase * static_cast<double>(cases.size()));
  if (!ended.well) throw Error(fmt::format("{}: {}", variant.name, reason_of(ended)));
  std::vector<Json> answers;
  std::istringstream lines(ended.output);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line.front() == '{') answers.push_back(Json::parse(line));
  if (answers.size() != cases.size())
    throw Error(fmt::format("{}: {} of {} cases have answered", variant.name, answers.size(), cases.size()));
  return answers;
}

}  // namespace

StudyResults measure(const StudyOptions& options) {
  StudyResults results;
  results.options = options;
  results.experiments = plan_of(options);
  if (options.has_named_variants)
    for (const std::string& name : options.variants) results.variants.push_back(variant_of(name));
  else
    results.variants = variants_that_run(options.variants, results.remarks);
  // Experiments that show several figures of the same cases measure them once.
  Json cases = Json::array();
  for (const Experiment& experiment : results.experiments) {
    results.answers.emplace_back(experiment.cases.size(), std::vector<std::vector<Json>>(results.variants.size()));
    for (const StudyCase& each : experiment.cases)
      if (std::find(cases.begin(), cases.end(), each.parameters) == cases.end()) cases.push_back(each.parameters);
  }
  ProgressBar progress;
  std::size_t done = 0;
  const std::size_t jobs = static_cast<std::size_t>(options.rounds) * results.variants.size();
  for (int round = 0; round < options.rounds; ++round)
    for (std::size_t variant = 0; variant < results.variants.size(); ++variant) {
      progress.show_steps(done++, jobs, results.variants[variant].name);
      const std::vector<Json> answers = run_job(options, results.variants[variant], cases);
      for (std::size_t experiment = 0; experiment < results.experiments.size(); ++experiment)
        for (std::size_t point = 0; point < results.experiments[experiment].cases.size(); ++point) {
          const auto found =
              std::find(cases.begin(), cases.end(), results.experiments[experiment].cases[point].parameters);
          results.answers[experiment][point][variant].push_back(
              answers[static_cast<std::size_t>(found - cases.begin())]);
        }
    }
  return results;
}

Spread StudyResults::figure(std::size_t experiment, std::size_t point, std::size_t variant, const std::string& name,
                            double scale) const {
  std::vector<double> values;
  for (const Json& answer : answers[experiment][point][variant])
    if (answer.contains(name)) values.push_back(scale * answer.at(name).get<double>());
  return values.empty() ? Spread{} : spread_of(std::move(values));
}
Spread StudyResults::figure(std::size_t experiment, std::size_t point, std::size_t variant) const {
  return figure(experiment, point, variant, experiments[experiment].figure, experiments[experiment].scale);
}

}  // namespace weft::tools::study
