// The context of a Collective: rank, engine, mailbox and ring, shared by all of its operations.
#pragma once

#include "collective/mailbox.hpp"
#include "collective/ring.hpp"

#include <weft/collective.hpp>
#include <weft/matching.hpp>
#include <weft/runtime.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::collective {

class CollectiveRun;

/// Tags of collective messages: number of the run (36 bits) | segment (8) | step (20). Runs are numbered in
/// the order of their starts, which is the same on all ranks.
inline constexpr std::uint32_t kSegmentShift = 20;
inline constexpr std::uint32_t kRunShift = 28;
/// Where several share an engine: their context (12 bits) in place of the upper bits of the run.
inline constexpr std::uint32_t kContextShift = 24;
inline constexpr std::uint64_t kRunsOfContext = (1 << kContextShift) - 1;

/// A message of another length than expected; the first one of a run.
struct Mismatch {
  int peer = -1;
  std::size_t sent = 0;
  std::size_t expected = 0;
};

class CollectiveContext {
 public:
  CollectiveContext(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, std::uint8_t device,
                    const CollectiveOptions& options);
  /// One that shares its engine with others, which is open.
  CollectiveContext(Runtime& runtime, std::unique_ptr<detail::CollectivePort> port, std::uint8_t device,
                    const detail::CollectivePlace& place);
  ~CollectiveContext();

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  /// Returns true when a rank has failed: from then on no collective can be completed.
  [[nodiscard]] bool has_lost_a_rank() const noexcept { return runtime_.failed_peers() != 0; }
  [[nodiscard]] detail::CollectivePort& port() noexcept { return *port_; }
  [[nodiscard]] Mailbox& mailbox() noexcept { return mailbox_; }
  [[nodiscard]] Ring& ring() noexcept { return ring_; }
  [[nodiscard]] std::uint64_t next_run() noexcept {
    const std::uint64_t run = runs_.fetch_add(1, std::memory_order_relaxed);
    return own_engine_ != nullptr ? run : context_ << kContextShift | (run & kRunsOfContext);
  }

  [[nodiscard]] SendOptions send_options(Completion& completion) const noexcept {
    return {.completion = &completion, .engine = engine_, .device = device_, .may_complete_now = true};
  }
  [[nodiscard]] ReceiveOptions receive_options(Completion& completion) const noexcept {
    return {.completion = &completion, .engine = engine_};
  }

  /// Returns scratch memory of at least `bytes` bytes for a collective that is carried out at once, by
  /// number; it is kept for the next one.
  [[nodiscard]] std::byte* scratch(std::size_t number, std::size_t bytes);
  /// The graph of a long collective whose caller waits; the last one is kept for a call with the same
  /// arguments.
  [[nodiscard]] CollectiveRun& long_run(const detail::CollectiveCall& call);

  /// A CollectiveOperation has been made (1), or is destroyed (-1).
  void note_operation(int change) noexcept {
    operations_.fetch_add(static_cast<std::uint32_t>(change), std::memory_order_relaxed);
  }

  /// Throws weft::Error when the arguments of the call are wrong on this rank.
  void check(const detail::CollectiveCall& call) const;
  [[noreturn]] static void report(const detail::CollectiveCall& call, const Mismatch& mismatch);

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t size = 0;
  };

  const Runtime& runtime_;
  const int rank_;
  const int size_;
  std::unique_ptr<detail::CollectivePort> port_;
  const std::uint8_t device_;
  const std::unique_ptr<MatchingEngine> own_engine_;
  const std::uint16_t engine_;
  const std::uint64_t context_ = 0;
  Ring ring_;
  Mailbox mailbox_;  // after the ring, to which it passes messages
  std::atomic<std::uint64_t> runs_{0};
  std::vector<Block> scratch_;
  std::unique_ptr<CollectiveRun> last_long_;
  std::atomic<std::uint32_t> operations_{0};  // CollectiveOperations
  const weft::detail::RuntimeUser user_;
};

}  // namespace weft::collective
