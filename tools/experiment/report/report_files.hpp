// Where the results of an experiment go: tables on the terminal, files of a report, JSON.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/files/output_file.hpp"

namespace weft::tools {

/// What is written, made when it is wanted.
struct ReportTexts {
  std::function<std::string()> text;
  std::function<std::string()> html;
  std::function<std::string()> csv;
  std::function<std::string()> json;
};

class ReportFiles {
 public:
  /// `folder`, `json`: as --report and --json; empty: not wanted. Makes the folder and tries both, so that
  /// what cannot be written does not cost a measurement first. Throws weft::Error.
  ReportFiles(std::string name, std::string folder, const std::string& json);
  /// Prints the text, or the JSON where that goes to standard output, and writes the files: NAME.html,
  /// NAME.csv and NAME.json of the report. Throws weft::Error.
  void write(const ReportTexts& texts);
  /// A further file of the report, which `make` makes if there is one.
  void write_further(const std::string& file, const std::function<std::string()>& make) const;

 private:
  const std::string name_;
  const std::string folder_;
  const bool prints_json_;
  std::optional<OutputFile> json_;
};

/// A heading with a list below it, for a page; empty where there are no lines.
[[nodiscard]] std::string list_section(const std::string& heading, const std::vector<std::string>& lines);
/// What an experiment shows, and what is missing in it, as list_section() takes it.
[[nodiscard]] std::vector<std::string> with_left_out(std::vector<std::string> findings,
                                                     const std::vector<std::string>& left_out);
/// The same for a terminal.
[[nodiscard]] std::string findings_text(const std::vector<std::string>& findings,
                                        const std::vector<std::string>& left_out);

}  // namespace weft::tools
