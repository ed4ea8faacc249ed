// Task Bench: steps of `width` points; a task runs when the tasks that it depends on have sent their output,
// and checks what it gets.
#include <weft/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "study/ranks/grain.hpp"
#include "study/ranks/graph_pattern.hpp"
#include "study/ranks/workload.hpp"

namespace weft::tools::study {

namespace {

using parcel::action;
using parcel::Runtime;

enum class Kernel { empty, compute, imbalance };

struct Graph {
  Pattern pattern = Pattern::stencil_1d;
  Kernel kernel = Kernel::compute;
  int width = 0;
  int steps = 0;
  int radix = 0;
  std::size_t words = 2;                                 // of an output
  std::vector<std::vector<std::vector<int>>> consumers;  // by step and point
  std::vector<std::vector<std::atomic<int>>> missing;    // inputs, by step and point
};
std::unique_ptr<Graph> graph;

/// One pass over the graph.
struct Pass {
  double grain_ns = 0;
  std::atomic<std::uint64_t> tasks{0};
  std::atomic<std::uint64_t> inputs{0};
  std::atomic<std::uint64_t> wrong{0};
};
std::unique_ptr<Pass> pass;

int owner_of(int point, int ranks) {
  return static_cast<int>(static_cast<std::int64_t>(point) * ranks / graph->width);
}

double grain_of(int step, int point) {
  if (graph->kernel == Kernel::empty) return 0;
  if (graph->kernel == Kernel::compute) return pass->grain_ns;
  const std::uint32_t hash =
      (static_cast<std::uint32_t>(step) * 2654435761U) ^ (static_cast<std::uint32_t>(point) * 2246822519U);
  return 2 * pass->grain_ns * ((hash >> 8) & 0xffff) / 65536.0;  // on average as long as the others'
}

void take_input(Runtime& runtime, int step, int point, int from, std::vector<std::uint64_t> words);

void run_task(Runtime& runtime, int step, int point) {
  const double grain = grain_of(step, point);
  if (grain > 0) Grain::compute(grain);
  pass->tasks.fetch_add(1, std::memory_order_relaxed);
  if (step + 1 == graph->steps) return;
  for (const int consumer :
       graph->consumers[static_cast<std::size_t>(step)][static_cast<std::size_t>(point)]) {
    std::vector<std::uint64_t> words(graph->words);
    for (std::size_t index = 0; index + 1 < words.size(); index += 2) {
      words[index] = static_cast<std::uint64_t>(step);
      words[index + 1] = static_cast<std::uint64_t>(point);
    }
    runtime.apply(owner_of(consumer, runtime.size()), action<&take_input>, step + 1, consumer, point,
                  std::move(words));
  }
}

void take_input(Runtime& runtime, int step, int point, int from, std::vector<std::uint64_t> words) {
  std::uint64_t wrong = words.size() == graph->words ? 0 : 1;
  for (std::size_t index = 0; index + 1 < words.size(); index += 2)
    if (words[index] + 1 != static_cast<std::uint64_t>(step) ||
        words[index + 1] != static_cast<std::uint64_t>(from))
      ++wrong;
  if (wrong != 0) pass->wrong.fetch_add(wrong, std::memory_order_relaxed);
  pass->inputs.fetch_add(1, std::memory_order_relaxed);
  std::atomic<int>& missing = graph->missing[static_cast<std::size_t>(step)][static_cast<std::size_t>(point)];
  if (missing.fetch_sub(1, std::memory_order_acq_rel) == 1) run_task(runtime, step, point);
}

void build(const Json& parameters) {
  graph = std::make_unique<Graph>();
  graph->pattern = pattern_of(parameters.value("pattern", "stencil_1d"));
  const std::string kernel = parameters.value("kernel", "compute");
  graph->kernel = kernel == "empty"       ? Kernel::empty
                  : kernel == "imbalance" ? Kernel::imbalance
                                          : Kernel::compute;
  graph->width = parameters.value("width", 8);
  graph->steps = parameters.value("steps", 100);
  graph->radix = parameters.value("radix", 5);
  graph->words = std::max<std::size_t>(2, parameters.value("bytes", 16) / sizeof(std::uint64_t));
  const auto width = static_cast<std::size_t>(graph->width);
  graph->consumers.assign(static_cast<std::size_t>(graph->steps), std::vector<std::vector<int>>(width));
  for (int step = 0; step < graph->steps; ++step) {
    graph->missing.emplace_back(width);
    for (int point = 0; point < graph->width && step > 0; ++point)
      for (const int needed : dependences_of(graph->pattern, step, point, graph->width, graph->radix))
        graph->consumers[static_cast<std::size_t>(step) - 1][static_cast<std::size_t>(needed)].push_back(
            point);
  }
}

/// Sets the counts of missing inputs; returns how many inputs all tasks have.
std::uint64_t reset_inputs() {
  std::uint64_t total = 0;
  for (auto& step : graph->missing)
    for (auto& count : step) count.store(0, std::memory_order_relaxed);
  for (std::size_t step = 0; step + 1 < graph->consumers.size(); ++step)
    for (const auto& consumers : graph->consumers[step])
      for (const int consumer : consumers) {
        graph->missing[step + 1][static_cast<std::size_t>(consumer)].fetch_add(1, std::memory_order_relaxed);
        ++total;
      }
  return total;
}

struct Totals {
  std::uint64_t tasks = 0;
  std::uint64_t inputs = 0;
  std::uint64_t wrong = 0;
};
Totals totals_here() { return {pass->tasks, pass->inputs, pass->wrong}; }

/// Seconds of one pass, on rank 0.
double run_pass(Runtime& runtime, double grain_ns) {
  const std::uint64_t inputs = reset_inputs();
  pass = std::make_unique<Pass>();
  pass->grain_ns = grain_ns;
  // Known before anything can count them down.
  std::vector<std::pair<int, int>> first;
  for (int step = 0; step < graph->steps; ++step)
    for (int point = 0; point < graph->width; ++point)
      if (owner_of(point, runtime.size()) == runtime.rank() &&
          graph->missing[static_cast<std::size_t>(step)][static_cast<std::size_t>(point)] == 0)
        first.emplace_back(step, point);
  runtime.barrier();
  const std::int64_t begin = now_ns();
  for (const auto& [step, point] : first) runtime.apply(runtime.rank(), action<&run_task>, step, point);
  runtime.wait_quiet();
  const auto elapsed = static_cast<double>(now_ns() - begin) * 1e-9;
  if (runtime.rank() == 0) {
    Totals all;
    for (int rank = 0; rank < runtime.size(); ++rank) {
      const Totals there = runtime.async(rank, action<&totals_here>).get();
      all.tasks += there.tasks;
      all.inputs += there.inputs;
      all.wrong += there.wrong;
    }
    const std::uint64_t tasks =
        static_cast<std::uint64_t>(graph->width) * static_cast<std::uint64_t>(graph->steps);
    if (all.tasks != tasks || all.inputs != inputs || all.wrong != 0)
      throw Error(
          fmt::format("{} tasks have run and {} inputs have come, {} of them wrong; the graph has {} and {}",
                      all.tasks, all.inputs, all.wrong, tasks, inputs));
  }
  runtime.barrier();
  return elapsed;
}

}  // namespace

Json run_graph(Runtime& runtime, const Json& parameters) {
  Grain::calibrate();
  build(parameters);
  // Workers that share a processor do not work at the same time.
  const double cores = std::min(static_cast<double>(runtime.size()) * runtime.workers(),
                                static_cast<double>(parameters.value("cores", 1'000'000)));
  const double tasks = static_cast<double>(graph->width) * graph->steps;
  CountersOf counters(runtime);
  run_pass(runtime, 0);  // warm-up
  Json figures;
  // Without work there is no length of a task to be found.
  if (graph->kernel != Kernel::empty)
    find_least_granularity(
        figures, parameters.value("longest_ns", 262'144.0), cores, tasks, runtime.rank() == 0,
        [&](double grain) { return run_pass(runtime, grain); },
        [&](bool is_over) {
          const std::uint8_t own = is_over ? 1 : 0;
          std::vector<std::uint8_t> all(static_cast<std::size_t>(runtime.size()));
          runtime.port().allgather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
          return all[0] != 0;
        });
  figures["counters"] = counters.changes();
  const double elapsed = run_pass(runtime, 0);
  figures["tasks_per_s"] = tasks / elapsed;
  return figures;
}

}  // namespace weft::tools::study
