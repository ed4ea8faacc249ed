#pragma once

#include <string>

#include "perf/report/results.hpp"

namespace weft::tools::perf {

/// The folder of --report. Made before measuring, so that a folder that cannot be written does not cost
/// minutes first.
class ReportFolder {
 public:
  /// Throws weft::Error.
  explicit ReportFolder(std::string path);
  /// Writes perf.html, perf.csv and perf.json. Throws weft::Error.
  void write(const Results& results, const std::string& command) const;

 private:
  std::string path_;
};

}  // namespace weft::tools::perf
