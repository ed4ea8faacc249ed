#include "study/study_plan.hpp"

#include <weft/error.hpp>
#include <weft/topology.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

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
                           double messages, const std::vector<double>& rates) {
  Experiment experiment{
      fmt::format("rate-{}", bytes_label(bytes)),
      fmt::format("Message rate against injection rate, {} bytes in batches of {}", bytes, batch),
      "messages injected per second",
      "messages_per_s",
      "million/s",
      1e-6,
      true,
      {}};
  const auto add = [&](double x, std::string label, double rate) {
    // A tenth of a second suffices for a look.
    double count = options.is_quick ? std::min(messages, rate > 0 ? rate / 10 : messages / 5) : messages;
    count = std::max(1.0, std::floor(count / batch)) * batch;
    experiment.cases.push_back({x,
                                std::move(label),
                                {{"workload", "stream"},
                                 {"bytes", bytes},
                                 {"batch", batch},
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
  return {rate_experiment(
              options, 8, 100, 500'000,
              quick ? std::vector<double>{1e5, 4e5, 1.6e6} : std::vector<double>{1e5, 2e5, 4e5, 8e5, 1.6e6}),
          rate_experiment(options, 16384, 10, 100'000,
                          quick ? std::vector<double>{1e4, 8e4, 6.4e5}
                                : std::vector<double>{1e4, 2e4, 4e4, 8e4, 1.6e5, 3.2e5, 6.4e5}),
          latency_against_size(options), latency_against_window(options, 8),
          latency_against_window(options, 16384)};
}

/// What the command line asks for, instead of the posters' sweeps.
Experiment given_chains(const StudyOptions& options) {
  Experiment experiment{"chains", "Multi-chain ping-pong", "chains", "steps_per_s", "million/s", 1e-6, true,
                        {}};
  const auto chains = options.chains.empty() ? std::vector<std::uint32_t>{64} : options.chains;
  const auto bytes = options.bytes.empty() ? std::vector<std::uint32_t>{16} : options.bytes;
  const auto grains = options.grains_us.empty() ? std::vector<double>{0} : options.grains_us;
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
             chain_case(options, count, size, grain, steps_for(1e5 / (1 + grain), count))});
      }
  return experiment;
}

std::vector<Experiment> plan_chains(const StudyOptions& options) {
  if (!options.chains.empty() || !options.bytes.empty() || !options.grains_us.empty())
    return {given_chains(options)};
  const double tasks = options.is_quick ? 2e4 : 2e5;
  const auto per_rank = static_cast<std::uint32_t>(options.ranks);
  Experiment size{"bandwidth-size",
                  "Bandwidth against buffer size, 512 chains per rank",
                  "bytes",
                  "bytes_per_s",
                  "GB/s",
                  1e-9,
                  true,
                  {}};
  for (std::uint32_t bytes = 16; bytes <= 256 * 1024; bytes *= options.is_quick ? 16 : 4)
    size.cases.push_back({static_cast<double>(bytes), bytes_label(bytes),
                          chain_case(options, 512 * per_rank, bytes, 0,
                                     steps_for(tasks / (1 + bytes / 16384.0), 512.0 * per_rank))});
  Experiment count{"rate-chains", "Message rate against chains, 16 KiB",
                   "chains",      "steps_per_s",
                   "million/s",   1e-6,
                   true,          {}};
  Experiment latency = count;
  latency.name = "latency-chains";
  latency.title = "Latency of a step against chains, 16 KiB";
  latency.figure = "latency_us";
  latency.unit = "us";
  latency.scale = 1;
  latency.more_is_better = false;
  for (std::uint32_t chains = 1; chains <= 2048; chains *= options.is_quick ? 8 : 4)
    count.cases.push_back({static_cast<double>(chains), std::to_string(chains),
                           chain_case(options, chains, 16384, 0, steps_for(tasks / 4, chains))});
  latency.cases = count.cases;
  Experiment grain{"efficiency-grain",
                   "Computation efficiency against task length, 64 chains of 16 KiB",
                   "microseconds of each task",
                   "efficiency",
                   "",
                   1,
                   true,
                   {}};
  for (double us = 1; us <= 10'000; us *= options.is_quick ? 10 : std::sqrt(10.0))
    grain.cases.push_back(
        {us, fmt::format("{:.3g}", us),
         chain_case(options, 64, 16384, us, steps_for((options.is_quick ? 5e4 : 5e5) / (5 + us), 64))});
  return {size, count, latency, grain};
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

std::vector<Experiment> plan_of(const StudyOptions& options) {
  if (options.study == "parcels") return plan_parcels(options);
  if (options.study == "chains") return plan_chains(options);
  return options.study == "uts" ? plan_trees(options) : plan_graphs(options);
}

}  // namespace weft::tools::study
