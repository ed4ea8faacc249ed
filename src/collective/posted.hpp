// The collectives of a context that have been posted, and are under way.
#pragma once

#include <weft/collective.hpp>
#include <weft/completion/completion.hpp>
#include <weft/completion/graph.hpp>
#include <weft/message.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace weft::collective {

class CollectiveContext;
class CollectiveRun;

/// Owns posted operations until they have ended. While some are under way it looks at them now and then, by
/// a receive that nobody sends to and that times out: asks whether the ranks have called the same, as a
/// thread that waits does, so that all ranks learn of a difference even if none of them waits; and ends those
/// that cannot end by themselves.
class PostedRuns final : public Completion {
 public:
  explicit PostedRuns(CollectiveContext& context) noexcept;
  ~PostedRuns() override;

  /// Takes an operation that is about to be started; drops those that have ended, from time to time. Throws
  /// weft::Error when too many are under way; the operation stays its owner's then.
  void add(std::unique_ptr<CollectiveRun>&& run, const CollectivePostOptions& options);
  /// See Collective::wait_posted().
  [[nodiscard]] Outcome wait();
  /// An operation has been started: begins to look after those under way, unless it does already.
  void start_watch() noexcept;
  /// Destroys those that have ended; the others go on. No operation is posted any more.
  void drop();

  /// Ends the watch; it is not signalled any more.
  void stop() noexcept;

  /// The watch has ended.
  void signal(Message& message) noexcept override;
  [[nodiscard]] bool ready() const noexcept override { return !is_watching_.load(std::memory_order_relaxed); }

 private:
  struct Posted {
    std::shared_ptr<CollectiveRun> run;  // also of who looks after it
    bool is_observed = false;            // a completion object is signalled with its outcome
  };
  void drop_ended() noexcept;  // under mutex_
  void make_watch();
  using Runs = std::vector<std::shared_ptr<CollectiveRun>>;
  /// Returns false when nothing is under way.
  bool look() noexcept;
  /// Finds those that are under way and cannot end; asks about the first of the others. Returns false when
  /// nothing is under way.
  bool find_lost(Runs& lost);

  CollectiveContext& context_;
  std::mutex mutex_;
  std::deque<Posted> posted_;
  std::size_t drop_at_ = 0;     // with so many, those that have ended are dropped
  std::optional<Graph> watch_;  // a receive, which progress posts again where not even the backlog takes it
  std::atomic<bool> may_look_{false};  // its time has passed
  std::atomic<bool> is_watching_{false};
  std::atomic<bool> is_stopped_{false};
  std::int64_t pause_ = 0;  // of the thread that handles the watch
  std::uint32_t asked_ = 0;
  std::uint64_t asked_for_ = ~std::uint64_t{0};  // the run
};

}  // namespace weft::collective
