// Jobs with several ranks in one process.
#pragma once

#include <weft/detail/export.hpp>

#include <memory>

namespace weft {

namespace bootstrap {
class Hub;
}

/// A job whose ranks are Runtimes of this process: for tests under sanitizers and debuggers, and for trying
/// out a program without a launcher. Its ranks exchange messages through the same shared-memory path as
/// processes do. Must outlive its runtimes.
class WEFT_API InProcessJob {
 public:
  /// `ranks`: 1 to 4096.
  explicit InProcessJob(int ranks);
  ~InProcessJob();
  InProcessJob(const InProcessJob&) = delete;
  InProcessJob& operator=(const InProcessJob&) = delete;

  [[nodiscard]] int size() const noexcept { return ranks_; }
  [[nodiscard]] bootstrap::Hub& hub() noexcept { return *hub_; }

 private:
  int ranks_;
  std::unique_ptr<bootstrap::Hub> hub_;
};

}  // namespace weft
