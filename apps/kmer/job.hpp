// One rank's part in counting: the phases, and the agreement between them.
#pragma once

#include "count/exchange.hpp"
#include "failure.hpp"
#include "input/input.hpp"
#include "options.hpp"
#include "output/outputs.hpp"
#include "output/report.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/progress_bar.hpp"

namespace kmer {

class ReadSource;
class Sender;
template <int Words>
struct Counting;

/// A count on one rank. All ranks run it with the same options. The phases never wait for a rank that has
/// failed: a failure ends the phase everywhere, and all ranks return false from it.
class Job {
 public:
  Job(weft::Runtime& runtime, const CountOptions& options);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Returns true when the outputs have been written. If not, `error_line()` is the same on all ranks.
  bool run();

  [[nodiscard]] const std::string& error_line() const noexcept { return error_line_; }
  /// Valid on rank 0 after run() returned true.
  [[nodiscard]] const Report& report() const noexcept { return report_; }
  /// The reason why there is no PREFIX.svg; empty when there is one. Valid when report() is.
  [[nodiscard]] const std::string& why_no_picture() const noexcept { return why_no_picture_; }
  /// Returns once all ranks have called it.
  void barrier() { exchange_.barrier(); }

 private:
  /// Ends a phase; returns true if no rank has failed.
  bool agree();
  /// Reports on rank 0 what has been done; a launcher's pipe shows no progress bar.
  void tell(const std::string& done, double seconds);
  /// Inspects the inputs and opens the outputs.
  bool prepare();
  /// Does everything from reading to PREFIX.counts, in the steps that follow.
  template <int Words>
  bool count();
  template <int Words>
  Counting<Words> plan() const;
  template <int Words>
  bool open_receivers(Counting<Words>& counting);
  /// Reads the input and sends its super-k-mers to the receivers: once, and again to those that have spilled.
  template <int Words>
  bool exchange_reads(Counting<Words>& counting);
  template <int Words>
  void make_pass(int pass, Counting<Words>& counting, const std::vector<bool>& wanted);
  /// A worker's part in a pass: parses its share of the input, and serves.
  void send_reads(int pass, Port& port, ReadSource* source, Sender& sender);
  /// Reports an error when no read can hold a single k-mer.
  bool check_reads(double seconds);
  template <int Words>
  bool count_shards(Counting<Words>& counting);
  template <int Words>
  Histogram write_kept(const Counting<Words>& counting);
  void gather_totals(const Histogram& histogram, int spilled);
  /// Writes the reports and gives the outputs their names.
  bool finish();

  const CountOptions& options_;
  Failure failure_;
  Exchange exchange_;
  weft::tools::ProgressBar bar_;
  std::vector<InputFile> files_;
  std::unique_ptr<Outputs> outputs_;  // rank 0
  std::string counts_path_;
  std::string error_line_;
  std::string why_no_picture_;
  Totals own_;  // this rank's share
  Report report_;
};

}  // namespace kmer
