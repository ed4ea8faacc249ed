#include "core/runtime/post_within.hpp"

#include <weft/detail/message_access.hpp>

namespace weft::detail {

void end_unposted(core::ImmediateEnds& ends, const Unposted& unposted, Completion& completion,
                  void* user_data, Outcome outcome, std::uint32_t device) noexcept {
  Message message;
  MessageAccess::set_view(message, unposted.operation, unposted.peer, unposted.tag, unposted.data,
                          unposted.data != nullptr ? unposted.size : 0, nullptr, 0);
  MessageAccess::set_device(message, device);
  MessageAccess::set_user_data(message, user_data);
  MessageAccess::set_outcome(message, outcome);
  ends.signal(completion, message);
}

void DeviceState::forget(core::Deadlines::Node& node) noexcept {
  deadlines_.release(node);
  rendezvous_.awaiting().fetch_sub(1, std::memory_order_relaxed);
}

Status DeviceState::post_receive_within(int source, std::uint64_t tag, std::span<std::byte> buffer,
                                        const ReceiveOptions& options) {
  return post_within("post_receive", {Operation::receive, source, tag, buffer.data(), 0}, options,
                     [&](const ReceiveOptions& within) { return post_receive(source, tag, buffer, within); });
}

Status DeviceState::post_access_within(const core::OneSided::Access& access, bool exclusive) {
  const char* const name = access.operation == Operation::put   ? "post_put"
                           : access.operation == Operation::get ? "post_get"
                                                                : "post_atomic";
  return post_within(name, {access.operation, access.peer, access.options.tag, access.data, access.size},
                     access.options, [&](const AccessOptions& within) {
                       core::OneSided::Access posted = access;
                       posted.options = within;
                       const Status status = one_sided_.post(posted, backlog_, in_handler(), exclusive);
                       observe(posted.operation, posted.peer, posted.options.tag, posted.size, status);
                       return status;
                     });
}

}  // namespace weft::detail
