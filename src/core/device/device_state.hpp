// A device: composes its port and its protocols, and drives them: progress, wait, drain. Posts are functions
// of the protocols.
#pragma once

#include "base/fork_watch.hpp"
#include "concurrent/owned_try_lock.hpp"
#include "core/backlog/backlog.hpp"
#include "core/completion/immediate_ends.hpp"
#include "core/completion/refused_nodes.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/device/device_deadlines.hpp"
#include "core/device/device_failures.hpp"
#include "core/device/queued_posts.hpp"
#include "core/diagnosis/waits.hpp"
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

class DeviceState final : public OpenDevice, private network::Sink {
  class Drain;  // what drain() does

 public:
  DeviceState(RuntimeState& runtime, std::uint32_t index);
  /// Waits until living peers have what was accepted for them, and reports what is dropped.
  ~DeviceState() override;
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;

  [[nodiscard]] DevicePath& path() noexcept { return path_; }
  [[nodiscard]] DeviceAttributes attributes() const noexcept;
  [[nodiscard]] RuntimeState& runtime() noexcept { return runtime_; }
  // The protocols, which own their operations from post to report.
  [[nodiscard]] core::ActiveMessages& active_messages() noexcept { return active_messages_; }
  [[nodiscard]] core::SendPosts& sends() noexcept { return sends_; }
  [[nodiscard]] core::ReceivePosts& receives() noexcept { return receives_; }
  [[nodiscard]] core::MatchedMessages& matched_messages() noexcept { return matched_messages_; }
  [[nodiscard]] core::MultipartPosts& multipart_posts() noexcept { return multipart_posts_; }
  [[nodiscard]] core::OneSided& one_sided() noexcept { return one_sided_; }
  [[nodiscard]] core::VectoredAccesses& vectored_accesses() noexcept { return vectored_accesses_; }
  [[nodiscard]] const core::Context& context() const noexcept { return context_; }
  [[nodiscard]] const core::PostContext& posts() const noexcept { return posts_; }

  /// Ends the program, with one line, when there is a user(). device_users.cpp
  void refuse_users() const;
  /// "Device (device 3 of rank 0)", for lines that name an object of the device.
  [[nodiscard]] std::string name(const char* object) const;
  /// A MatchedMessage of the device has been made (1), or has ended (-1).
  void note_probed(int change) noexcept {
    probed_.fetch_add(static_cast<std::uint32_t>(change), std::memory_order_relaxed);
  }

  /// The thread that is inside the device's SerialEndpoint, for programs compiled with assertions.
  struct SerialUser {
    std::atomic<std::uintptr_t> thread{0};
    std::atomic<const char*> call{nullptr};
  };
  [[nodiscard]] SerialUser& serial_user() noexcept { return serial_user_; }

  /// Opens one serial endpoint, or any number of shared ones; throws weft::Error otherwise.
  void open_endpoint(bool exclusive);
  void close_endpoint(bool exclusive) noexcept;

