#include "core.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<long> executed{0};

struct AtTheEnd {
  ~AtTheEnd() {
    std::printf("tasks run here: %ld\n", executed.load());
    std::fflush(stdout);
  }
} at_the_end;

[[noreturn]] void fail(const char* what, long step, long point, long other) {
  std::fprintf(stderr, "core: %s: step %ld, point %ld: %ld\n", what, step, point, other);
  std::fflush(stderr);
  std::_Exit(3);
}

/// The points of the step before that a point depends on, one by one, in an order of their own.
std::vector<long> needed_by(const TaskGraph& graph, long set, long point) {
  const long width = graph.max_width;
  if (graph.type == "alone") return {};
  if (graph.type == "line") return {point};
  if (graph.type == "ring") return {(point + width - 1) % width, point, (point + 1) % width};
  if (graph.type == "growing") return {point / 2};
  if (graph.type == "moving") return {point - 1, point};
  if (graph.type == "far") return {(point + 1 + set * 3) % width, (point + 1 + set * 3 + width / 2) % width};
  std::vector<long> all;
  for (long other = 0; other < width; ++other) all.push_back(other);
  return all;
}

/// Points as intervals: neighbours that follow each other make one.
std::vector<std::pair<long, long>> as_intervals(std::vector<long> points, long width) {
  std::vector<std::pair<long, long>> intervals;
  std::vector<long> seen;
  for (const long point : points) {
    if (point < 0 || point >= width || std::find(seen.begin(), seen.end(), point) != seen.end()) continue;
    seen.push_back(point);
    if (!intervals.empty() && intervals.back().second + 1 == point)
      intervals.back().second = point;
    else
      intervals.emplace_back(point, point);
  }
  return intervals;
}

bool has_task(const TaskGraph& graph, long step, long point) {
  const long offset = graph.offset_at_timestep(step);
  return point >= offset && point < offset + graph.width_at_timestep(step);
}

long word_of(const char* bytes, std::size_t index) {
  long word = 0;
  std::memcpy(&word, bytes + index * sizeof word, sizeof word);
  return word;
}

constexpr long kPrepared = -1;

void check_inputs(const TaskGraph& graph, long step, long point, const char** inputs,
                  const std::size_t* input_bytes, std::size_t input_count) {
  std::size_t index = 0;
  for (const auto& [first, last] : graph.dependencies(graph.dependence_set_at_timestep(step), point))
    for (long from = first; from <= last; ++from) {
      if (!has_task(graph, step - 1, from)) continue;
      if (index == input_count) fail("an input is missing", step, point, from);
      if (input_bytes[index] != graph.output_bytes_per_task)
        fail("an input has another size", step, point, from);
      for (std::size_t word = 0; word + 1 < input_bytes[index] / sizeof(long); word += 2)
        if (word_of(inputs[index], word) != step - 1 || word_of(inputs[index], word + 1) != from)
          fail("an input is wrong", step, point, from);
      ++index;
    }
  if (index != input_count) fail("there are more inputs", step, point, static_cast<long>(input_count));
}

}  // namespace

long TaskGraph::offset_at_timestep(long step) const {
  return step >= 0 && type == "moving" ? std::max(0L, step + max_width - timesteps) : 0;
}

long TaskGraph::width_at_timestep(long step) const {
  if (step < 0) return 0;
  if (type == "moving") return std::min({max_width, step + 1, timesteps - step});
  if (type == "growing") return std::min(max_width, 1L << std::min(step, 40L));
  return max_width;
}

long TaskGraph::max_dependence_sets() const { return type == "far" ? 3 : 1; }

long TaskGraph::dependence_set_at_timestep(long step) const { return step % max_dependence_sets(); }

std::vector<std::pair<long, long>> TaskGraph::dependencies(long set, long point) const {
  return as_intervals(needed_by(*this, set, point), max_width);
}

std::vector<std::pair<long, long>> TaskGraph::reverse_dependencies(long set, long point) const {
  std::vector<long> points;
  for (long other = 0; other < max_width; ++other) {
    const std::vector<long> needed = needed_by(*this, set, other);
    if (std::find(needed.begin(), needed.end(), point) != needed.end()) points.push_back(other);
  }
  return as_intervals(points, max_width);
}

void TaskGraph::execute_point(long step, long point, char* output, std::size_t output_bytes,
                              const char** inputs, const std::size_t* input_bytes, std::size_t input_count,
                              char* scratch, std::size_t scratch_bytes) const {
  if (step < 0 || step >= timesteps || !has_task(*this, step, point))
    fail("there is no such task", step, point, 0);
  check_inputs(*this, step, point, inputs, input_bytes, input_count);
  if (output_bytes != output_bytes_per_task) fail("the output has another size", step, point, 0);
  // The tasks of a point share its scratch memory: each finds what the one before it has left.
  if (scratch_bytes != scratch_bytes_per_task) fail("the scratch memory has another size", step, point, 0);
  if (scratch_bytes != 0) {
    const long before = word_of(scratch, 0);
    const bool is_first = step == 0 || !has_task(*this, step - 1, point);
    if (is_first ? before != kPrepared && before < step : before != step - 1)
      fail("the scratch memory is of", step, point, before);
    std::memcpy(scratch, &step, sizeof step);
  }
  for (std::size_t word = 0; word + 1 < output_bytes / sizeof(long); word += 2) {
    const long last = point + (point == spoiled && step == 1 ? 1 : 0);
    std::memcpy(output + word * sizeof(long), &step, sizeof step);
    std::memcpy(output + (word + 1) * sizeof(long), &last, sizeof last);
  }
  executed.fetch_add(1);
}

void TaskGraph::prepare_scratch(char* scratch, std::size_t bytes) {
  if (bytes >= sizeof kPrepared) std::memcpy(scratch, &kPrepared, sizeof kPrepared);
}

App::App(int argc, char** argv) {
  TaskGraph graph;
  for (int index = 1; index < argc; ++index) {
    const std::string flag = argv[index];
    const auto value = [&] {
      if (++index == argc) std::abort();
      return argv[index];
    };
    if (flag == "-and") {
      graphs.push_back(graph);
      graph = {};
      graph.graph_index = static_cast<long>(graphs.size());
    }
    if (flag == "-type") graph.type = value();
    if (flag == "-steps") graph.timesteps = std::atol(value());
    if (flag == "-width") graph.max_width = std::atol(value());
    if (flag == "-spoil") graph.spoiled = std::atol(value());
    if (flag == "-output") graph.output_bytes_per_task = std::strtoul(value(), nullptr, 10);
    if (flag == "-scratch") graph.scratch_bytes_per_task = std::strtoul(value(), nullptr, 10);
  }
  graphs.push_back(graph);
}

void App::display() const { std::printf("graphs: %zu\n", graphs.size()); }

void App::report_timing(double seconds) const {
  long tasks = 0;
  for (const TaskGraph& graph : graphs)
    for (long step = 0; step < graph.timesteps; ++step) tasks += graph.width_at_timestep(step);
  std::printf("tasks of the graphs: %ld\nseconds: %f\n", tasks, seconds);
}
