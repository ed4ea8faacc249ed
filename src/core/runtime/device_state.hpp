// A device: its port, its protocols, and the four things that are done with it: post, progress, wait, drain.
//
// Sources: post.cpp, progress.cpp, waiting.cpp, device_state.cpp (opening, draining).
#pragma once

#include "concurrent/entrance.hpp"
#include "core/backlog/backlog.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/large_message.hpp"
#include "core/protocol/one_sided.hpp"
#include "core/protocol/send_receive.hpp"
#include "core/protocol/vectored_access.hpp"
#include "core/protocol/vectored_message.hpp"
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
#include <memory>
#include <source_location>
#include <span>
#include <utility>

namespace weft::detail {

class RuntimeState;
struct Unposted;

class DeviceState final : private network::Sink, private core::PostRetry {
 public:
  DeviceState(RuntimeState& runtime, std::uint32_t index);
  /// Drains for at most the attribute drain_timeout and names what it drops.
  ~DeviceState();
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;

  [[nodiscard]] DevicePath& path() noexcept { return path_; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] DeviceAttributes attributes() const noexcept;
  [[nodiscard]] RuntimeState& runtime() noexcept { return runtime_; }
  /// What it has counted since it was opened. Any thread. In counters.cpp.
  [[nodiscard]] RuntimeCounters counters() noexcept;
  [[nodiscard]] core::OneSided& one_sided() noexcept { return one_sided_; }
  [[nodiscard]] core::Backlog& backlog() noexcept { return backlog_; }
  /// Whether this thread is inside a progress call: posts do not answer retry then while the backlog has
  /// room.
  [[nodiscard]] static bool in_handler() noexcept { return frames != nullptr; }
  /// Told what every attempt of a post has come to that was not inlined: for counters, and for a trace.
  void observe(Operation operation, int peer, std::uint64_t tag, std::size_t size, Status status) noexcept {
    if (status.is_retry()) [[unlikely]]
      note_refusal(status.reason());
    if (context_.tracer != nullptr) [[unlikely]]
      trace_post(operation, peer, tag, size, status);
  }

  /// One serial endpoint, or any number of shared ones; throws weft::Error otherwise.
  void open_endpoint(bool exclusive);
  void close_endpoint(bool exclusive) noexcept;

  // post.cpp
  Status post_am(int peer, RemoteCompletion remote, Bytes bytes, const ActiveMessageOptions& options,
                 bool exclusive);
  Status post_packet(int peer, RemoteCompletion remote, Packet& packet, std::size_t size,
                     const ActiveMessageOptions& options, bool exclusive);
  Status tell_end(Operation operation, int peer, std::uint64_t tag, Bytes bytes, Completion& completion,
                  void* user_data) noexcept;
  // post_wide.cpp: what nearly always happens to payloads of more than a slot and up to a packet. False,
  // without effect: post_am() and post_send() know.
  template <class Locking>
  bool post_wide_am(int peer, RemoteCompletion remote, const std::byte* data, std::size_t size,
                    std::uint32_t tag) noexcept;
  template <class Locking>
  bool post_wide_send(std::uint64_t peer_and_device, std::uint64_t tag, const std::byte* data,
                      std::size_t size, std::uint64_t trailer) noexcept;
  Outcome send_am(int peer, RemoteCompletion remote, Bytes bytes, const ActiveMessageOptions& options,
                  const std::source_location& where, bool exclusive);
  // post_vectored.cpp
  Status post_am_with_bodies(int peer, RemoteCompletion remote, Bytes head, std::span<const Bytes> bodies,
                             const ActiveMessageOptions& options, bool exclusive);
  Status post_put(int peer, std::span<const PutPiece> pieces, const AccessOptions& options, bool exclusive);
  Status post_get(int peer, std::span<const GetPiece> pieces, const AccessOptions& options, bool exclusive);
  Status post_send(int peer, std::uint64_t tag, std::span<const Bytes> parts, const SendOptions& options,
                   bool exclusive);
  Status post_receive(int source, std::uint64_t tag, std::span<const MutableBytes> buffers,
                      const ReceiveOptions& options);
  // post_matched.cpp
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
  /// What nearly always happens to a receive by rank and tag on an unordered engine, with a completion object
  /// and without a handle or timeout: it waits first in its bucket. Engine above bit 32, source below. False,
  /// without effect: post_other_receive() knows.
  template <class Locking, class... UserData>
  bool post_first_receive(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data,
                          std::size_t size, Completion* completion, UserData... user_data) noexcept;
  /// The same on an ordered engine that locks as `Locking` does, for a tag that is not any_tag. False:
  /// post_receive() knows.
  template <class Locking, class... UserData>
  bool post_first_ordered_receive(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data,
                                  std::size_t size, Completion* completion, UserData... user_data) noexcept;
  Status post_other_receive(int source, std::uint64_t tag, std::span<std::byte> buffer,
                            const ReceiveOptions& options);
  Message receive(int source, std::uint64_t tag, std::span<std::byte> buffer, const ReceiveOptions& options,
                  const std::source_location& where, bool exclusive);
  Message receive(int source, std::uint64_t tag, std::span<const MutableBytes> buffers,
                  const ReceiveOptions& options, const std::source_location& where, bool exclusive);
  // post_ordered.cpp
  Status post_ordered_send(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options,
                           bool exclusive);
  // post_within.cpp: with a timeout; the others take none but for sends and active messages
  Status post_receive_within(int source, std::uint64_t tag, std::span<std::byte> buffer,
                             const ReceiveOptions& options);
  Status post_receive_within(int source, std::uint64_t tag, std::span<const MutableBytes> buffers,
                             const ReceiveOptions& options) {
    return post_receive(source, tag, buffers, options);  // which takes either
  }
  Status post_access_within(const core::OneSided::Access& access, bool exclusive);
  // what prepared operations check once; the errors name `operation`
  void check_target(int peer, RemoteCompletion remote, const char* operation) const;
  static void check_class(MessageClass message_class, const char* operation);
  void check_send(int peer, const SendOptions& options, const char* operation);
  core::MatchingEngine& check_receive(int source, const ReceiveOptions& options, const char* operation);
  // probe.cpp
  bool cancel(const ReceiveHandle& handle) noexcept;
  bool probe(int source, std::uint64_t tag, const ReceiveOptions& options, ProbedMessage& found);
  /// The engine and the record of the message; nullptr: there is none.
  std::pair<core::MatchingEngine*, core::MatchRecord*> take_arrived(int source, std::uint64_t tag,
                                                                    const ReceiveOptions& options);
  Status receive_arrived(core::MatchingEngine& engine, core::MatchRecord& record, std::span<std::byte> buffer,
                         const ReceiveOptions& options);
  void drop(core::MatchingEngine& engine, core::MatchRecord& record) noexcept;
  // progress.cpp
  std::size_t progress(bool exclusive) noexcept;
  // waiting.cpp
  void wait(const WaitCondition& condition, bool exclusive) noexcept;
  void wait_for(Completion& completion, const WaitPlace& place, bool exclusive) noexcept;
  /// Progresses until `post` is accepted; see until_accepted.hpp.
  template <class Post>
  Status until_accepted(const Post& post, const WaitPlace& place, bool exclusive);
  void quiesce() noexcept;
  // pending_operations.cpp
  /// Lists operations that have not ended. Any thread. False: a thread stays inside of what would have to be
  /// looked at.
  bool describe(core::PendingList& list) noexcept;
  /// Whether nothing of a failed peer will be delivered any more.
  [[nodiscard]] bool has_buried(int peer) const noexcept {
    return buried_[peer].load(std::memory_order_acquire);
  }

