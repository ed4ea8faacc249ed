#pragma once

#include <string>

namespace weft::tools::study {

/// A folder of its own among the temporary ones, removed with everything in it. The constructor throws
/// weft::Error.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace weft::tools::study
