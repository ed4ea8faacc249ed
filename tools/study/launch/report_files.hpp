// Where a study's results go: tables on the terminal, files of a report, JSON.
#pragma once

#include <optional>
#include <string>

#include "common/files/output_file.hpp"

namespace weft::tools::study {

struct ReportTexts {
  std::string text;
  std::string html;
  std::string csv;
  std::string json;
};

class ReportFiles {
 public:
  /// `folder`, `json`: as --report and --json; empty: not wanted. Makes the folder and tries both, so that
  /// what cannot be written does not cost a measurement first. Throws weft::Error.
  ReportFiles(std::string name, std::string folder, const std::string& json);
  /// Prints the text, or the JSON where that goes to standard output, and writes the files. Throws
  /// weft::Error.
  void write(const ReportTexts& texts);

 private:
  const std::string name_;
  const std::string folder_;
  const bool prints_json_;
  std::optional<OutputFile> json_;
};

}  // namespace weft::tools::study
