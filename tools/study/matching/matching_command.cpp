#include "study/matching/matching_command.hpp"

#include <weft/error.hpp>
#include <weft/topology.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "common/commands/option_values.hpp"
#include "common/machine/other_programs.hpp"
#include "common/progress_bar.hpp"
#include "experiment/report/report_files.hpp"
#include "study/matching/live.hpp"
#include "study/matching/replay.hpp"
#include "study/matching/resources.hpp"
#include "study/matching/soak.hpp"
#include "study/matching/trace_replay.hpp"

namespace weft::tools::study {

namespace {

constexpr std::array<std::string_view, 7> kModes{"replay", "live",      "unexpected", "mpi",
                                                 "trace",  "resources", "soak"};

/// What to measure, checked.
struct MatchingPlan {
  std::vector<const StudyEngine*> engines;
  std::vector<Decomposition> decompositions;
  std::vector<ArrivalOrder> orders;
  std::vector<MatchingTrace> traces;
  std::map<std::string, std::string> sweeps;  // the family of a decomposition
};

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

MatchingPlan plan_of(MatchingOptions& options) {
  if (options.modes.empty())
    options.modes = options.traces.empty() ? std::vector<std::string>{"replay", "live", "unexpected", "mpi"}
                                           : std::vector<std::string>{"trace"};
  for (const std::string& mode : options.modes)
    if (std::find(kModes.begin(), kModes.end(), mode) == kModes.end())
      throw OptionError(fmt::format(
          "there is no mode '{}'; there are replay, live, unexpected, mpi, trace, resources and soak", mode));
  if (contains(options.modes, "trace") && options.traces.empty())
    throw OptionError(
        "the mode trace needs --trace FILE, which a program writes with WEFT_MATCHING_TRACE=FILE");
  MatchingPlan plan;
  if (options.engines.empty() && options.algorithms.empty())
    for (const StudyEngine& engine : study_engines()) plan.engines.push_back(&engine);
  for (const std::string& name : options.engines) plan.engines.push_back(&engine_named(name));
  for (const std::string& file : options.algorithms) plan.engines.push_back(&engine_of_library(file));
  for (const std::string& family : options.sweeps)
    for (const Decomposition& each : sweep_of(family, static_cast<std::uint32_t>(options.most_threads)))
      if (plan.sweeps.emplace(name_of(each), family).second) plan.decompositions.push_back(each);
  if (options.decompositions.empty() && options.sweeps.empty())
    for (const PaperRow& row : paper_rows()) options.decompositions.emplace_back(row.decomposition);
  constexpr std::uint64_t kQuick = 800;  // messages
  for (const std::string& text : options.decompositions) {
    const Decomposition decomposition = parse_decomposition(text);
    plan.decompositions.push_back(decomposition);
  }
  if (options.is_quick)
    std::erase_if(plan.decompositions,
                  [](const Decomposition& each) { return count_halo(each).messages > kQuick; });
  if (options.orders.empty()) options.orders = {"in-order", "reversed", "random", "interleaved"};
  for (const std::string& order : options.orders) plan.orders.push_back(arrival_order_named(order));
  return plan;
}

/// What names and shapes have wrong is wrong in the command line. Throws OptionError.
MatchingPlan checked_plan(MatchingOptions& options) try {
  return plan_of(options);
} catch (const Error& error) {
  throw OptionError(error.what());
}

/// Measures mode by mode, and tells how far it has come.
class MatchingStudy {
 public:
  MatchingStudy(const MatchingOptions& options, MatchingPlan plan)
      : options_(options), plan_(std::move(plan)) {
    results_.command = options.command;
    results_.seed = options.seed;
    results_.runs = options.runs;
    const Topology host = read_topology();
    results_.machine = fmt::format("{}, {} cores", host.processor, host.cores.size());
    for (const std::string& mode : options.modes) steps_ += steps_of(mode);
  }

