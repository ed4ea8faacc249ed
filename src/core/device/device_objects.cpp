// Completion objects that are destroyed while operations of a device name them.
#include "concurrent/thread_number.hpp"
#include "core/completion/object_end.hpp"
#include "core/device/device_state.hpp"
#include "core/matching/scattered_receive.hpp"

#include <sched.h>
#include <span>

namespace weft::detail {

using core::PendingPost;

bool DeviceState::may_name(const Completion& object) const noexcept {
  return NamedCompletion::is_named_by(object, keeper_) &&
         (ends_.kept() != 0 || !backlog_.empty() || one_sided_.requests().may_name(object) ||
          rendezvous_.may_name(object) || vectored_accesses_.may_name(object) ||
          multipart_messages_.may_name(object));
}

void DeviceState::forget_object(const Completion& object, core::Orphans& instead) noexcept {
  one_sided_.requests().forget_object(object, instead);
  rendezvous_.forget_object(object, instead);
  vectored_accesses_.forget_object(object, instead);
  const std::uint32_t thread = concurrent::thread_number();
  // When called from a handler inside work(), the caller up the stack continues with its lists, so nothing
  // may be removed from them.
  const bool is_inside = working_.is_inside(thread);
  while (!is_inside && !working_.enter(thread)) ::sched_yield();
  ends_.forget_object(object);
  multipart_messages_.forget_object(object, instead);
  if (!backlog_.empty()) {
    const auto is_orphaned = [&](const Completion* completion, std::span<std::byte> buffer) {
      const core::ScatteredReceive* const scattered = core::ScatteredReceive::of(buffer);
      return completion == &instead || deadlines_.passes_on(completion, instead) ||
             (scattered != nullptr && scattered->passes_on_to(instead));
    };
    backlog_.for_each([&](PendingPost& post) {
      Completion*& completion = core::completion_of(post);
      if (completion != &object) return;
      instead.adopt();
      completion = &instead;
    });
    if (!is_inside)
      backlog_.take_out(
          [&](const PendingPost& post) {
            if (post.operation != Operation::receive) return false;
            const auto& receive = std::get<core::PendingReceive>(post.other);
            return is_orphaned(receive.options.completion, receive.buffer);
          },
          [&](PendingPost& post) { queued_posts_.end(post, Outcome::cancelled); });
  }
  if (!is_inside) working_.leave();
}

void DeviceState::progress_for_end() noexcept {
  const bool exclusive = endpoints_.load(std::memory_order_relaxed) < 0;
  if (progress(exclusive) == 0) device_failures_.end_lost_operations(exclusive);
}

}  // namespace weft::detail
