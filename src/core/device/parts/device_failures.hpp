// What a device does when a peer has left, by failure or in order.
//
// 1. The port stops sending to the peer and delivers what had arrived from it (Port::reclaim).
// 2. Large messages and one-sided accesses in progress end once that is done, as do posts in the backlog with
//    their next retry.
// 3. When no open device can still deliver anything from the peer, receives end: those that only the peer can
//    match; those of any source when no other peer is left; and after a failure whatever waits in engines for
//    which all ranks are needed. A rank that has left in order may have done its part in operations that the
//    other ranks have not ended.
//
// A receive that is posted meanwhile by a thread that has not noticed yet is found by one of the checks that
// are repeated from time to time.
#pragma once

#include "concurrent/owned_try_lock.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/device/parts/queued_posts.hpp"
#include "core/device/parts/work_turn.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/one_sided/one_sided.hpp"
#include "core/protocol/rendezvous/rendezvous.hpp"
#include "network/network.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace weft::detail {
class RuntimeState;
}

namespace weft::core {

class DeviceFailures {
 public:
  /// The operations of the device that peers take part in.
  struct Operations {
    Rendezvous& rendezvous;
    OneSided& one_sided;
    Backlog& backlog;
    QueuedPosts& queued;
    Deadlines& deadlines;
  };
  /// `port`: the device's, which may be replaced. `working`: its holder owns the lists of the backlog, and
  /// the operations that are continued step by step.
  DeviceFailures(detail::RuntimeState& runtime, const Context& context,
                 const std::unique_ptr<network::Port>& port, const Operations& operations, WorkTurn& working);

  /// Returns true when a rank has left.
  [[nodiscard]] bool any() const noexcept { return word_->load(std::memory_order_relaxed) != 0; }
  /// Handles peers that have left, from time to time. Called by progress while there are any, or operations
  /// that await peers.
  void check(Caller caller) noexcept;
  /// Handles peers that have left now. Also outside of progress.
  void complete_lost_operations(Caller caller) noexcept;
  /// Returns true when nothing of a failed peer will be delivered any more.
  [[nodiscard]] bool has_buried(int peer) const noexcept {
    return buried_[peer].load(std::memory_order_acquire);
  }

 private:
  void handle(std::uint32_t failures, Caller caller) noexcept;
  [[nodiscard]] bool reclaim() noexcept;
  void end_what_needs_all_ranks(Caller caller) noexcept;
  void expect_nothing_of_peers() noexcept;

  detail::RuntimeState& runtime_;
  const Context& context_;
  const std::unique_ptr<network::Port>& port_;
  const Operations operations_;
  WorkTurn& working_;
  const std::atomic<std::uint32_t>* word_;  // PeerFailures::word()
  std::atomic<std::uint32_t> handled_{0};   // its value when all of that was handled
  concurrent::OwnedTryLock<> reclaiming_;   // guards reclaiming what failed peers have left, and the last two
  const std::unique_ptr<std::atomic<bool>[]> buried_;  // by rank
  std::uint32_t ended_silent_ = 0;                     // peers from which receives have been ended
  std::int64_t next_look_ = 0;
};

}  // namespace weft::core
