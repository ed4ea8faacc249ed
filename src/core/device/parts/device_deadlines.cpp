#include "core/device/parts/device_deadlines.hpp"

#include "base/clock.hpp"
#include "concurrent/thread_number.hpp"

namespace weft::core {

void DeviceDeadlines::check(Caller caller) noexcept {
  // Operations that may only be cancelled are never due.
  const std::int64_t next = deadlines_.next_time();
  if (!deadlines_.has_changed() && (next == Deadlines::kNever || base::now_ns() < next)) return;
  if (!working_.enter(concurrent::thread_number())) return;
  update();
  const std::int64_t now = base::now_ns();
  if (Deadlines::Node* const first = deadlines_.take_due(now); first != nullptr) {
    end_due(first, caller);
    deadlines_.put_back(first, now);
    update();
  }
  working_.leave();
}

void DeviceDeadlines::update() noexcept {
  if (const std::uint32_t freed = deadlines_.update(); freed != 0)
    operations_.rendezvous.awaiting().fetch_sub(freed, std::memory_order_relaxed);
}

void DeviceDeadlines::end_due(Deadlines::Node* first, Caller caller) noexcept {
  bool are_receives = true;
  for (Deadlines::Node* node = first; node != nullptr; node = node->next_due) {
    const bool is_posted_receive = node->receive.generation != 0;
    are_receives = are_receives && is_posted_receive;
    if (is_posted_receive) static_cast<void>(operations_.receives.end(node->receive, Outcome::timed_out));
  }
  if (are_receives) return;
  Backlog& backlog = operations_.backlog;
  if (!backlog.empty())
    backlog.take_out(
        [this](const PendingPost& post) { return deadlines_.is_due(QueuedPosts::completion_of(post)); },
        [this](PendingPost& post) { operations_.queued.end(post, Outcome::timed_out); });
  operations_.rendezvous.cancel(deadlines_, failures_.count() != 0, caller);
  operations_.accesses.expire(deadlines_);
}

}  // namespace weft::core