  MatchingResults run() {
    for (const std::string& mode : options_.modes) {
      if (mode == "replay") run_replays();
      if (mode == "live" || mode == "unexpected") run_live(mode == "unexpected");
      if (mode == "mpi") run_mpi();
      if (mode == "trace") run_traces();
      if (mode == "resources") run_resources();
      if (mode == "soak") run_soaks();
    }
    results_.others = others_.share();
    for (MatchingRow& row : results_.rows) {
      if (const auto found = plan_.sweeps.find(row.scenario); found != plan_.sweeps.end())
        row.sweep = found->second;
      const PaperRow* const paper = paper_row_of(row.scenario);
      if (paper == nullptr || row.mode != "live") continue;
      row.paper_depth = paper->depth;
      if (paper->drain_microseconds) row.paper_ms = *paper->drain_microseconds / 1000;
    }
    return std::move(results_);
  }

 private:
  [[nodiscard]] std::size_t steps_of(const std::string& mode) const {
    if (mode == "replay") return plan_.orders.size() * plan_.decompositions.size() * plan_.engines.size();
    if (mode == "trace") return plan_.traces.size() * plan_.engines.size();
    if (mode == "mpi") return 4;
    if (mode == "resources") return options_.threads.size() * (plan_.engines.size() + 2);
    return plan_.engines.size();
  }
  void step(const std::string& name) { progress_.show_steps(done_++, steps_, name); }
  [[nodiscard]] LivePlan live_plan(bool is_unexpected) const {
    return {plan_.decompositions, is_unexpected,     options_.senders,
            options_.runs,        options_.warm_ups, options_.seed};
  }
  void add(std::vector<MatchingRow> rows) {
    results_.rows.insert(results_.rows.end(), std::make_move_iterator(rows.begin()),
                         std::make_move_iterator(rows.end()));
  }

  void run_replays() {
    for (const ArrivalOrder order : plan_.orders)
      for (const Decomposition& decomposition : plan_.decompositions)
        for (const StudyEngine* engine : plan_.engines) {
          step(fmt::format("replay {}, {}, {}", name_of(order), name_of(decomposition), engine->name));
          results_.rows.push_back(
              replay(*engine, {decomposition, order, options_.senders, options_.runs, options_.seed}));
        }
  }
  void run_live(bool is_unexpected) {
    for (const StudyEngine* engine : plan_.engines) {
      step(fmt::format("{} {}", is_unexpected ? "unexpected" : "live", engine->name));
      add(live_over_weft(*engine, live_plan(is_unexpected)));
    }
  }
  void run_mpi() {
    for (const char* const launcher : {"mpich", "openmpi"})
      for (const bool is_unexpected : {false, true}) {
        step(launcher);
        try {
          add(live_over_mpi(launcher, live_plan(is_unexpected)));
        } catch (const Error& error) {
          results_.remarks.emplace_back(error.what());
          if (!is_unexpected) {
            step(launcher);
            break;  // it is not installed, or does not work
          }
        }
      }
  }
  void run_traces() {
    for (const MatchingTrace& trace : plan_.traces) {
      std::optional<std::uint64_t> matches;
      for (const StudyEngine* engine : plan_.engines) {
        step(fmt::format("{} {}", trace.name, engine->name));
        MatchingRow row = replay_trace(*engine, trace, options_.runs);
        if (!row.remark.empty())
          results_.remarks.push_back(fmt::format("{} on {}: {}", row.engine, row.scenario, row.remark));
        // All engines match the same receives with the same messages.
        if (row.matches && matches && *row.matches != *matches)
          throw Error(fmt::format("{}: {} has matched {} messages, and the engines before it {}", trace.name,
                                  row.engine, *row.matches, *matches));
        if (row.matches) matches = row.matches;
        results_.rows.push_back(std::move(row));
      }
    }
  }
  void run_resources() {
    results_.resources =
        measure_resources(plan_.engines, {.threads = options_.threads, .runs = options_.runs},
                          [this](const std::string& name) { step(name); });
  }
  void run_soaks() {
    for (const StudyEngine* engine : plan_.engines) {
      ++done_;
      results_.soaks.push_back(
          soak(*engine, {.messages = options_.soak, .seed = options_.seed},
               [&](double share) { progress_.show_share(fmt::format("soak {}", engine->name), share); }));
    }
  }

