// The protocols of a device, which own their operations from post to report, and what they share.
#pragma once

#include "core/backlog/backlog.hpp"
#include "core/backlog/caller.hpp"
#include "core/completion/immediate_completions.hpp"
#include "core/completion/refused_nodes.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/device/parts/queued_posts.hpp"
#include "core/device/parts/work_turn.hpp"
#include "core/protocol/active_message/active_messages.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/matched/matched_messages.hpp"
#include "core/protocol/matched/posts/receive_posts.hpp"
#include "core/protocol/matched/posts/send_posts.hpp"
#include "core/protocol/multipart/multipart.hpp"
#include "core/protocol/multipart/post.hpp"
#include "core/protocol/one_sided/one_sided.hpp"
#include "core/protocol/one_sided/vectored.hpp"
#include "core/protocol/post_context.hpp"
#include "core/protocol/rendezvous/rendezvous.hpp"
#include "core/protocol/timed_posts.hpp"
#include "core/runtime/open_device.hpp"
#include "network/network.hpp"

#include <weft/detail/device_path.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::detail {

class RuntimeState;

/// Posts are functions of the objects: device.protocols().sends.post(...).
struct DeviceProtocols {
  /// `lanes`: the real path, where `path`, as inlined posts see it, may be empty.
  DeviceProtocols(RuntimeState& runtime, std::uint32_t index, network::Port& port, DevicePath& path,
                  DevicePath& lanes);

  /// Returns true when there are operations that work() has to continue.
  [[nodiscard]] bool has_work() const noexcept {
    return rendezvous.has_work() || one_sided.has_work() || matched_messages.has_work() || !backlog.empty();
  }
  /// Continues them, unless another thread does. Returns the number of steps that made progress.
  std::size_t work(core::Caller caller) noexcept;
  /// Returns true when something that was accepted has been refused by the network since, and leaves with a
  /// later progress call only. Any thread.
  [[nodiscard]] bool has_refused_work() const noexcept {
    return rendezvous.has_work() || one_sided.has_work() || !backlog.empty() || ends.kept() != 0;
  }
  [[nodiscard]] bool awaits_peers() const noexcept {
    return rendezvous.awaits_peers() || one_sided.requests().awaits_peers();
  }
  /// See OpenDevice.
  bool describe(core::PendingList& list) noexcept;
  void cancel_queued(const QueuedReceives& which) noexcept;
  [[nodiscard]] bool may_name(const Completion& object) const noexcept;
  void forget_object(const Completion& object, core::DetachedOperations& instead) noexcept;
  void forget_object_in_backlog(const Completion& object, core::DetachedOperations& instead,
                                bool may_remove) noexcept;

  core::DeviceCounts counts;
  core::LostOperations lost_operations;
  const std::uint32_t device_number;  // the number of this device in the process
  core::ImmediateCompletions ends;
  core::Context context;
  core::Rendezvous rendezvous;
  core::MultipartMessages multipart_messages;
  core::OneSided one_sided;
  core::MatchedMessages matched_messages;
  core::Backlog backlog;
  core::VectoredAccesses vectored_accesses;
  core::Deadlines& deadlines;
  const core::PostContext posts;
  core::ActiveMessages active_messages;
  core::SendPosts sends;
  core::ReceivePosts receives;
  core::MultipartPosts multipart_posts;
  core::QueuedPosts queued_posts;
  core::TimedPosts timed_posts;
  NodeRefusals refused_nodes;          // refused nodes of graphs
  alignas(64) core::WorkTurn working;  // guards what is not in a lane
};

}  // namespace weft::detail
