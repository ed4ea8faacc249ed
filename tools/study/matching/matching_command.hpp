// `weft study matching`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::tools::study {

struct MatchingOptions {
  std::string command;  ///< as it was typed
  std::vector<std::string> modes;
  std::vector<std::string> engines;
  std::vector<std::string> decompositions;
  std::vector<std::string> sweeps;      ///< families of decompositions
  std::vector<std::string> algorithms;  ///< files of libraries
  int most_threads = 256;               ///< of sweeps
  std::vector<std::string> orders;
  std::vector<std::string> traces;
  std::vector<int> threads{1, 2, 4, 8};
  std::uint64_t soak = 100'000'000;
  std::uint64_t seed = 1;
  int senders = 1;
  int runs = 10;
  int warm_ups = 1;
  bool is_quick = false;
  std::string report;
  std::string json;
};

void add_matching_options(CLI::App& app, MatchingOptions& options);
/// Measures, and writes what the options ask for. Throws weft::Error. Returns the exit code: 1 when a replay
/// of a list misses its bound.
int run_matching(MatchingOptions options);

}  // namespace weft::tools::study
