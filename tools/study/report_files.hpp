// Where a study's results go: tables on the terminal, files of a report, JSON.
#pragma once

#include <string>

namespace weft::tools::study {

struct ReportTexts {
  std::string text;
  std::string html;
  std::string csv;
  std::string json;
};

class ReportFiles {
 public:
  /// `folder`, `json`: as --report and --json; empty: not wanted. Makes the folder, so that one that cannot
  /// be made does not cost a measurement first. Throws weft::Error.
  ReportFiles(std::string name, std::string folder, std::string json);
  /// Prints the text, or the JSON where that goes to standard output, and writes the files. Throws
  /// weft::Error.
  void write(const ReportTexts& texts) const;

 private:
  const std::string name_;
  const std::string folder_;
  const std::string json_;
};

}  // namespace weft::tools::study
