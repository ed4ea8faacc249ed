// What a device does when the deadline of an operation passes.
//
// The operation is cancelled where it is: among the receives, in the backlog, or in progress. Where it cannot
// be cancelled, because it has ended or is about to, or because a peer may be reading its buffer, it is
// checked again some time later. All of this happens inside `working_`: its holder owns the backlog's lists
// and the operations that are continued step by step.
#include "base/clock.hpp"
#include "concurrent/thread_number.hpp"
#include "core/deadline/timed_posts.hpp"
#include "core/runtime/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::detail {

using core::PendingPost;

namespace {

/// What a queued post signals when it ends.
struct QueuedPost {
  core::Unposted unposted;
  Completion* completion;
  void* user_data;
};

QueuedPost queued_post(const PendingPost& post) noexcept {
  QueuedPost kept{
      {post.operation, post.peer, 0, post.packet ? nullptr : post.data, post.size}, nullptr, nullptr};
  const auto take = [&](const auto& options, std::uint64_t tag) {
    kept.unposted.tag = tag;
    kept.completion = options.completion;
    kept.user_data = options.user_data;
  };
  switch (post.operation) {
    case Operation::send: {
      const auto& send = std::get<core::PendingSend>(post.other);
      take(send.options, send.tag);
      break;
    }
    case Operation::receive: {
      const auto& receive = std::get<core::PendingReceive>(post.other);
      take(receive.options, receive.tag);
      kept.unposted.peer = receive.source;
      kept.unposted.data = receive.buffer.data();
      kept.unposted.size = 0;
      break;
    }
    case Operation::put:
    case Operation::get:
    case Operation::atomic: {
      const AccessOptions& options = std::get<core::PendingAccess>(post.other).options;
      take(options, options.tag);
      break;
    }
    default:
      take(post.options, post.options.tag);
      break;
  }
  return kept;
}

}  // namespace

void DeviceState::look_at_deadlines(bool exclusive) noexcept {
  const std::int64_t now = base::now_ns();
  if (!deadlines_.has_changed() && now < deadlines_.next_time()) return;
  if (!working_.enter(concurrent::thread_number())) return;
  update_deadlines();
  if (core::Deadlines::Node* const first = deadlines_.take_due(now); first != nullptr) {
    end_due(first, exclusive);
    deadlines_.put_back(first, now);
    update_deadlines();
  }
  working_.leave();
}

void DeviceState::update_deadlines() noexcept {
  if (const std::uint32_t freed = deadlines_.update(); freed != 0)
    rendezvous_.awaiting().fetch_sub(freed, std::memory_order_relaxed);
}

void DeviceState::end_due(core::Deadlines::Node* first, bool exclusive) noexcept {
  bool are_receives = true;
  for (core::Deadlines::Node* node = first; node != nullptr; node = node->next_due) {
    const bool is_posted_receive = node->receive.generation != 0;
    are_receives = are_receives && is_posted_receive;
    if (is_posted_receive) static_cast<void>(end_receive(node->receive, Outcome::timed_out));
  }
  if (are_receives) return;
  const auto is_due = [this](const Completion* completion) noexcept { return deadlines_.is_due(completion); };
  if (!backlog_.empty())
    backlog_.take_out([&](const PendingPost& post) { return is_due(queued_post(post).completion); },
                      [&](PendingPost& post) { end_queued(post, Outcome::timed_out); });
  rendezvous_.cancel(deadlines_, runtime_.failures().count() != 0, exclusive);
  vectored_accesses_.expire(deadlines_);  // with all other accesses
}

/// Handles a cancel: the deadline of a peer's operation has passed.
void DeviceState::on_cancel(std::uint64_t word, const Message& message) noexcept {
  core::Cancel cancel{};
  if (!core::Rendezvous::read_cancel(message, cancel, *this)) return;
  if (word == 1)
    send_receive_.forget_announced(message.peer(), cancel);
  else
    rendezvous_.forget_unexpected(message.peer(), cancel);
}

/// Ends a post that was taken out of the backlog.
void DeviceState::end_queued(PendingPost& post, Outcome outcome) noexcept {
  const QueuedPost kept = queued_post(post);
  if (post.in_order) {
    if (const auto* send = std::get_if<core::PendingSend>(&post.other))
      runtime_.matching_engines()
          .find(send->options.engine)
          ->order()
          ->sends(post.peer, static_cast<std::uint8_t>(index_))
          .kept.fetch_sub(1, std::memory_order_relaxed);
    else if (const auto* receive = std::get_if<core::PendingReceive>(&post.other))
      runtime_.matching_engines()
          .find(receive->options.engine)
          ->order()
          ->queued_receives()
          .fetch_sub(1, std::memory_order_relaxed);
  }
  if (const auto* access = std::get_if<core::PendingAccess>(&post.other);
      access != nullptr && (post.operation == Operation::put || post.operation == Operation::get ||
                            post.operation == Operation::atomic))
    one_sided_.flushes().leave(post.peer, access->flush_epoch);
  post.other = std::monostate();
  core::end_unposted(context_, kept.unposted, *kept.completion, kept.user_data, outcome);
}

}  // namespace weft::detail
