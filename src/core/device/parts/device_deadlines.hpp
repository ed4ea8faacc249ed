// What a device does when the deadline of an operation passes.
//
// The operation is cancelled where it is: among the receives, in the backlog, or in progress. Where it cannot
// be cancelled, because it has ended or is about to, or because a peer may be reading its buffer, it is
// checked again some time later.
#pragma once

#include "core/deadline/deadlines.hpp"
#include "core/device/parts/queued_posts.hpp"
#include "core/device/parts/work_turn.hpp"
#include "core/peer/peer_failures.hpp"
#include "core/protocol/matched/posts/receive_posts.hpp"
#include "core/protocol/one_sided/vectored.hpp"
#include "core/protocol/rendezvous/rendezvous.hpp"

namespace weft::core {

class DeviceDeadlines {
 public:
  /// The operations that may have a deadline, by where they are.
  struct Operations {
    ReceivePosts& receives;
    QueuedPosts& queued;
    Backlog& backlog;
    Rendezvous& rendezvous;
    VectoredAccesses& accesses;  // with all other accesses
  };
  /// `working`: its holder owns the lists of the backlog, and the operations that are continued step by step.
  DeviceDeadlines(Deadlines& deadlines, const Operations& operations, const PeerFailures& failures,
                  WorkTurn& working) noexcept
      : deadlines_(deadlines), operations_(operations), failures_(failures), working_(working) {}

  /// Ends the operations whose deadline has passed, unless another thread works in the device. Called while
  /// there are operations with a deadline.
  void check(Caller caller) noexcept;

 private:
  void end_due(Deadlines::Node* first, Caller caller) noexcept;
  void update() noexcept;

  Deadlines& deadlines_;
  const Operations operations_;
  const PeerFailures& failures_;
  WorkTurn& working_;
};

}  // namespace weft::core
