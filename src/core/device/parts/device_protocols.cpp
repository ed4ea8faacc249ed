#include "core/device/parts/device_protocols.hpp"

#include "concurrent/thread_number.hpp"
#include "core/completion/object_end.hpp"
#include "core/diagnosis/tracing.hpp"
#include "core/diagnosis/try_for_a_while.hpp"
#include "core/matching/scattered_receive.hpp"
#include "core/runtime/runtime_state.hpp"

#include <algorithm>
#include <atomic>
#include <span>

namespace weft::detail {

using base::Attribute;
using core::PendingPost;

namespace {

/// The next number for a device; numbers are unique in the process, over all runtimes.
std::atomic<std::uint32_t> next_device_number{1};

core::Context make_context(RuntimeState& runtime, network::Port& port, core::DeviceCounts& counts,
                           core::ImmediateCompletions& ends, core::LostOperations& lost_operations,
                           std::uint32_t index, std::uint32_t device_number) {
  const base::Attributes& attributes = runtime.attributes();
  return {
      {&port, &counts},
      runtime.pool(),
      runtime.exposures(),
      runtime.counters(),
      runtime.log(),
      {port.capabilities().inline_bytes, runtime.pool().payload()},
      static_cast<core::Transfer>(attributes.integer(Attribute::rendezvous)),
      static_cast<std::uint32_t>(attributes.integer(Attribute::requests)),
      index,
      runtime.regions(),
      static_cast<core::AccessPath>(attributes.integer(Attribute::one_sided)),
      runtime.rank(),
      runtime.size(),
      ends,
      runtime.payload_device_index() == index ? nullptr : runtime.payload_device(),
      &counts,
      runtime.tracer(),
      &lost_operations,
      static_cast<std::size_t>(attributes.integer(Attribute::rendezvous_bytes)),
      device_number,
      port.capabilities().stages,
      port.capabilities().lane_bytes != 0,
      {std::max(port.capabilities().inline_bytes, port.capabilities().lane_bytes), runtime.pool().payload()},
      &runtime.matching_engines()};
}

}  // namespace

DeviceProtocols::DeviceProtocols(RuntimeState& runtime, std::uint32_t index, network::Port& port,
                                 DevicePath& path, DevicePath& lanes)
    : device_number(next_device_number.fetch_add(1, std::memory_order_relaxed)),
      ends(port, device_number),
      context(make_context(runtime, port, counts, ends, lost_operations, index, device_number)),
      rendezvous(context),
      multipart_messages(context, rendezvous),
      one_sided(context),
      matched_messages(context, lanes, runtime.matching_engines(), runtime.accounts().credit_ledgers(index),
                       runtime.accounts().send_credits(index), rendezvous),
      backlog(runtime.size(), static_cast<std::uint32_t>(runtime.attributes().integer(Attribute::backlog)),
              static_cast<std::uint32_t>(runtime.attributes().integer(Attribute::backlog_peer)),
              runtime.attributes().boolean(Attribute::backlog_grows), device_number),
      vectored_accesses(context, one_sided, backlog, rendezvous.working()),
      deadlines(runtime.accounts().deadlines(index)),
      posts{context, path, backlog, timed_posts, refused_nodes},
      active_messages(posts, rendezvous),
      sends(posts, runtime.matching_engines(), matched_messages.sender()),
      receives(posts, runtime.matching_engines(), runtime.failures(), matched_messages.receiver()),
      multipart_posts(posts, multipart_messages, active_messages),
      queued_posts(context, active_messages, sends, receives, multipart_posts, one_sided),
      timed_posts(context, deadlines, rendezvous.awaiting()) {
  ends.set_working(rendezvous.working());
  // Receives of an earlier device with this index may still have a deadline.
  rendezvous.awaiting().fetch_add(deadlines.count(), std::memory_order_relaxed);
}

std::size_t DeviceProtocols::work(core::Caller caller) noexcept {
  if (!working.enter(concurrent::thread_number())) return 0;
  std::size_t count = ends.kept() != 0 ? ends.deliver() : 0;
  // The decisions of multipart receivers first: the parts continue as a large message.
  count += multipart_messages.step();
  count += rendezvous.step(caller) + one_sided.step(caller) + matched_messages.step(caller) +
           vectored_accesses.step(caller);
  const std::size_t retried = backlog.work(queued_posts, caller);
  count += retried;
  if (retried != 0 && context.tracer != nullptr) [[unlikely]]
    core::trace_retries(*context.tracer, context.device, retried);
  working.leave();
  return count;
}

bool DeviceProtocols::describe(core::PendingList& list) noexcept {
  rendezvous.describe(list);
  one_sided.requests().describe(list);
  if (backlog.empty()) return true;
  const std::uint32_t thread = concurrent::thread_number();
  if (!core::try_for_a_while([&] { return working.enter(thread); })) return false;
  backlog.describe(list, &core::ScatteredReceive::show);
  working.leave();
  return true;
}

bool DeviceProtocols::may_name(const Completion& object) const noexcept {
  return NamedCompletion::is_named_by(object, device_number) &&
         (ends.kept() != 0 || !backlog.empty() || one_sided.requests().may_name(object) ||
          rendezvous.may_name(object) || vectored_accesses.may_name(object) ||
          multipart_messages.may_name(object));
}

void DeviceProtocols::cancel_queued(const QueuedReceives& which) noexcept {
  if (backlog.empty()) return;
  const auto is_meant = [&](const PendingPost& post) {
    if (post.operation != Operation::receive) return false;
    const auto* receive = std::get_if<core::PendingReceive>(&post.other);
    return receive != nullptr && which.has(receive->options.engine, receive->tag);
  };
  working.call_inside([&](bool may_remove) {
    if (may_remove) {
      backlog.take_out(is_meant, [&](PendingPost& post) { queued_posts.end(post, Outcome::cancelled); });
      return;
    }
    backlog.for_each([&](PendingPost& post) {
      if (is_meant(post)) std::get<core::PendingReceive>(post.other).is_cancelled = true;
    });
  });
}

void DeviceProtocols::forget_object(const Completion& object, core::DetachedOperations& instead) noexcept {
  one_sided.requests().forget_object(object, instead);
  rendezvous.forget_object(object, instead);
  vectored_accesses.forget_object(object, instead);
  working.call_inside([&](bool may_remove) {
    ends.forget_object(object);
    multipart_messages.forget_object(object, instead);
    if (!backlog.empty()) forget_object_in_backlog(object, instead, may_remove);
  });
}

/// Inside of `working`.
void DeviceProtocols::forget_object_in_backlog(const Completion& object, core::DetachedOperations& instead,
                                               bool may_remove) noexcept {
  backlog.for_each([&](PendingPost& post) {
    Completion*& completion = core::completion_of(post);
    if (completion != &object) return;
    instead.add();
    completion = &instead;
  });
  if (!may_remove) return;
  const auto is_detached = [&](const Completion* completion, std::span<std::byte> buffer) {
    const core::ScatteredReceive* const scattered = core::ScatteredReceive::of(buffer);
    return completion == &instead || deadlines.passes_on(completion, instead) ||
           (scattered != nullptr && scattered->passes_on_to(instead));
  };
  backlog.take_out(
      [&](const PendingPost& post) {
        if (post.operation != Operation::receive) return false;
        const auto& receive = std::get<core::PendingReceive>(post.other);
        return is_detached(receive.options.completion, receive.buffer);
      },
      [&](PendingPost& post) { queued_posts.end(post, Outcome::cancelled); });
}

}  // namespace weft::detail
