// Runs, and memory of runs, that outlive the call that has made them.
#pragma once

#include <weft/collective/call.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::collective {

class CollectiveContext;
class CollectiveRun;

class KeptRuns {
 public:
  explicit KeptRuns(CollectiveContext& context) noexcept;
  ~KeptRuns();

  /// The graph of a long collective whose caller waits; the last one is kept for a call with the same
  /// arguments.
  [[nodiscard]] CollectiveRun& of(const detail::CollectiveCall& call);
  void forget() noexcept;
  /// Keeps memory of receives that may still be filled, until the engine has cancelled them.
  void keep_memory(std::vector<std::unique_ptr<std::byte[]>>&& memory);

 private:
  CollectiveContext& context_;
  std::mutex mutex_;  // protects abandoned_
  std::vector<std::unique_ptr<std::byte[]>> abandoned_;
  std::unique_ptr<CollectiveRun> last_;
};

}  // namespace weft::collective
