#include "study/study_plan.hpp"

#include <weft/error.hpp>
#include <weft/topology.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/commands/option_values.hpp"
#include "study/ranks/graph_pattern.hpp"
#include "study/ranks/tree_node.hpp"

namespace weft::tools::study {

namespace {

std::string bytes_label(double bytes) {
  if (bytes >= 1024 && static_cast<std::uint64_t>(bytes) % 1024 == 0)
    return fmt::format("{:.0f}K", bytes / 1024);
  return fmt::format("{:.0f}", bytes);
}
std::string rate_label(double rate) {
  return rate >= 1e6 ? fmt::format("{:g}M", rate / 1e6) : fmt::format("{:g}K", rate / 1e3);
}

/// "Message rate against injection rate" for one size.
Experiment rate_experiment(const StudyOptions& options, std::uint32_t bytes, std::uint32_t batch,
                           double messages, const std::vector<double>& rates, bool is_array = false) {
  Experiment experiment{fmt::format("rate-{}{}", bytes_label(bytes), is_array ? "-array" : ""),
                        fmt::format("Message rate against injection rate, {} bytes{} in batches of {}", bytes,
                                    is_array ? " as parcel::Array" : "", batch),
                        "messages injected per second",
                        "messages_per_s",
                        "million/s",
                        1e-6,
                        true,
                        {},
                        "injected_per_s"};
  const auto add = [&](double x, std::string label, double rate) {
    // A tenth of a second suffices for a look.
    double count = options.is_quick ? std::min(messages, rate > 0 ? rate / 10 : messages / 5) : messages;
    count = std::max(1.0, std::floor(count / batch)) * batch;
    experiment.cases.push_back({x,
                                std::move(label),
                                {{"workload", "stream"},
                                 {"bytes", bytes},
                                 {"batch", batch},
                                 {"array", is_array},
                                 {"messages", static_cast<std::uint64_t>(count)},
                                 {"injection", rate}}});
  };
  for (const double rate : rates) add(rate, rate_label(rate), rate);
  add(4 * rates.back(), "no limit", 0);
  return experiment;
}

Json chain_case(const StudyOptions& options, std::uint32_t chains, std::uint32_t bytes, double grain_us,
                std::uint32_t steps) {
  return {{"workload", "chains"},
          {"chains", chains},
          {"steps", options.steps != 0 ? options.steps : std::max(2U, steps / 2 * 2)},
          {"bytes", bytes},
          {"grain_ns", 1000 * grain_us},
          {"sweep", options.sweeps},
          {"single_source", options.has_single_source},
          {"injection", options.injection},
          {"warm_ups", options.warm_ups},
          {"iterations", options.iterations != 0 ? options.iterations
                         : options.is_quick      ? 1
                                                 : 3}};
}

/// Steps for about so many tasks in all.
std::uint32_t steps_for(double tasks, double chains) {
  return static_cast<std::uint32_t>(std::clamp(tasks / chains, 2.0, 20'000.0));
}

Experiment latency_against_size(const StudyOptions& options) {
  Experiment experiment{
      "latency-size", "One-way latency against size, window 1", "bytes", "latency_us", "us", 1, false, {}};
  StudyOptions single = options;
  single.has_single_source = true;
  for (std::uint32_t bytes = 8; bytes <= 256 * 1024; bytes *= options.is_quick ? 8 : 2)
    experiment.cases.push_back(
        {static_cast<double>(bytes), bytes_label(bytes),
         chain_case(single, 1, bytes, 0,
                    steps_for(options.is_quick ? 2e8 / (1e4 + bytes) : 2e9 / (1e5 + bytes), 1))});
  return experiment;
}

Experiment latency_against_window(const StudyOptions& options, std::uint32_t bytes) {
  Experiment experiment{fmt::format("latency-window-{}", bytes_label(bytes)),
                        fmt::format("One-way latency against window, {} bytes", bytes),
                        "round trips under way",
                        "latency_us",
                        "us",
                        1,
                        false,
                        {}};
  StudyOptions single = options;
  single.has_single_source = true;
  for (std::uint32_t window = 1; window <= 64; window *= options.is_quick ? 4 : 2)
    experiment.cases.push_back(
        {static_cast<double>(window), std::to_string(window),
         chain_case(single, window, bytes, 0,
                    steps_for((options.is_quick ? 1e4 : 1e5) / (bytes > 1024 ? 5 : 1), window))});
  return experiment;
}

std::vector<Experiment> plan_parcels(const StudyOptions& options) {
  if (options.ranks != 2)
    throw OptionError("the study parcels is of 2 ranks, --ranks says " + std::to_string(options.ranks));
  const bool quick = options.is_quick;
  const auto long_rates = quick ? std::vector<double>{1e4, 8e4, 6.4e5}
                                : std::vector<double>{1e4, 2e4, 4e4, 8e4, 1.6e5, 3.2e5, 6.4e5};
  const auto short_rates =
      quick ? std::vector<double>{1e5, 4e5, 1.6e6} : std::vector<double>{1e5, 2e5, 4e5, 8e5, 1.6e6};
  return {rate_experiment(options, 8, 100, 500'000, short_rates),
          rate_experiment(options, 512, 100, 500'000, short_rates),
          rate_experiment(options, 16384, 10, 100'000, long_rates),
          rate_experiment(options, 16384, 10, 100'000, long_rates, true),
          latency_against_size(options),
          latency_against_window(options, 8),
          latency_against_window(options, 16384)};
}

/// What threads gain that do not meet in one device: many short messages, long ones, and many round trips.
std::vector<Experiment> plan_devices(const StudyOptions& options) {
  if (options.ranks != 2)
    throw OptionError("the study devices is of 2 ranks, --ranks says " + std::to_string(options.ranks));
  return {rate_experiment(options, 8, 100, 500'000, {4e5}),
          rate_experiment(options, 16384, 10, 100'000, {8e4}), latency_against_window(options, 8),
          latency_against_window(options, 16384)};
}

/// The latency of the same cases.
Experiment as_latency(Experiment experiment, std::string name, std::string title) {
  experiment.name = std::move(name);
  experiment.title = std::move(title);
  experiment.figure = "latency_us";
  experiment.unit = "us";
  experiment.scale = 1;
  experiment.more_is_better = false;
  return experiment;
}

/// What the command line asks for, instead of the posters' sweeps.
Experiment given_chains(const StudyOptions& options) {
  Experiment experiment{
      "chains", "Multi-chain ping-pong", "chains of each rank", "steps_per_s", "million/s", 1e-6, true, {}};
  const auto chains = options.chains.empty() ? std::vector<std::uint32_t>{64} : options.chains;
  const auto bytes = options.bytes.empty() ? std::vector<std::uint32_t>{16} : options.bytes;
  const auto grains = options.grains_us.empty() ? std::vector<double>{0} : options.grains_us;
  const auto ranks = static_cast<std::uint32_t>(options.ranks);
  if (bytes.size() > 1) experiment.x_name = "bytes";
  if (grains.size() > 1) experiment.x_name = "microseconds of each task";
  if ((chains.size() > 1) + (bytes.size() > 1) + (grains.size() > 1) > 1)
    throw OptionError("only one of --chains, --bytes and --grain can be a list");
  for (const std::uint32_t count : chains)
    for (const std::uint32_t size : bytes)
      for (const double grain : grains) {
        const double x = grains.size() > 1 ? grain : bytes.size() > 1 ? size : count;
        experiment.cases.push_back(
            {x, fmt::format("{:g}", x),
             chain_case(options, count * ranks, size, grain, steps_for(1e5 / (1 + grain), count * ranks))});
      }
  return experiment;
}

std::vector<Experiment> plan_chains(const StudyOptions& options) {
  if (options.only.empty() &&
      (!options.chains.empty() || !options.bytes.empty() || !options.grains_us.empty()))
    return {given_chains(options)};
  const double tasks = options.is_quick ? 2e4 : 2e5;
  const auto ranks = static_cast<std::uint32_t>(options.ranks);
  // As many as the posters have where something else is varied.
  constexpr std::uint32_t kChains = 512;
  Experiment size{"bandwidth-size",
                  "Bandwidth against buffer size, 512 chains of each rank",
                  "bytes",
                  "bytes_per_s",
                  "GB/s",
                  1e-9,
                  true,
                  {}};
  for (std::uint32_t bytes = 16; bytes <= 256 * 1024; bytes *= options.is_quick ? 16 : 4)
    size.cases.push_back({static_cast<double>(bytes), bytes_label(bytes),
                          chain_case(options, kChains * ranks, bytes, 0,
                                     steps_for(tasks / (1 + bytes / 16384.0), 1.0 * kChains * ranks))});
  Experiment size_latency =
      as_latency(size, "latency-size", "Latency of a step against buffer size, 512 chains of each rank");
  Experiment count{"rate-chains",
                   "Message rate against chains, 16 KiB",
                   "chains of each rank",
                   "steps_per_s",
                   "million/s",
                   1e-6,
                   true,
                   {}};
  for (std::uint32_t chains = 1; chains <= 2048;
       chains = options.is_quick && chains == 512 ? 2048 : chains * (options.is_quick ? 8 : 2))
    count.cases.push_back(
        {static_cast<double>(chains), std::to_string(chains),
         chain_case(options, chains * ranks, 16384, 0, steps_for(tasks / 4, 1.0 * chains * ranks))});
  Experiment latency = as_latency(count, "latency-chains", "Latency of a step against chains, 16 KiB");
  Experiment grain{"efficiency-grain",
                   "Computation efficiency against task length, 512 chains of 16 KiB of each rank",
                   "microseconds of each task",
                   "efficiency",
                   "",
                   1,
                   true,
                   {}};
  for (double us = 1; us <= 10'000; us *= options.is_quick ? 10 : std::sqrt(10.0))
    grain.cases.push_back(
        {us, fmt::format("{:.3g}", us),
         chain_case(options, kChains * ranks, 16384, us,
                    steps_for((options.is_quick ? 5e4 : 5e5) / (5 + us), 1.0 * kChains * ranks))});
  return {size, size_latency, count, latency, grain};
}

std::vector<Experiment> plan_trees(const StudyOptions& options) {
  Experiment experiment{
      "tree", "Unbalanced tree search", "tree", "nodes_per_s", "million nodes/s", 1e-6, true, {}};
  double x = 1;
  for (const std::string& tree : options.trees.empty() ? std::vector<std::string>{"T1", "T3"} : options.trees)
    experiment.cases.push_back(
        {x++, tree, {{"workload", "tree"}, {"tree", std::string(shape_of(tree).name)}}});
  return {experiment};
}

std::vector<Experiment> plan_graphs(const StudyOptions& options) {
  Experiment experiment{"metg",    "Task Bench: least task granularity with an efficiency of 50 %",
                        "pattern", "metg_us",
                        "us",      1,
                        false,     {}};
  if (options.kernel == "empty") {
    experiment.name = "tasks";
    experiment.title = "Task Bench: tasks without work";
    experiment.figure = "tasks_per_s";
    experiment.unit = "million/s";
    experiment.scale = 1e-6;
    experiment.more_is_better = true;
  }
  const int width = options.width != 0 ? options.width : 4 * options.ranks * options.workers;
  const auto cores = static_cast<int>(read_topology().cores.size());
  double x = 1;
  for (const std::string& pattern :
       options.patterns.empty() ? std::vector<std::string>{"trivial", "stencil_1d", "fft", "tree", "nearest",
                                                           "spread", "random_nearest", "all_to_all"}
                                : options.patterns) {
    static_cast<void>(pattern_of(pattern));
    experiment.cases.push_back({x++,
                                pattern,
                                {{"workload", "graph"},
                                 {"pattern", pattern},
                                 {"kernel", options.kernel},
                                 {"width", width},
                                 {"cores", cores},
                                 {"steps", options.is_quick ? 100 : 1000},
                                 {"longest_ns", options.is_quick ? 65'536.0 : 262'144.0}}});
  }
  return {experiment};
}

}  // namespace

const std::vector<StudyKind>& studies() {
  static const std::vector<StudyKind> all{
      {"parcels",
       "message rate against injection rate, latency against size and window, of the parcelports",
       {"weft", "weft:immediate", "weft:queued", "weft:putsendrecv:immediate", "weft:putsendrecv:pinned",
        "mpi:immediate", "mpi", "mpi:queued", "mpi:original", "tcp", "tcp:queued", "two-copy-ring"},
       plan_parcels},
      {"chains",
       "multi-chain ping-pong: chains of tasks that alternate between two ranks and carry a buffer",
       {"weft", "weft:putsendrecv", "mpi", "tcp"},
       plan_chains},
      {"devices",
       "message rate and latency of workers that share a device, or have 2 or 4, of follow-up messages on "
       "devices of their own, and of retries by worker",
       {"weft", "weft:2-devices", "weft:4-devices", "weft:putsendrecv", "weft:putsendrecv:2-devices",
        "weft:putsendrecv:4-devices", "weft:putsendrecv:followup-devices", "weft:putsendrecv:own-retries"},
       plan_devices},
      {"uts",
       "unbalanced tree search: T1 and T3, counted exactly",
       {"weft", "mpi", "tcp", "openmp"},
       plan_trees},
      {"taskbench",
       "Task Bench: the least task granularity with an efficiency of 50 %",
       {"weft", "mpi", "tcp", "plain-mpi", "starpu"},
       plan_graphs}};
  return all;
}

std::vector<Experiment> plan_of(const StudyOptions& options) {
  const auto kind = std::find_if(studies().begin(), studies().end(),
                                 [&](const StudyKind& each) { return each.name == options.study; });
  std::vector<Experiment> all = kind->plan(options);
  if (options.only.empty()) return all;
  std::string known;
  for (const Experiment& each : all) known += (known.empty() ? "" : ", ") + each.name;
  for (const std::string& name : options.only)
    if (std::none_of(all.begin(), all.end(), [&](const Experiment& each) { return each.name == name; }))
      throw OptionError(
          fmt::format("--experiment {} is not valid: the study {} has {}", name, options.study, known));
  std::erase_if(all, [&](const Experiment& each) {
    return std::find(options.only.begin(), options.only.end(), each.name) == options.only.end();
  });
  return all;
}

}  // namespace weft::tools::study