  const MatchingOptions& options_;
  const MatchingPlan plan_;
  const OtherPrograms others_;
  MatchingResults results_;
  ProgressBar progress_;
  std::size_t done_ = 0;
  std::size_t steps_ = 0;
};

}  // namespace

void add_matching_options(CLI::App& app, MatchingOptions& options) {
  const auto add_list = [&app](const char* name, auto& values, const char* help) {
    return app.add_option(name, values, help)->delimiter(',')->allow_extra_args(false);
  };
  add_list("--mode", options.modes,
           "replay, live, unexpected, mpi, trace, resources, soak, with commas between (default: the first "
           "four)")
      ->type_name("NAME,...");
  add_list("--engines", options.engines, "list, rank-lists, bins, fuzzy, hash, ordered (default: all)")
      ->type_name("NAME,...");
  add_list("--decompositions", options.decompositions,
           "naive:T, naive:T:M (messages of each thread), 5pt:XxY, 9pt:XxY, 7pt:XxYxZ, 27pt:XxYxZ (default: "
           "those of the paper's tables)")
      ->type_name("STENCIL:LENGTHS,...");
  add_list("--sweep", options.sweeps,
           "figures against 2, 4, 8 threads and so on, of naive, naive:M, 5pt, 9pt, 7pt, 27pt, 7pt-line, "
           "27pt-line")
      ->type_name("STENCIL,...");
  add_integer(app, "--up-to", options.most_threads, 2, 4096, "threads of sweeps, 2 to 4096 (default 256)");
  add_list("--algorithm", options.algorithms,
           "libraries that say WEFT_MATCHING_ALGORITHM (weft/matching/plugin.hpp), instead of or besides "
           "--engines")
      ->type_name("LIB.so,...");
  add_list("--orders", options.orders, "of replays: in-order, reversed, random, interleaved (default: all)")
      ->type_name("NAME,...");
  add_list("--trace", options.traces, "matchings of a program, recorded with WEFT_MATCHING_TRACE=FILE")
      ->type_name("FILE,...");
  constexpr std::int64_t kMost = INT64_MAX;
  add_integers(app, "--threads", options.threads, 1, 64, "of the mode resources, 1 to 64 (default 1,2,4,8)");
  add_integer(app, "--senders", options.senders, 1, 63,
              "ranks from which the messages come, 1 to 63 (default 1)");
  add_integer(app, "--runs", options.runs, 1, 1000,
              "of each measurement, 1 to 1000 (default 10; 3 with --quick)");
  add_integer(app, "--warm-ups", options.warm_ups, 0, 1000, "live runs before these, 0 to 1000 (default 1)");
  add_integer(app, "--messages", options.soak, 1, std::int64_t{1} << 40,
              "of the mode soak, for each engine (default 100000000)");
  add_integer(app, "--seed", options.seed, 0, kMost, "of orders and threads (default 1)");
  app.add_flag("--quick", options.is_quick, "decompositions of up to 800 messages: under a minute");
  app.add_option("--report", options.report,
                 "write matching.html (plots), matching.csv and matching.json into a folder")
      ->type_name("DIR");
  app.add_option("--json", options.json,
                 "write all figures to a file; -: to standard output, instead of tables")
      ->type_name("FILE|-");
}

int run_matching(MatchingOptions options) {
  MatchingPlan plan = checked_plan(options);
  for (const std::string& path : options.traces) plan.traces.push_back(read_trace(path));
  ReportFiles files("matching", options.report, options.json);
  const MatchingResults results = MatchingStudy(options, std::move(plan)).run();
  files.write({.text = [&] { return matching_text(results); },
               .html = [&] { return matching_html(results); },
               .csv = [&] { return matching_csv(results); },
               .json = [&] { return matching_json(results); }});
  const bool has_missed = std::any_of(results.rows.begin(), results.rows.end(), [](const MatchingRow& row) {
    return row.keeps_bound() == std::optional(false);
  });
  return has_missed ? 1 : 0;
}

}  // namespace weft::tools::study
