// A device: its port, its protocols, and its four operations: post, progress, wait, drain.
//
// Sources: named above the functions that they hold.
#pragma once

#include "base/fork_watch.hpp"
#include "concurrent/owned_try_lock.hpp"
#include "core/backlog/backlog.hpp"
#include "core/completion/immediate_ends.hpp"
#include "core/completion/refused_nodes.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/deadline/timed_posts.hpp"
#include "core/protocol/active_message/active_messages.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/matched/matched_messages.hpp"
#include "core/protocol/multipart/multipart.hpp"
#include "core/protocol/multipart/post.hpp"
#include "core/protocol/one_sided/one_sided.hpp"
#include "core/protocol/one_sided/vectored.hpp"
#include "core/protocol/post_context.hpp"
#include "core/protocol/rendezvous/rendezvous.hpp"
#include "network/network.hpp"

#include <weft/attributes.hpp>
#include <weft/counters.hpp>
#include <weft/detail/device_path.hpp>
#include <weft/detail/wait_condition.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/status.hpp>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <utility>

namespace weft::detail {

class RuntimeState;

class DeviceState final : private network::Sink, private core::PostRetry {
 public:
  DeviceState(RuntimeState& runtime, std::uint32_t index);
  /// Waits until living peers have what was accepted for them, and reports what is dropped: drain.cpp.
  ~DeviceState();
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;

  [[nodiscard]] DevicePath& path() noexcept { return path_; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] DeviceAttributes attributes() const noexcept;
  [[nodiscard]] RuntimeState& runtime() noexcept { return runtime_; }
  /// The counts since the device was opened. Any thread. In core/diagnosis/counters.cpp.
  [[nodiscard]] RuntimeCounters counters() noexcept;
  // The protocols, which own their operations from post to report.
  [[nodiscard]] core::ActiveMessages& active_messages() noexcept { return active_messages_; }
  [[nodiscard]] core::MultipartPosts& multipart_posts() noexcept { return multipart_posts_; }
  [[nodiscard]] core::OneSided& one_sided() noexcept { return one_sided_; }
  [[nodiscard]] core::VectoredAccesses& vectored_accesses() noexcept { return vectored_accesses_; }
  [[nodiscard]] core::TimedPosts& timed_posts() noexcept { return timed_posts_; }
  [[nodiscard]] core::Backlog& backlog() noexcept { return backlog_; }
  [[nodiscard]] const core::PostContext& posts() const noexcept { return posts_; }
  /// Returns true when this thread is inside a signal of a completion object, or inside progress: posts do
  /// not return retry then while the backlog has room.
  [[nodiscard]] static bool in_handler() noexcept { return core::SignalScope::is_inside(); }

  /// Opens one serial endpoint, or any number of shared ones; throws weft::Error otherwise.
  void open_endpoint(bool exclusive);
  void close_endpoint(bool exclusive) noexcept;

