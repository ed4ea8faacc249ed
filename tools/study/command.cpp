#include "command.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>

#include "study/matching/matching_command.hpp"
#include "study/ranks/rank_main.hpp"
#include "study/report_files.hpp"
#include "study/study_results.hpp"

namespace weft::tools {

namespace {

using study::StudyOptions;

struct StudyKind {
  const char* name;
  const char* help;
  std::vector<std::string> variants;
};

const std::vector<StudyKind>& studies() {
  static const std::vector<StudyKind> all{
      {"parcels",
       "message rate against injection rate, latency against size and window, of the parcelports",
       {"weft", "weft:immediate", "weft:queued", "weft:putsendrecv:immediate", "mpi:immediate", "mpi",
        "mpi:original", "tcp"}},
      {"chains",
       "multi-chain ping-pong: chains of tasks that alternate between two ranks and carry a buffer",
       {"weft", "weft:putsendrecv", "mpi", "tcp"}},
      {"uts", "unbalanced tree search: T1 and T3, counted exactly", {"weft", "mpi", "tcp"}},
      {"taskbench",
       "Task Bench: the least task granularity with an efficiency of 50 %",
       {"weft", "mpi", "tcp", "plain-mpi", "starpu"}}};
  return all;
}

void add_common_options(CLI::App& app, StudyOptions& options) {
  app.add_option("--ranks", options.ranks, "ranks of each job, 1 to 64 (default 2)")
      ->check(CLI::Range(1, 64));
  app.add_option("--workers", options.workers, "worker threads of each rank, 1 to 64 (default 1)")
      ->check(CLI::Range(1, 64));
  app.add_option("--rounds", options.rounds, "rounds of each variant, 1 to 100 (default 5; 1 with --quick)")
      ->check(CLI::Range(1, 100));
  app.add_option("--variants", options.variants,
                 "with commas between: weft, tcp, mpi, mpich or openmpi, and after colons adaptive, "
                 "immediate, queued, onepost, "
                 "putsendrecv, sendrecv, original, synchronizer, header-synchronizer, thread, pinned, both")
      ->delimiter(',')
      ->type_name("NAME,...");
  app.add_flag("--quick", options.is_quick, "fewer points and messages: under a minute");
  app.add_option("--report", options.report,
                 "write STUDY.html (plots), STUDY.csv and STUDY.json into a folder")
      ->type_name("DIR");
  app.add_option("--json", options.json,
                 "write every round to a file; -: to standard output, instead of the tables")
      ->type_name("FILE|-");
}

void add_chain_options(CLI::App& app, StudyOptions& options) {
  app.add_option("--chains", options.chains,
                 "chains, in all; one of --chains, --bytes, --grain may be a list")
      ->delimiter(',')
      ->check(CLI::Range(1U, 1'000'000U))
      ->type_name("N,...");
  app.add_option("--bytes", options.bytes, "of the buffer that a chain carries, 8 to 1G")
      ->delimiter(',')
      ->check(CLI::Range(8U, 1U << 30))
      ->type_name("N,...");
  app.add_option("--grain", options.grains_us, "microseconds that a task computes, 0 to 1000000")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("US,...");
  app.add_option("--steps", options.steps,
                 "tasks of a chain, 1 to 1000000000 (default: as many as take a moment)")
      ->check(CLI::Range(1U, 1'000'000'000U));
  app.add_option("--injection", options.injection,
                 "chains that a rank starts per second (default 0: at once)")
      ->check(CLI::Range(0.0, 1e9));
  app.add_option("--iterations", options.iterations, "of each point, within a round (default 3)")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--warm-ups", options.warm_ups, "iterations before these (default 1)")
      ->check(CLI::Range(0, 10'000));
  app.add_flag("--sweep", options.sweeps, "a task sweeps the buffer, x = fma(x, 1, 1)");
  app.add_flag("--single-source", options.has_single_source, "all chains begin on rank 0");
}

int run_study(StudyOptions& options, const StudyKind& kind, bool has_rounds) {
  options.study = kind.name;
  options.has_named_variants = !options.variants.empty();
  if (options.variants.empty()) options.variants = kind.variants;
  if (options.is_quick && !has_rounds) options.rounds = 1;
  const study::ReportFiles files(options.study, options.report, options.json);
  const study::StudyResults results = study::measure(options);
  files.write({.text = study::as_text(results),
               .html = study::as_html(results),
               .csv = study::as_csv(results),
               .json = study::as_json(results)});
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
  std::vector<CLI::App*> commands;
  for (const StudyKind& kind : studies()) {
    CLI::App* const command = app.add_subcommand(kind.name, kind.help);
    add_common_options(*command, options);
    const std::string_view name = kind.name;
    if (name == "chains") add_chain_options(*command, options);
    if (name == "uts")
      command->add_option("--tree", options.trees, "T1, T3 or small, with commas between (default T1,T3)")
          ->delimiter(',');
    if (name == "taskbench") {
      command
          ->add_option(
              "--pattern", options.patterns,
              "trivial, stencil_1d, fft, tree, nearest, spread, random_nearest, all_to_all (default: all)")
          ->delimiter(',');
      command
          ->add_option("--kernel", options.kernel, "compute (default), imbalance, or empty: tasks per second")
          ->check(CLI::IsMember({"compute", "imbalance", "empty"}));
      command->add_option("--width", options.width, "points of a step, 1 to 4096 (default 4 for each worker)")
          ->check(CLI::Range(1, 4096));
    }
    commands.push_back(command);
  }
  study::MatchingOptions matching_options;
  CLI::App* const matching = app.add_subcommand(
      "matching", "matching engines with the messages of stencil decompositions: search depth, drain time");
  study::add_matching_options(*matching, matching_options);
  commands.push_back(matching);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    for (CLI::App* const command : commands)
      if (command->parsed()) {
        fmt::print("{}", command->help());
        return 0;
      }
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "weft study: {} (`weft study --help` shows the options)\n", error.what());
    return kUsageError;
  }
  if (matching->parsed()) {
    if (matching_options.is_quick && matching->count("--runs") == 0) matching_options.runs = 3;
    return study::run_matching(std::move(matching_options));
  }
  for (std::size_t index = 0; index < studies().size(); ++index)
    if (commands[index]->parsed())
      return run_study(options, studies()[index], commands[index]->count("--rounds") > 0);
  return kUsageError;
}

}  // namespace weft::tools
