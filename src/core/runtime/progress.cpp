// Progress: what has arrived is delivered, what is under way goes on.
#include "core/runtime/progress_frame.hpp"
#include "core/runtime/runtime_state.hpp"

#include <weft/detail/lock.hpp>
#include <weft/detail/message_access.hpp>

#include <string>

namespace weft::detail {

using core::Channel;

namespace {

constexpr std::size_t kMessagesPerCall = 64;  // of one lane, so that a flood does not keep a thread inside

}  // namespace

thread_local DeviceState::Frame* DeviceState::frames = nullptr;

std::size_t DeviceState::progress(bool exclusive) noexcept {
  if (frames != nullptr && Frame::inside(*this)) [[unlikely]]
    return 0;
  const Frame frame(*this);
  std::size_t count = port_->poll(*this, kMessagesPerCall, exclusive);
  if (large_messages_.has_work() || !backlog_.empty()) [[unlikely]]
    count += work(exclusive);
  return count;
}

std::size_t DeviceState::work(bool exclusive) noexcept {
  if (!TryLock::acquire(work_lock_)) return 0;
  const std::size_t count = large_messages_.step(exclusive) + backlog_.work(*this, exclusive);
  TryLock::release(work_lock_);
  return count;
}

bool DeviceState::deliver(network::Arrival& arrival) noexcept {
  if (arrival.channel == static_cast<std::uint8_t>(Channel::active_message)) [[likely]]
    return deliver_active_message(arrival);
  switch (static_cast<Channel>(arrival.channel)) {
    case Channel::large_message: return !backlog_.over_limit() && large_messages_.on_announcement(arrival, *this);
    case Channel::clear_to_send: large_messages_.on_clear_to_send(arrival, *this); return true;
    case Channel::chunk: large_messages_.on_chunk(arrival, *this); return true;
    case Channel::finished: large_messages_.on_finished(arrival, *this); return true;
    case Channel::active_message: break;
  }
  reject(arrival.peer, "message on an unknown channel", arrival.channel);
  return true;
}

inline bool DeviceState::deliver_active_message(network::Arrival& arrival) noexcept {
  if (backlog_.over_limit()) [[unlikely]]
    return false;
  Completion* completion = context_.exposures.find(arrival.word);
  if (completion == nullptr) [[unlikely]] {
    const std::uint64_t count = context_.counters.refused_handles.fetch_add(1, std::memory_order_relaxed) + 1;
    if (core::is_reported(count))
      context_.log.warn("refused a message from rank " + std::to_string(arrival.peer) + " for id " +
                        std::to_string(arrival.word >> 48) + ", generation " +
                        std::to_string(arrival.word >> 32 & 0xffff) + ": stale, withdrawn or forged (" +
                        std::to_string(count) + " so far)");
    return true;
  }
  Message message;
  MessageAccess::set_view(message, Operation::active_message, arrival.peer, static_cast<std::uint32_t>(arrival.word),
                          arrival.data, arrival.size, arrival.lender, arrival.cookie);
  completion->signal(message);
  arrival.kept = MessageAccess::was_kept(message);
  return true;
}

void DeviceState::reject(int peer, const char* what, std::uint64_t value) noexcept {
  const std::uint64_t count = context_.counters.refused_messages.fetch_add(1, std::memory_order_relaxed) + 1;
  if (core::is_reported(count))
    context_.log.warn("refused what rank " + std::to_string(peer) + " sent: " + what + " (" + std::to_string(value) +
                      "), " + std::to_string(count) + " so far");
}

}  // namespace weft::detail
