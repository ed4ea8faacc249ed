#include "core/protocol/timed_posts.hpp"

#include <weft/detail/message_access.hpp>

namespace weft::core {

void end_unposted(const Context& context, const Unposted& unposted, Completion& completion, void* user_data,
                  Outcome outcome) noexcept {
  Message message;
  detail::MessageAccess::set_view(message, unposted.operation, unposted.peer, unposted.tag, unposted.data,
                                  unposted.data != nullptr ? unposted.size : 0, nullptr, 0);
  detail::MessageAccess::set_device(message, context.device);
  detail::MessageAccess::set_user_data(message, user_data);
  detail::MessageAccess::set_outcome(message, outcome);
  context.ends.signal(completion, message);
}

void TimedPosts::forget(Deadlines::Node& node) noexcept {
  deadlines_.release(node);
  awaiting_.fetch_sub(1, std::memory_order_relaxed);
}

bool TimedPosts::cancel(const SendHandle& handle) noexcept {
  if (handle.device != context_.device || !deadlines_.cancel(handle)) return false;
  wake_for(Deadlines::kNow);
  return true;
}

void TimedPosts::wake_for(std::int64_t time) noexcept {
  // Pairs with the fetch_add of a thread that parks: either that thread sees the armed deadline, or this one
  // sees it parking.
  if (parking_.fetch_add(0, std::memory_order_seq_cst) != 0 && time < deadlines_.next_time())
    context_.port->wake(~std::uint32_t{0});
}

}  // namespace weft::core