 private:
  struct Frame;  // one progress call of one thread
  static thread_local Frame* frames;

  // counters.cpp
  void note_refusal(Reason reason) noexcept;
  void note_first_kept(int peer, Status refused) noexcept;
  // tracing.cpp
  void trace_post(Operation operation, int peer, std::uint64_t tag, std::size_t size, Status status) noexcept;
  void trace_wait(const WaitPlace& place, std::int64_t begin_ns) noexcept;
  void trace_retries(std::size_t accepted) noexcept;
  // post.cpp
  void check_peer(int peer, const char* operation) const;
  static void check_packet(const Packet& packet, std::size_t size, const char* operation);
  Status attempt(int peer, RemoteCompletion remote, Bytes bytes, const ActiveMessageOptions& options,
                 bool from_handler, bool exclusive) noexcept;
  Status attempt_packet(int peer, RemoteCompletion remote, Packet& packet, std::size_t size,
                        const std::byte* source, const ActiveMessageOptions& options, bool from_handler,
                        bool exclusive) noexcept;
  Status accepted(network::SendResult result, int peer, const std::byte* data, std::size_t size,
                  const ActiveMessageOptions& options) noexcept;
  core::PendingPost* take_pending(int peer, MessageClass message_class, Bytes bytes, Packet* packet,
                                  bool is_borrowed, Status& refused) noexcept;
  Status keep_for_retry(Status refusal, int peer, RemoteCompletion remote, Bytes bytes, Packet* packet,
                        const ActiveMessageOptions& options) noexcept;
  Status post_again(core::PendingPost& post, bool exclusive) noexcept override;
  // post_within.cpp
  template <class Options, class Post>
  Status post_within(const char* operation, const Unposted& unposted, const Options& options,
                     const Post& post);
  void forget(core::Deadlines::Node& node) noexcept;
  // device_deadlines.cpp
  [[gnu::noinline]] void look_at_deadlines(bool exclusive) noexcept;
  void end_due(core::Deadlines::Node* first, bool exclusive) noexcept;
  void end_kept(core::PendingPost& post, Outcome outcome) noexcept;
  void update_deadlines() noexcept;
  void on_withdraw(std::uint64_t word, const Message& message) noexcept;
  [[nodiscard]] bool end_receive(const ReceiveHandle& handle, Outcome outcome) noexcept;
  // post_vectored.cpp
  Status attempt_with_bodies(const core::VectoredMessages::Outbound& outbound, bool exclusive) noexcept;
  Status keep_with_bodies(Status refused, const core::VectoredMessages::Outbound& outbound) noexcept;
  Status post_vectored_again(core::PendingPost& post, bool exclusive) noexcept;
  // post_matched.cpp
  /// The engine of a post; makes it when it is not there yet. Throws weft::Error.
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
  template <class Locking, bool kIsSend>
  bool write_wide_message(SendLane& lane, std::uint64_t word, Bytes payload, std::uint64_t trailer) noexcept;
  template <class Locking, bool kIsSend>
  bool write_packet_message(SendLane& lane, std::uint64_t word, Bytes payload,
                            std::uint64_t trailer) noexcept;
  template <class Locking, class... UserData>
  bool receive_first_ordered(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data,
                             std::size_t size, Completion* completion, UserData... user_data) noexcept;
  template <class Locking, class... UserData>
  bool post_first_otherwise(std::uint64_t engine_and_source, std::uint64_t tag, std::byte* data,
                            std::size_t size, Completion* completion, UserData... user_data) noexcept;
  bool receive_first_arrived(core::MatchingEngine& engine, int source, std::uint64_t tag,
                             std::span<std::byte> buffer, const ReceiveOptions& options) noexcept;
  Status keep_receive(int peer, int source, std::uint64_t tag, std::span<std::byte> buffer,
                      const ReceiveOptions& options) noexcept;
  // post_ordered.cpp
  void remember_stream(int peer, const SendOptions& options, bool exclusive) noexcept;
  Status post_other_ordered_send(int peer, std::uint64_t tag, const core::SendPayload& payload,
                                 Packet* packet, const SendOptions& options, bool exclusive);
  Status post_other_ordered_receive(int source, std::uint64_t tag, std::span<std::byte> buffer,
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
  /// One attempt of any engine; ends a receive that only a failed peer could match. `again`: it comes from
  /// the backlog.
  Status attempt_receive(core::MatchingEngine& engine, int source, std::uint64_t tag,
                         std::span<std::byte> buffer, const ReceiveOptions& options, bool again) noexcept;
  // waiting.cpp
  void wait_long(const WaitCondition& condition, bool exclusive, bool gives_way_first) noexcept;
  void leave_wait(bool exclusive) noexcept;
  // progress.cpp
  [[nodiscard]] bool takes_active_messages() const noexcept override;
  void take_active_message(std::uint64_t word, Message& message) noexcept override;
  void deliver_run(SlotRun& run, PayloadLender* lender) noexcept override;
  void deliver_run(WideRun& run, PayloadLender* lender) noexcept override;
  template <class Run>
  void hand_over_run(Run& run, PayloadLender* lender) noexcept;
  bool deliver(std::uint8_t channel, std::uint64_t word, Message& message) noexcept override;
  void hand_over(std::uint64_t word, Message& message) noexcept;
  bool deliver_rare(std::uint8_t channel, std::uint64_t word, Message& message) noexcept;
  bool deliver_control(std::uint8_t channel, std::uint64_t word, Message& message) noexcept;
  void refuse(std::uint64_t word, int peer) noexcept;
  void reject(int peer, const char* what, std::uint64_t value) noexcept override;
  void access_ended(std::uint64_t token, Outcome outcome) noexcept override;
  void immediate_arrived(std::uint64_t immediate) noexcept override;
  std::size_t work(bool exclusive) noexcept;
  // device_state.cpp
  void drain() noexcept;

  RuntimeState& runtime_;
  const std::uint32_t index_;
  DevicePath path_;
  // While a trace is made, what path_ is otherwise: inlined posts find no lane and take the slow way.
  const std::unique_ptr<DevicePath> hidden_path_;
  std::unique_ptr<network::Port> port_;
  core::DeviceCounts counts_;
  const std::uint64_t arrivals_before_;  // in the credit ledger
  core::Context context_;
  core::LargeMessages large_messages_;
  core::VectoredMessages vectored_messages_;
  core::OneSided one_sided_;
  core::SendReceive send_receive_;
  core::Backlog backlog_;
  core::VectoredAccesses vectored_accesses_;
  core::Deadlines& deadlines_;
  std::atomic<std::int32_t> endpoints_{0};  // -1: one that is serial
  std::int64_t spin_ns_;
  std::uint32_t yield_;
  std::chrono::nanoseconds park_;
  const std::atomic<std::uint32_t>* failures_;  // PeerFailures::word()
  std::atomic<std::uint32_t> handled_failures_{0};
  alignas(64) concurrent::Entrance<> working_;         // on what is not in a lane
  concurrent::Entrance<> burying_;                     // on what failed peers have left, and on what follows
  const std::unique_ptr<std::atomic<bool>[]> buried_;  // by rank
  std::atomic<std::uint32_t> parking_{0};              // threads that park or are about to
  std::uint32_t ended_silent_ = 0;                     // peers from which receives have been ended
  std::int64_t next_look_ = 0;
};

}  // namespace weft::detail
