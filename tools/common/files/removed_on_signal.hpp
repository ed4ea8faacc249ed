// What a program has not finished when Ctrl-C ends it does not stay behind.
#pragma once

#include <string>

namespace weft::tools {

/// While it lives, the file or folder, with everything in it, is removed when SIGINT, SIGTERM or SIGHUP ends
/// the process; a signal that is ignored stays ignored, and how the process ends does not change. Processes
/// that it forks remove nothing. Of many at a time, or of a path that is too long, those beyond are not
/// remembered. Any thread.
class RemovedOnSignal {
 public:
  explicit RemovedOnSignal(const std::string& path);
  ~RemovedOnSignal();
  RemovedOnSignal(RemovedOnSignal&& other) noexcept;
  RemovedOnSignal& operator=(RemovedOnSignal&& other) = delete;

 private:
  int slot_ = -1;
};

}  // namespace weft::tools
