// Files of results: complete, or what they were before.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/files/removed_on_signal.hpp"

namespace weft::tools {

/// A file that a program writes at its end. Until then the path is what it was: the text goes to a file
/// beside it, PATH.partial-PID, which takes its place once it is whole, and is removed when the program ends
/// before. What is no regular file (a pipe, /dev/stdout) is written as it is.
class OutputFile {
 public:
  /// Finds out whether the file can be written, so that a path where it cannot be does not cost a measurement
  /// first. Throws weft::Error: "OPTION PATH: why".
  OutputFile(std::string option, std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Writes all of the file, once. Throws weft::Error, and leaves the path as it was.
  void write(std::string_view text);

 private:
  [[noreturn]] void fail() const;
  void close();

  const std::string option_;
  const std::string path_;  // as it was given
  std::string target_;      // behind symbolic links
  std::string temporary_;   // empty: written as it is
  int descriptor_ = -1;
  std::optional<RemovedOnSignal> removed_on_signal_;
};

/// The folder of a report, for --report: made when it is not there, and tried. Throws weft::Error.
void make_report_folder(const std::string& path);

}  // namespace weft::tools
