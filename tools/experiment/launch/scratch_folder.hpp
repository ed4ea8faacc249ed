#pragma once

#include <optional>
#include <string>

#include "common/files/removed_on_signal.hpp"

namespace weft::tools {

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
  std::optional<RemovedOnSignal> removed_on_signal_;
};

}  // namespace weft::tools