  // post_multi_slot.cpp: fast path of payloads larger than a slot and up to a packet. Returns false, without
  // effect, when it does not apply; the caller then falls back to post_send().
  template <class Locking>
  bool post_multi_slot_send(std::uint64_t peer_and_device, std::uint64_t tag, const std::byte* data,
                            std::size_t size, std::uint64_t trailer) noexcept;
  // post_vectored.cpp
  Status post_send(int peer, std::uint64_t tag, std::span<const Bytes> parts, const SendOptions& options,
                   bool exclusive);
  Status post_receive(int source, std::uint64_t tag, std::span<const MutableBytes> buffers,
                      const ReceiveOptions& options);
  // post_matched.cpp; try_post_ordered_receive: post_ordered.cpp
  template <class Locking>
  bool post_with_new_credits(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options) noexcept;
  Status post_send(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options, bool exclusive);
  Status post_send_packet(int peer, std::uint64_t tag, Packet& packet, std::size_t size,
                          const SendOptions& options, bool exclusive);
  Outcome send(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options,
               const std::source_location& where, bool exclusive);
  Outcome send(int peer, std::uint64_t tag, std::span<const Bytes> parts, const SendOptions& options,
               const std::source_location& where, bool exclusive);
  Status post_receive(int source, std::uint64_t tag, std::span<std::byte> buffer,
                      const ReceiveOptions& options);
  /// Fast path of a receive by rank and tag on an unordered engine, with a completion object and without a
  /// handle or timeout, that finds room, or its unexpected message, first in its bucket. `engine_and_source`:
  /// engine above bit 32, source below. Returns false, without effect, when it does not apply; the caller
  /// then falls back to post_receive_slow().
  template <class Locking, class... UserData>
  bool try_post_receive(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data, std::size_t size,
                        Completion* completion, UserData... user_data) noexcept;
  /// Fast path of a receive on an ordered engine that locks as `Locking` does, for a tag that is not any_tag.
  /// Returns false, without effect, when it does not apply; the caller then falls back to post_receive().
  template <class Locking, class... UserData>
  bool try_post_ordered_receive(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data,
                                std::size_t size, Completion* completion, UserData... user_data) noexcept;
  Status post_receive_slow(int source, std::uint64_t tag, std::span<std::byte> buffer,
                           const ReceiveOptions& options);
  Message receive(int source, std::uint64_t tag, std::span<std::byte> buffer, const ReceiveOptions& options,
                  const std::source_location& where, bool exclusive);
  Message receive(int source, std::uint64_t tag, std::span<const MutableBytes> buffers,
                  const ReceiveOptions& options, const std::source_location& where, bool exclusive);
  // post_ordered.cpp
  Status post_ordered_send(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options,
                           bool exclusive);
  // post_within.cpp: posts with a timeout. The functions above ignore timeouts, except those of sends and
  // active messages.
  Status post_receive_within(int source, std::uint64_t tag, std::span<std::byte> buffer,
                             const ReceiveOptions& options);
  Status post_receive_within(int source, std::uint64_t tag, std::span<const MutableBytes> buffers,
                             const ReceiveOptions& options) {
    return post_receive(source, tag, buffers, options);  // which accepts either
  }
  // post_matched.cpp: checks that persistent operations make once; the errors name `operation`.
  void check_send(int peer, const SendOptions& options, const char* operation);
  core::MatchingEngine& check_receive(int source, const ReceiveOptions& options, const char* operation);
  // probe.cpp
  bool cancel(const ReceiveHandle& handle) noexcept;
  bool probe(int source, std::uint64_t tag, const ReceiveOptions& options, ProbedMessage& found);
  /// Returns the engine and the record of the message; nullptr: there is no message.
  std::pair<core::MatchingEngine*, core::MatchRecord*> matched_probe(int source, std::uint64_t tag,
                                                                     const ReceiveOptions& options);
  Status receive_probed(core::MatchingEngine& engine, core::MatchRecord& record, std::span<std::byte> buffer,
                        const ReceiveOptions& options);
  void drop(core::MatchingEngine& engine, core::MatchRecord& record) noexcept;
  // progress.cpp
  std::size_t progress(bool exclusive) noexcept;
  /// progress() for a program that calls it in its own loop: yields where polls stay empty on a core that
  /// other threads want.
  std::size_t poll(bool exclusive) noexcept;
  // core/wait/waiting.cpp; quiesce, drained: device_state.cpp
  void wait(const WaitCondition& condition, bool exclusive) noexcept;
  void wait_for(Completion& completion, const WaitPlace& place, bool exclusive) noexcept;
  /// Progresses until `post` is accepted; see core/wait/until_accepted.hpp.
  template <class Post>
  Status until_accepted(const Post& post, const WaitPlace& place, bool exclusive);
  void quiesce() noexcept;
  /// Returns true when peers have accepted every message that was posted here. Any thread; only tries locks.
  [[nodiscard]] bool drained() noexcept;
  // core/diagnosis/pending_operations.cpp
  /// Lists operations that have not ended. Any thread. Returns false when a thread stays inside progress, so
  /// that the backlog could not be read.
  bool describe(core::PendingList& list) noexcept;
  void describe_refusals(std::vector<std::string>& notes) const { rendezvous_.describe_refusals(notes); }
  // device_objects.cpp: completion objects that are destroyed
  /// Returns true when an operation of the device may signal the object. Any thread; never waits.
  [[nodiscard]] bool may_name(const Completion& object) const noexcept;
  /// Ends the operations that name the object, or makes them signal `instead`. Any thread.
  void forget_object(const Completion& object, core::Orphans& instead) noexcept;
  /// One progress call, by any thread that may make it.
  void progress_for_end() noexcept;
  /// Marks that a thread works in the device for an object that is being destroyed; the device does not end
  /// meanwhile. begin_visit() needs the lock of Keepers, and the device must be listed by the runtime.
  void begin_visit() noexcept { visitors_.fetch_add(1, std::memory_order_relaxed); }
  void end_visit() noexcept { visitors_.fetch_sub(1, std::memory_order_release); }
  [[nodiscard]] bool is_visited() const noexcept;
  /// Returns true when nothing of a failed peer will be delivered any more.
  [[nodiscard]] bool has_buried(int peer) const noexcept {
    return buried_[peer].load(std::memory_order_acquire);
  }

