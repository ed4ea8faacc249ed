// What a study measures: experiments of points, each a case that the ranks of a job run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weft::tools::study {

using Json = nlohmann::json;

/// A point of a curve.
struct StudyCase {
  double x = 0;
  std::string label;  ///< of x
  Json parameters;    ///< with "workload"
};

/// One picture: a figure against x, for every variant.
struct Experiment {
  std::string name;  ///< "rate-8B"
  std::string title;
  std::string x_name;
  std::string figure;  ///< of the ranks' answer
  std::string unit;
  double scale = 1;  ///< from the figure to the unit
  bool more_is_better = true;
  std::vector<StudyCase> cases;
  /// The figure of the ranks' answer that is where a point lies on the x axis: what was reached of what the
  /// case asks for. Empty: the case's x.
  std::string x_figure = {};
};

struct StudyOptions {
  std::string command;  ///< as it was typed
  std::string study;
  int ranks = 2;
  int workers = 1;
  int rounds = 5;
  bool is_quick = false;
  std::vector<std::string> only;  ///< names of experiments; empty: all of the study
  std::vector<std::string> variants;
  bool has_named_variants = false;  ///< by the command line: then each must run
  std::string report;
  std::string json;
  // Of chains; a list replaces the sweeps by one experiment.
  std::vector<std::uint32_t> chains;  ///< of each rank
  std::vector<std::uint32_t> bytes;
  std::vector<double> grains_us;
  std::uint32_t steps = 0;  ///< 0: as long as takes a reasonable time
  double injection = 0;
  int iterations = 0;
  int warm_ups = 1;
  bool sweeps = false;
  bool has_single_source = false;
  // Of graphs and trees.
  std::vector<std::string> patterns;
  std::string kernel = "compute";
  int width = 0;
  std::vector<std::string> trees;
};

/// A study: a subcommand of `weft study`.
struct StudyKind {
  const char* name;
  const char* help;
  std::vector<std::string> variants;  ///< that take part unless others are named
  std::vector<Experiment> (*plan)(const StudyOptions& options);
};
[[nodiscard]] const std::vector<StudyKind>& studies();

/// The experiments of options.study. Throws weft::Error.
[[nodiscard]] std::vector<Experiment> plan_of(const StudyOptions& options);

}  // namespace weft::tools::study
