// Options of the command line.
#pragma once

#include "count/exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kmer {

/// Options of `weft-kmer`.
struct CountOptions {
  int k = 0;
  std::string prefix;
  std::vector<std::string> files;
  int threads = 0;  ///< per rank
  Progress progress = Progress::workers;
  std::size_t buffer = 8192;                  ///< bytes aggregated per destination
  std::size_t memory = std::size_t{1} << 30;  ///< bytes of packed reads that a rank keeps between the passes
  double false_positive_rate = 0.05;
  bool skip_ends = false;
  std::string network;  ///< attribute `network`; empty: from the environment
  int ranks = 0;        ///< as threads of this process; 0: this process is one rank of its job
};

/// Options of `weft-kmer synth`.
struct SynthOptions {
  std::uint64_t length = 5'000'000;
  double coverage = 30;
  std::uint64_t read_length = 100;
  double error_rate = 0.01;
  std::uint64_t seed = 1;
  std::string output;
};

/// A parsed command line.
struct Command {
  enum class Kind : std::uint8_t { count, synth, message, description };
  Kind kind = Kind::message;
  CountOptions count;
  SynthOptions synth;
  std::string message;  ///< help, version, or what is wrong: print it and end with exit_code; or, of the kind
                        ///< description, what the build asks for, outside any job
  int exit_code = 0;
};

/// Reads the command line; never exits and never throws.
[[nodiscard]] Command parse_command(int argc, const char* const* argv);

/// "5M" bases: powers of 1000. Throws InputError that names the option.
[[nodiscard]] std::uint64_t parse_length(const std::string& option, const std::string& text);

}  // namespace kmer