 private:
  Status post_again(core::PendingPost& post, bool exclusive) noexcept override;
  // device_deadlines.cpp; end_receive: probe.cpp
  [[gnu::noinline]] void look_at_deadlines(bool exclusive) noexcept;
  void end_due(core::Deadlines::Node* first, bool exclusive) noexcept;
  void end_queued(core::PendingPost& post, Outcome outcome) noexcept;
  void update_deadlines() noexcept;
  void on_cancel(std::uint64_t word, const Message& message) noexcept;
  [[nodiscard]] bool end_receive(const ReceiveHandle& handle, Outcome outcome) noexcept;
  // post_matched.cpp; try_receive_ordered: post_ordered.cpp
  /// Returns the engine of a post; makes it when it does not exist yet. Throws weft::Error.
  core::MatchingEngine& check_engine(std::uint32_t engine, MatchingPolicy policy, const char* operation);
  void check_source(int source, MatchingPolicy policy, const char* operation) const;
  Status post_payload(int peer, std::uint64_t tag, const core::SendPayload& payload, Packet* packet,
                      const SendOptions& options, bool exclusive);
  Status keep_send(Status refused, int peer, std::uint64_t tag, const core::SendPayload& payload,
                   Packet* packet, const SendOptions& options) noexcept;
  template <class Post>
  Outcome send_patiently(int peer, const SendOptions& options, const std::source_location& where,
                         bool exclusive, const Post& post);
  template <class Buffer>
  Message receive_patiently(int source, std::uint64_t tag, const Buffer& buffer,
                            const ReceiveOptions& options, const std::source_location& where, bool exclusive);
  template <class Locking, class... UserData>
  bool try_receive_ordered(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data,
                           std::size_t size, Completion* completion, UserData... user_data) noexcept;
  template <class Locking, class... UserData>
  bool try_post_receive_slow(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data,
                             std::size_t size, Completion* completion, UserData... user_data) noexcept;
  bool try_receive_unexpected(core::MatchingEngine& engine, int source, std::uint64_t tag,
                              std::span<std::byte> buffer, const ReceiveOptions& options) noexcept;
  Status keep_receive(int peer, int source, std::uint64_t tag, std::span<std::byte> buffer,
                      const ReceiveOptions& options) noexcept;
  // post_ordered.cpp; post_matched_again: post_matched.cpp
  void remember_stream(int peer, const SendOptions& options, bool exclusive) noexcept;
  Status post_ordered_send_slow(int peer, std::uint64_t tag, const core::SendPayload& payload, Packet* packet,
                                const SendOptions& options, bool exclusive);
  Status post_ordered_receive_slow(int source, std::uint64_t tag, std::span<std::byte> buffer,
                                   const ReceiveOptions& options);
  Status post_ordered_receive(int source, std::uint64_t tag, std::span<std::byte> buffer,
                              const ReceiveOptions& options);
  core::MatchingEngine& check_ordered(std::uint32_t id, MatchingPolicy policy, const char* operation);
  core::MatchingEngine& check_ordered_receive(int source, const ReceiveOptions& options,
                                              const char* operation);
  Status post_matched_again(core::PendingPost& post, bool exclusive) noexcept;
  // device_failures.cpp
  [[gnu::noinline]] void look_for_lost(bool exclusive) noexcept;
  void end_lost_operations(bool exclusive) noexcept;
  void handle_failures(std::uint32_t failures, bool exclusive) noexcept;
  void end_what_needs_all_ranks(bool exclusive) noexcept;
  void expect_nothing_of_peers() noexcept;
  /// One attempt to receive, for any engine; ends a receive that only a failed peer could match. `again`: the
  /// post comes from the backlog.
  Status attempt_receive(core::MatchingEngine& engine, int source, std::uint64_t tag,
                         std::span<std::byte> buffer, const ReceiveOptions& options, bool again) noexcept;
  // core/wait/waiting.cpp
  void wait_long(const WaitCondition& condition, bool exclusive, bool yields_first) noexcept;
  void leave_wait(bool exclusive) noexcept;
  // progress.cpp
  std::size_t progress_once(bool exclusive) noexcept;
  [[gnu::noinline]] void give_way_when_due() noexcept;
  [[nodiscard]] bool takes_active_messages() const noexcept override;
  void take_active_message(std::uint64_t word, Message& message) noexcept override;
  void deliver_batch(network::Batch& batch) noexcept override;
  template <class Messages>
  void take_batch(Messages& messages, PayloadLender* lender) noexcept;
  bool deliver(std::uint8_t channel, std::uint64_t word, Message& message) noexcept override;
  bool deliver_slow(std::uint8_t channel, std::uint64_t word, Message& message) noexcept;
  bool deliver_control(std::uint8_t channel, std::uint64_t word, Message& message) noexcept;
  void reject(int peer, const char* what, std::uint64_t value) noexcept override;
  void access_ended(std::uint64_t token, Outcome outcome) noexcept override;
  void immediate_arrived(std::uint64_t immediate) noexcept override;
  std::size_t work(bool exclusive) noexcept;
  // drain.cpp; close_in_forked_child: device_state.cpp
  void drain() noexcept;
  void close_in_forked_child() noexcept;
  [[nodiscard]] bool is_drained() noexcept;
  [[nodiscard]] bool need_not_be_awaited(const network::Port::Unconsumed& messages) noexcept;
  /// Returns what has not ended, by peer; kAnybody where the peer is not known.
  [[nodiscard]] std::map<int, std::string> pending_by_peer() noexcept;
  [[nodiscard]] bool has_living_taker() noexcept;
  void name_losses(bool is_over) noexcept;

