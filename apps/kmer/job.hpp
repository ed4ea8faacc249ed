// One rank's part in counting: the phases, and the agreement between them.
#pragma once

#include "exchange.hpp"
#include "failure.hpp"
#include "input.hpp"
#include "options.hpp"
#include "outputs.hpp"
#include "progress_bar.hpp"
#include "report.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kmer {

/// All ranks run it with the same options. The phases never wait for a rank that has failed: a failure ends
/// the phase everywhere, and all ranks return false from it.
class Job {
 public:
  Job(weft::Runtime& runtime, const CountOptions& options);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Returns whether the outputs are there. If not, `error_line()` is the same on all ranks.
  bool run();

  [[nodiscard]] const std::string& error_line() const noexcept { return error_line_; }
  /// Valid on rank 0 after run() returned true.
  [[nodiscard]] const Report& report() const noexcept { return report_; }
  /// Returns once all ranks have called it.
  void barrier() { exchange_.barrier(); }

 private:
  template <int Words>
  bool count();
  /// Runs `body(thread)` on all of this rank's threads: workers first, then the dedicated receiver. What they
  /// throw becomes this rank's failure.
  template <class Body>
  void on_all_threads(int threads, const Body& body);
  /// Ends a phase: true if no rank has failed.
  bool agree();
  /// Says on rank 0 what has been done; a launcher's pipe shows no progress bar.
  void tell(const std::string& done, double seconds);
  bool prepare();
  bool finish();
  void gather_totals(const Histogram& histogram, int spilled);

  const CountOptions& options_;
  Failure failure_;
  Exchange exchange_;
  ProgressBar bar_;
  std::vector<InputFile> files_;
  std::unique_ptr<Outputs> outputs_;  // rank 0
  std::string counts_path_;
  std::string error_line_;
  Totals own_;  // this rank's share
  Report report_;
};

}  // namespace kmer