  std::size_t progress(bool exclusive) noexcept;
  /// progress() for a program that calls it in its own loop: yields where polls stay empty on a core that
  /// other threads want.
  std::size_t poll(bool exclusive) noexcept;
  /// Returns true when the condition has held: its evaluation that ended the wait was the last one.
  bool wait(const WaitCondition& condition, bool exclusive) noexcept;
  void wait_for(Completion& completion, const WaitPlace& place, bool exclusive) noexcept;
  /// Progresses until `post` is accepted; see core/device/until_accepted.hpp. `remote_id`: the id of the
  /// peer's object that it is for, if there is one.
  template <class Post>
  Status until_accepted(const Post& post, const WaitPlace& place, bool exclusive,
                        std::int32_t remote_id = core::WaitingThread::kNoId);
  /// Returns true when peers have accepted every message that was posted here. Any thread; only tries locks.
  [[nodiscard]] bool drained() noexcept;
  /// Returns true when something that was accepted has been refused by the network since, and leaves with a
  /// later progress call only. Any thread.
  [[nodiscard]] bool has_refused_work() const noexcept {
    return rendezvous_.has_work() || one_sided_.has_work() || !backlog_.empty() || ends_.kept() != 0;
  }
  // What the runtime asks: see OpenDevice.
  [[nodiscard]] RuntimeCounters counters() noexcept override;
  bool take_unready(std::int32_t& peer, std::int32_t& id) noexcept override {
    return counts_.unready.take(peer, id);
  }
  [[nodiscard]] std::string user() const override;
  bool carry() noexcept override;
  void quiesce() noexcept override;
  bool describe(core::PendingList& list) noexcept override;
  void describe_refusals(std::vector<std::string>& notes) const override;
  [[nodiscard]] std::size_t refused_posts() const noexcept override { return backlog_.size(); }
  [[nodiscard]] bool has_buried(int peer) const noexcept override {
    return device_failures_.has_buried(peer);
  }
  void drop_unreceived(core::MatchingEngine& engine, core::MatchRecord& record) noexcept override {
    matched_messages_.receiver().drop_probed(engine, record);
  }
  [[nodiscard]] bool may_name(const Completion& object) const noexcept override;
  void forget_object(const Completion& object, core::Orphans& instead) noexcept override;
  void progress_for_end() noexcept override;

 private:
  bool wait_long(const WaitCondition& condition, bool exclusive, bool yields_first) noexcept;
  void leave_wait(bool exclusive) noexcept;
  void on_cancel(std::uint64_t word, const Message& message) noexcept;
  [[gnu::noinline]] void check_deadlines_and_peers(bool exclusive) noexcept;
  std::size_t progress_once(bool exclusive) noexcept;
  [[gnu::noinline]] void give_way_when_due() noexcept;
  void deliver(network::Batch& batch) noexcept override;
  template <class Messages>
  [[gnu::noinline]] void take_batch(Messages& messages, PayloadLender* lender) noexcept;
  [[gnu::noinline]] void take_from_place(network::Batch& batch) noexcept;
  [[gnu::noinline]] void take_message(network::Batch& batch) noexcept;
  [[gnu::noinline]] bool deliver_slow(std::uint8_t channel, std::uint64_t word, Message& message) noexcept;
  bool deliver_control(std::uint8_t channel, std::uint64_t word, Message& message) noexcept;
  void reject(int peer, const char* what, std::uint64_t value) noexcept override;
  void access_ended(std::uint64_t token, Outcome outcome) noexcept override;
  void immediate_arrived(std::uint64_t immediate) noexcept override;
  std::size_t work(bool exclusive) noexcept;
  void drain() noexcept;
  void close_in_forked_child() noexcept;

  RuntimeState& runtime_;
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
  core::MultipartMessages multipart_messages_;
  core::OneSided one_sided_;
  core::MatchedMessages matched_messages_;
  core::Backlog backlog_;
  core::VectoredAccesses vectored_accesses_;
  core::Deadlines& deadlines_;
  const core::PostContext posts_;
  core::ActiveMessages active_messages_;
  core::SendPosts sends_;
  core::ReceivePosts receives_;
  core::MultipartPosts multipart_posts_;
  core::QueuedPosts queued_posts_;
  std::atomic<std::int32_t> endpoints_{0};  // -1: one serial endpoint
  std::atomic<std::uint32_t> probed_{0};    // MatchedMessages
  SerialUser serial_user_;
  std::int64_t spin_ns_;
  std::uint32_t yield_;
  bool poll_yield_;
  std::chrono::nanoseconds park_;
  alignas(64) concurrent::OwnedTryLock<> working_;  // guards what is not in a lane
  core::TimedPosts timed_posts_;
  core::DeviceDeadlines device_deadlines_;
  core::DeviceFailures device_failures_;
  NodeRefusals refused_nodes_;  // refused nodes of graphs
  const base::ForkWatch fork_watch_{
      [](void* device) noexcept { static_cast<DeviceState*>(device)->close_in_forked_child(); }, this};
};

}  // namespace weft::detail