  RuntimeState& runtime_;
  const std::uint32_t index_;
  DevicePath path_;
  // While a trace is made, holds the real path, and path_ is empty: inlined posts find no lane and take the
  // slow path.
  const std::unique_ptr<DevicePath> hidden_path_;
  std::unique_ptr<network::Port> port_;
  core::DeviceCounts counts_;
  core::Losses losses_;
  const std::uint32_t keeper_;  // the number of this device in the process
  core::ImmediateEnds ends_;
  const std::uint64_t arrivals_before_;  // the credit ledger's count when the device was opened
  core::Context context_;
  core::Rendezvous rendezvous_;
  core::MultipartMessages vectored_messages_;
  core::OneSided one_sided_;
  core::MatchedMessages send_receive_;
  core::Backlog backlog_;
  core::VectoredAccesses vectored_accesses_;
  core::Deadlines& deadlines_;
  core::TimedPosts timed_posts_;
  const core::PostContext posts_;
  core::ActiveMessages active_messages_;
  core::MultipartPosts multipart_posts_;
  core::MultiSlotWriter multi_slot_;
  std::atomic<std::int32_t> endpoints_{0};  // -1: one serial endpoint
  std::int64_t spin_ns_;
  std::uint32_t yield_;
  bool poll_yield_;
  std::chrono::nanoseconds park_;
  const std::atomic<std::uint32_t>* failures_;  // PeerFailures::word()
  std::atomic<std::uint32_t> handled_failures_{0};
  alignas(64) concurrent::OwnedTryLock<> working_;     // guards what is not in a lane
  concurrent::OwnedTryLock<> reclaiming_;              // guards reclaiming what failed peers have left
  const std::unique_ptr<std::atomic<bool>[]> buried_;  // by rank
  std::atomic<std::uint32_t> visitors_{0};
  NodeRefusals refused_nodes_;      // refused nodes of graphs
  std::uint32_t ended_silent_ = 0;  // peers from which receives have been ended
  std::int64_t next_look_ = 0;
  const base::ForkWatch fork_watch_{
      [](void* device) noexcept { static_cast<DeviceState*>(device)->close_in_forked_child(); }, this};
};

}  // namespace weft::detail
