// What a device does when the deadline of an operation passes.
//
// The operation is cancelled where it is: among the receives, in the backlog, or in progress. Where it cannot
// be cancelled, because it has ended or is about to, or because a peer may be reading its buffer, it is
// checked again some time later. All of this happens inside `working_`: its holder owns the backlog's lists
// and the operations that are continued step by step.
#include "base/clock.hpp"
#include "concurrent/thread_number.hpp"
#include "core/runtime/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::detail {

using core::PendingPost;

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
    if (is_posted_receive) static_cast<void>(receives_.end(node->receive, Outcome::timed_out));
  }
  if (are_receives) return;
  const auto is_due = [this](const Completion* completion) noexcept { return deadlines_.is_due(completion); };
  if (!backlog_.empty())
    backlog_.take_out([&](const PendingPost& post) { return is_due(core::QueuedPosts::completion_of(post)); },
                      [&](PendingPost& post) { queued_posts_.end(post, Outcome::timed_out); });
  rendezvous_.cancel(deadlines_, runtime_.failures().count() != 0, exclusive);
  vectored_accesses_.expire(deadlines_);  // with all other accesses
}

/// Handles a cancel: the deadline of a peer's operation has passed.
void DeviceState::on_cancel(std::uint64_t word, const Message& message) noexcept {
  core::Cancel cancel{};
  if (!core::Rendezvous::read_cancel(message, cancel, *this)) return;
  if (word == 1)
    matched_messages_.forget_announced(message.peer(), cancel);
  else
    rendezvous_.forget_unexpected(message.peer(), cancel);
}

}  // namespace weft::detail
