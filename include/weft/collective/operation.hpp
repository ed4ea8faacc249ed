// A collective that is made once and started again.
#pragma once

#include <weft/completion/graph.hpp>
#include <weft/detail/export.hpp>
#include <weft/status.hpp>

#include <memory>
#include <source_location>

namespace weft {

class Collective;

namespace collective {
class CollectiveRun;
}

/// A collective that has been laid out once, as a graph, and may be started any number of times, without
/// allocation. The buffers that it was made with are borrowed from start() to the end of the run. Its
/// Collective must outlive it, and names it otherwise. An object that was moved from, or posted, is empty:
/// start() and wait() throw weft::Error then, and nothing else may be called.
class WEFT_API CollectiveOperation {
 public:
  CollectiveOperation(CollectiveOperation&&) noexcept;
  /// The operation must have ended.
  ~CollectiveOperation();

  /// Begins a run; all ranks must start the operations of a Collective in the same order. Never blocks.
  /// Throws weft::Error while a run is under way. `where`: what explanations and errors name.
  void start(const std::source_location& where = std::source_location::current());
  /// Posts again the operations that had been refused. Returns true when the run has ended. Does not
  /// progress.
  bool test() noexcept;
  /// Progresses until the run has ended. Returns its outcome: ok, peer_failed or timed_out. Throws
  /// weft::Error when a rank has sent another length than this one expects (a rank that receives nothing from
  /// the rank with the other length does not notice), and when the run does not end because a rank has begun
  /// another collective in its place; the operation is then to be destroyed.
  Outcome wait();
  /// The graph of the operation, which may be waited for, given a completion object, or made a node of
  /// another graph. A run is begun by start() of this object, or by a graph that has it as a node.
  [[nodiscard]] Graph& graph() noexcept;

 private:
  friend class Collective;
  explicit CollectiveOperation(std::unique_ptr<collective::CollectiveRun> run) noexcept;
  /// Throws weft::Error for an object that is empty.
  [[nodiscard]] collective::CollectiveRun& run() const;
  std::unique_ptr<collective::CollectiveRun> run_;
};

}  // namespace weft
