#include "command.hpp"
#include "base/text/parse.hpp"
#include "common/commands/command_line.hpp"
#include "common/commands/option_values.hpp"
#include "common/machine/provenance.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "experiment/report/report_files.hpp"
#include "study/matching/matching_command.hpp"
#include "study/ranks/rank_main.hpp"
#include "study/study_plan.hpp"
#include "study/study_results.hpp"

namespace weft::tools {

namespace {

using study::StudyKind;
using study::StudyOptions;

void add_common_options(CLI::App& app, StudyOptions& options) {
  add_integer(app, "--ranks", options.ranks, 1, 64, "ranks of each job, 1 to 64 (default 2)");
  add_integer(app, "--workers", options.workers, 1, 64,
              "worker threads of each rank, 1 to 64 (default 1; 4 for devices)");
  add_integer(app, "--rounds", options.rounds, 1, 100,
              "rounds of each variant, 1 to 100 (default 5; 1 with --quick)");
  app.add_option("--variants", options.variants,
                 "with commas between: weft, tcp, mpi, mpich or openmpi, and after colons adaptive, "
                 "immediate, queued, onepost, "
                 "putsendrecv, sendrecv, original, synchronizer, header-synchronizer, followup-devices, "
                 "own-retries, 2-devices, 4-devices, "
                 "8-devices, thread, pinned, both")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  app.add_option("--experiment", options.only, "only these of the study's pictures, by the names in its CSV")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  app.add_flag("--quick", options.is_quick, "fewer points and messages: under a minute");
  app.add_option("--report", options.report,
                 "write STUDY.html (plots), STUDY.csv and STUDY.json into a folder")
      ->type_name("DIR");
  app.add_option("--json", options.json,
                 "write every round to a file; -: to standard output, instead of the tables")
      ->type_name("FILE|-");
}

/// Microseconds.
double parse_grain(const std::string& text) {
  constexpr double kMicrosecond = 1e-6;
  const auto seconds = base::parse_seconds(text, kMicrosecond);
  if (!seconds || *seconds > 1)
    throw OptionError(
        fmt::format("--grain {} is not valid: it must be a duration such as 20us or 2ms, or a number of "
                    "microseconds, up to 1s",
                    text));
  return *seconds / kMicrosecond;
}

void add_chain_options(CLI::App& app, StudyOptions& options) {
  add_integers(app, "--chains", options.chains, 1, 1'000'000,
               "chains of each rank; one of --chains, --bytes, --grain may be a list");
  add_sizes(app, "--bytes", options.bytes, 8, 1U << 30, "of the buffer that a chain carries, 8 to 1G");
  const auto read_grains = [&options](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) options.grains_us.push_back(parse_grain(text));
  };
  app.add_option_function<std::vector<std::string>>(
         "--grain", read_grains, "time that a task computes: microseconds, or durations such as 2ms; 0 to 1s")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("US,...");
  add_integer(app, "--steps", options.steps, 1, 1'000'000'000,
              "tasks of a chain, 1 to 1000000000 (default: as many as take a moment)");
  const auto read_injection = [&options](const std::string& text) {
    options.injection = number_value("--injection", text, 0, 1e9);
  };
  app.add_option_function<std::string>("--injection", read_injection,
                                       "chains that a rank starts per second (default 0: at once)")
      ->type_name("N");
  add_integer(app, "--iterations", options.iterations, 1, 10'000,
              "of each point, within a round (default 3)");
  add_integer(app, "--warm-ups", options.warm_ups, 0, 10'000, "iterations before these (default 1)");
  app.add_flag("--sweep", options.sweeps, "a task sweeps the buffer, x = fma(x, 1, 1)");
  app.add_flag("--single-source", options.has_single_source, "all chains begin on rank 0");
}

int run_study(StudyOptions& options, const StudyKind& kind, bool has_rounds, bool has_workers) {
  options.study = kind.name;
  // As many as have devices of their own.
  if (options.study == "devices" && !has_workers) options.workers = 4;
  options.has_named_variants = !options.variants.empty();
  if (options.variants.empty()) options.variants = kind.variants;
  if (options.is_quick && !has_rounds) options.rounds = 1;
  ReportFiles files(options.study, options.report, options.json);
  const study::StudyResults results = study::measure(options);
  files.write({.text = [&] { return study::as_text(results); },
               .html = [&] { return study::as_html(results); },
               .csv = [&] { return study::as_csv(results); },
               .json = [&] { return study::as_json(results); }});
  return 0;
}

}  // namespace

int command_study(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--rank") return study::rank_main(argv[2]);
  CLI::App app{
      "Reproduces experiments of papers about task runtimes and matching, and tells which findings show "
      "here.",
      "weft study"};
  app.require_subcommand(1);
  app.fallthrough(false);
  StudyOptions options;
  options.command = command_text("weft study", argc, argv);
  std::vector<CLI::App*> commands;
  for (const StudyKind& kind : study::studies()) {
    CLI::App* const command = app.add_subcommand(kind.name, kind.help);
    add_common_options(*command, options);
    const std::string_view name = kind.name;
    if (name == "chains") add_chain_options(*command, options);
    if (name == "uts")
      command
          ->add_option("--tree", options.trees,
                       "T1, T3, T1L, T3L or small, with commas between (default T1,T3)")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("TREE,...");
    if (name == "taskbench") {
      command
          ->add_option(
              "--pattern", options.patterns,
              "trivial, stencil_1d, fft, tree, nearest, spread, random_nearest, all_to_all (default: all)")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("NAME,...");
      add_choice(*command, "--kernel", options.kernel, "compute|imbalance|empty",
                 "compute (default), imbalance, or empty: tasks per second");
      add_integer(*command, "--width", options.width, 1, 4096,
                  "points of a step, 1 to 4096 (default 4 for each worker)");
    }
    commands.push_back(command);
  }
  study::MatchingOptions matching_options;
  matching_options.command = options.command;
  CLI::App* const matching = app.add_subcommand(
      "matching", "matching engines with the messages of stencil decompositions: search depth, drain time");
  study::add_matching_options(*matching, matching_options);
  const ManualNotes notes{
      .short_summary = "reproduce experiments of papers about task runtimes and message matching",
      .see_also = {"weft(1)", "weft-perf(1)"}};
  if (const auto end = parse_command_line(app, argc, argv, notes)) return print_end("weft study", *end);
  if (matching->parsed()) {
    if (matching_options.is_quick && matching->count("--runs") == 0) matching_options.runs = 3;
    return study::run_matching(std::move(matching_options));
  }
  for (std::size_t index = 0; index < commands.size(); ++index)
    if (commands[index]->parsed())
      return run_study(options, study::studies()[index], commands[index]->count("--rounds") > 0,
                       commands[index]->count("--workers") > 0);
  return kUsageError;
}

}  // namespace weft::tools
