// As much of the interface of Task Bench's core library as apps/task_bench/ speaks, with graphs of our own
// that move through their points in every way that those of Task Bench do. It checks what tasks are given,
// and counts them.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

struct TaskGraph {
  long graph_index = 0;
  long timesteps = 4;
  long max_width = 4;
  std::size_t output_bytes_per_task = 16;
  std::size_t scratch_bytes_per_task = 0;
  std::string type = "ring";
  long spoiled = -1;  // the point whose output in step 1 is wrong

  [[nodiscard]] long offset_at_timestep(long step) const;
  [[nodiscard]] long width_at_timestep(long step) const;
  [[nodiscard]] long max_dependence_sets() const;
  [[nodiscard]] long dependence_set_at_timestep(long step) const;
  [[nodiscard]] std::vector<std::pair<long, long>> dependencies(long set, long point) const;
  [[nodiscard]] std::vector<std::pair<long, long>> reverse_dependencies(long set, long point) const;
  void execute_point(long step, long point, char* output, std::size_t output_bytes, const char** inputs,
                     const std::size_t* input_bytes, std::size_t input_count, char* scratch,
                     std::size_t scratch_bytes) const;
  static void prepare_scratch(char* scratch, std::size_t bytes);
};

struct App {
  std::vector<TaskGraph> graphs;

  App(int argc, char** argv);
  void display() const;
  /// Prints how many tasks the graphs have. Each rank prints at its end how many it has run.
  void report_timing(double seconds) const;
};
