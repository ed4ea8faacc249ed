// The report of a finished count: a table for users, JSON for programs.
#pragma once

#include "options.hpp"
#include "output/histogram.hpp"

#include <cstdint>
#include <string>

namespace kmer {

/// Seconds of the phases, on rank 0.
struct Timings {
  double reading =
      0;  ///< reading, splitting, exchanging: pass 1 (and pass 2 when the reads did not fit --memory)
  double counting = 0;  ///< Bloom filter and table over the shards
  double writing = 0;   ///< PREFIX.counts
  double total = 0;     ///< from the start of the program's work to the renaming of the outputs
};

/// Sums over all ranks.
struct Totals {
  std::uint64_t reads = 0;
  std::uint64_t longest_read = 0;  ///< a lower bound if above k: long reads are handled in pieces
  std::uint64_t kmers = 0;         ///< without unknown bases
  std::uint64_t distinct = 0;
  std::uint64_t kept = 0;  ///< distinct k-mers with count >= 2
  std::uint64_t kept_occurrences = 0;
  std::uint64_t super_kmers = 0;
  std::uint64_t messages = 0;  ///< active messages with super-k-mers, without those within a thread
  std::uint64_t message_bytes = 0;
  std::uint64_t peak_memory = 0;  ///< bytes resident, sum of the ranks' peaks
  int spilled_receivers = 0;      ///< receivers to which the input was sent twice
};

struct Report {
  CountOptions options;
  int ranks = 1;
  Totals totals;
  Timings timings;
  Histogram histogram;
};

/// Formats 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t value);
[[nodiscard]] std::string json_report(const Report& report);
/// Aligned lines for the terminal.
[[nodiscard]] std::string table_report(const Report& report);

}  // namespace kmer
