#include <weft/error.hpp>

#include <fmt/core.h>

#include <algorithm>

#include "common/commands/option_values.hpp"
#include "common/machine/other_programs.hpp"
#include "common/progress_bar.hpp"
#include "experiment/alternation.hpp"
#include "experiment/launch/child_process.hpp"
#include "experiment/launch/scratch_folder.hpp"
#include "experiment/launch/weft_path.hpp"
#include "study/launch/study_launch.hpp"
#include "study/study_results.hpp"

namespace weft::tools::study {

namespace {

/// One job for each case that StarPU's program knows.
std::vector<Json> run_starpu(const StudyOptions& options, const Variant& variant, const Json& cases) {
  // Its progress thread takes turns with its workers where there are no cores for both: milliseconds.
  constexpr int kSteps = 50;
  constexpr int kLongestNs = 16'777'216;
  std::vector<Json> answers;
  for (const Json& parameters : cases) {
    answers.push_back(Json::object());
    if (parameters.value("pattern", "") != "stencil_1d" || parameters.value("kernel", "") != "compute") {
      answers.back()["why"] = "is written for the kernel compute of stencil_1d alone";
      continue;
    }
    const ScratchFolder scratch;  // StarPU writes what it knows about the machine
    Command command;
    command.arguments = variant.launcher;
    for (const std::string& argument :
         {std::string("-n"), std::to_string(options.ranks), path_of(Program::starpu),
          parameters.at("width").dump(), std::to_string(std::min(kSteps, parameters.at("steps").get<int>())),
          parameters.at("cores").dump(), std::to_string(kLongestNs)})
      command.arguments.push_back(argument);
    command.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                           {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                           {"STARPU_NCPU", std::to_string(options.workers)},
                           {"STARPU_WORKERS_NOBIND", "1"},
                           {"STARPU_SILENT", "1"},
                           {"STARPU_HOME", scratch.path()}};
    const Ended ended = run_to_end(command, 120);
    const std::size_t begin = ended.output.find('{');
    if (!ended.well || begin == std::string::npos) throw Error(fmt::format("starpu: {}", reason_of(ended)));
    answers.back() = Json::parse(ended.output.substr(begin, ended.output.find('\n', begin) - begin));
  }
  return answers;
}

/// One process for each tree, with as many threads as the ranks have workers.
std::vector<Json> run_openmp(const StudyOptions& options, const Json& cases) {
  std::vector<Json> answers;
  for (const Json& parameters : cases) {
    Command command;
    command.arguments = {path_of(Program::openmp), parameters.at("tree").get<std::string>(),
                         std::to_string(options.ranks * options.workers)};
    command.environment = {{"OMP_PROC_BIND", "true"}};
    const Ended ended = run_to_end(command, 600);
    if (!ended.well) throw Error(fmt::format("openmp: {}", reason_of(ended)));
    answers.push_back(Json::parse(ended.output));
  }
  return answers;
}

/// Runs all cases as one job of the variant; the answers in their order.
std::vector<Json> run_job(const StudyOptions& options, const Variant& variant, const Json& cases) {
  if (variant.program == Program::starpu) return run_starpu(options, variant, cases);
  if (variant.program == Program::openmp) return run_openmp(options, cases);
  const Json job = {{"options", fmt::format("{},workers={}", variant.options, options.workers)},
                    {"ranks", variant.program == Program::ring ? 1 : options.ranks},
                    {"cases", cases}};
  constexpr double kSecondsOfCase = 120;
  std::vector<Json> answers =
      run_ranks(variant.name, variant.launcher, job, 30 + kSecondsOfCase * static_cast<double>(cases.size()));
  if (answers.size() != cases.size())
    throw Error(fmt::format("{}: {} of {} cases have answered", variant.name, answers.size(), cases.size()));
  return answers;
}

/// What names and lists have wrong is wrong in the command line. Throws OptionError.
std::vector<Experiment> checked_plan(const StudyOptions& options) try {
  return plan_of(options);
} catch (const Error& error) {
  throw OptionError(error.what());
}

}  // namespace

StudyResults measure(const StudyOptions& options) {
  StudyResults results;
  results.options = options;
  results.experiments = checked_plan(options);
  if (options.has_named_variants)
    for (const std::string& name : options.variants) {
      results.variants.push_back(variant_of(name));
      const std::string_view own = study_of(results.variants.back().program);
      if (!own.empty() && options.study != own)
        throw OptionError(fmt::format("the variant {} is for the study {}", name, own));
    }
  else
    results.variants = variants_that_run(options.variants, results.remarks);
  // Experiments that show several figures of the same cases measure them once.
  Json cases = Json::array();
  for (const Experiment& experiment : results.experiments) {
    results.answers.emplace_back(experiment.cases.size(),
                                 std::vector<std::vector<Json>>(results.variants.size()));
    for (const StudyCase& each : experiment.cases)
      if (std::find(cases.begin(), cases.end(), each.parameters) == cases.end())
        cases.push_back(each.parameters);
  }
  ProgressBar progress;
  std::size_t done = 0;
  const std::size_t jobs = static_cast<std::size_t>(options.rounds) * results.variants.size();
  for (int round = 0; round < options.rounds; ++round) {
    std::vector<double>& others = results.others.emplace_back(results.variants.size());
    alternate(static_cast<std::size_t>(round), results.variants.size(), [&](std::size_t variant) {
      progress.show_steps(done++, jobs, results.variants[variant].name);
      const OtherPrograms watch;
      const std::vector<Json> answers = run_job(options, results.variants[variant], cases);
      others[variant] = watch.share();
      for (std::size_t experiment = 0; experiment < results.experiments.size(); ++experiment)
        for (std::size_t point = 0; point < results.experiments[experiment].cases.size(); ++point) {
          const auto found =
              std::find(cases.begin(), cases.end(), results.experiments[experiment].cases[point].parameters);
          results.answers[experiment][point][variant].push_back(
              answers[static_cast<std::size_t>(found - cases.begin())]);
        }
      return true;
    });
  }
  return results;
}

std::size_t StudyResults::disturbed_jobs() const {
  std::size_t count = 0;
  for (const std::vector<double>& round : others)
    count += static_cast<std::size_t>(
        std::count_if(round.begin(), round.end(), [](double share) { return share > kDisturbingShare; }));
  return count;
}

bool StudyResults::is_disturbed(std::size_t variant) const {
  return std::all_of(others.begin(), others.end(),
                     [variant](const auto& round) { return round[variant] > kDisturbingShare; });
}

Spread StudyResults::figure(std::size_t experiment, std::size_t point, std::size_t variant,
                            const std::string& name, double scale) const {
  std::vector<double> values;
  const bool takes_all = is_disturbed(variant);
  const std::vector<Json>& rounds = answers[experiment][point][variant];
  for (std::size_t round = 0; round < rounds.size(); ++round)
    if (rounds[round].contains(name) && (takes_all || others[round][variant] <= kDisturbingShare))
      values.push_back(scale * rounds[round].at(name).get<double>());
  return values.empty() ? Spread{} : spread_of(std::move(values));
}
double StudyResults::x_of(std::size_t experiment, std::size_t point, std::size_t variant) const {
  const std::string& name = experiments[experiment].x_figure;
  const Spread reached = name.empty() ? Spread{} : figure(experiment, point, variant, name, 1);
  return reached.count > 0 ? reached.median : experiments[experiment].cases[point].x;
}

Spread StudyResults::figure(std::size_t experiment, std::size_t point, std::size_t variant) const {
  return figure(experiment, point, variant, experiments[experiment].figure, experiments[experiment].scale);
}

}  // namespace weft::tools::study
