// Progress: what has arrived is delivered, what is under way goes on.
#include "concurrent/thread_number.hpp"
#include "core/runtime/progress_frame.hpp"
#include "core/runtime/runtime_state.hpp"

#include <weft/completion/arrivals.hpp>
#include <weft/detail/lock.hpp>
#include <weft/detail/message_access.hpp>

#include <string>
#include <type_traits>

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
  if (large_messages_.has_work() || one_sided_.has_work() || send_receive_.has_work() || !backlog_.empty())
      [[unlikely]]
    count += work(exclusive);
  if (large_messages_.awaits_peers() || one_sided_.awaits_peers() ||
      failures_->load(std::memory_order_relaxed) != 0) [[unlikely]]
    look_for_lost(exclusive);
  return count;
}

std::size_t DeviceState::work(bool exclusive) noexcept {
  if (!working_.enter(concurrent::thread_number())) return 0;
  // What receivers have decided first: it goes on as a large message.
  std::size_t count = vectored_messages_.step();
  count += large_messages_.step(exclusive) + one_sided_.step(exclusive) + send_receive_.step(exclusive) +
           vectored_accesses_.step(exclusive);
  const std::size_t retried = backlog_.work(*this, exclusive);
  count += retried;
  if (retried != 0 && context_.tracer != nullptr) [[unlikely]]
    trace_retries(retried);
  working_.leave();
  return count;
}

[[gnu::always_inline]] inline void DeviceState::hand_over(std::uint64_t word, Message& message) noexcept {
  Completion* completion = context_.exposures.find(word);
  if (completion != nullptr) [[likely]]
    completion->signal(message);
  else
    refuse(word, message.peer());
}

bool DeviceState::deliver(std::uint8_t channel, std::uint64_t word, Message& message) noexcept {
  if (channel == kActiveMessageChannel) [[likely]] {
    if (backlog_.over_limit()) [[unlikely]]
      return false;
    hand_over(word, message);
    return true;
  }
  if (channel == static_cast<std::uint8_t>(Channel::send))
    return !backlog_.over_limit() && send_receive_.on_send(word, message, *this);
  return deliver_rare(channel, word, message);
}

bool DeviceState::takes_active_messages() const noexcept { return !backlog_.over_limit(); }

void DeviceState::take_active_message(std::uint64_t word, Message& message) noexcept {
  hand_over(word, message);
}

void DeviceState::deliver_run(SlotRun& run, PayloadLender* lender) noexcept {
  if (run.channel() == kActiveMessageChannel)
    hand_over_run(run, lender);
  else if (run.channel() == static_cast<std::uint8_t>(Channel::send)) [[likely]]
    send_receive_.on_sends(run, lender, *this, backlog_);
  else
    Sink::deliver_run(run, lender);
}

void DeviceState::deliver_run(WideRun& run, PayloadLender* lender) noexcept {
  if (run.channel() == static_cast<std::uint8_t>(Channel::send))
    send_receive_.on_sends(run, lender, *this, backlog_);
  else if (run.channel() == kActiveMessageChannel)
    hand_over_run(run, lender);
  else
    Sink::deliver_run(run, lender);
}

/// The same as deliver() of active messages, with one call for those behind each other to one object.
template <class Run>
inline void DeviceState::hand_over_run(Run& run, PayloadLender* lender) noexcept {
  std::uint64_t word = 0;
  Bytes payload;
  while (run.look(word, payload) && !backlog_.over_limit()) {
    Completion* completion = context_.exposures.find(word);
    if (completion == nullptr) [[unlikely]] {
      refuse(word, run.peer());
      run.advance();
      continue;
    }
    BasicArrivals<Run> arrivals(
        run,
        {open_handle(word), &context_.exposures.open(word), &backlog_.posts_of_handlers(), backlog_.limit()},
        lender);
    const std::uint64_t before = run.head();
    if constexpr (std::is_same_v<Run, SlotRun>)
      completion->signal_all(arrivals);
    else
      completion->signal_all_wide(arrivals);
    // Withdrawn meanwhile, or an object that leaves them: the next visit begins with a single one.
    if (run.head() == before) [[unlikely]]
      return;
  }
}

bool DeviceState::deliver_rare(std::uint8_t channel, std::uint64_t word, Message& message) noexcept {
  switch (static_cast<Channel>(channel)) {
    case Channel::answer:
      // Taken where requests are not: the poster's handlers wait for it, and so may requests to them.
      if (backlog_.almost_full()) return false;
      hand_over(word, message);
      return true;
    case Channel::put_signal:
    case Channel::get_signal:
    case Channel::atomic_signal:
      // Taken while requests are not, as answers are: the operations of handlers end by them.
      if (backlog_.almost_full()) return false;
      return one_sided_.deliver(static_cast<Channel>(channel), word, message, *this);
    default:
      break;
  }
  const std::size_t size = message.size();  // it may be moved from
  const bool is_taken = deliver_control(channel, word, message);
  if (is_taken) counts_.received.add(channel, size, false);
  return is_taken;
}

/// What protocols tell each other.
bool DeviceState::deliver_control(std::uint8_t channel, std::uint64_t word, Message& message) noexcept {
  switch (static_cast<Channel>(channel)) {
    case Channel::large_message:
      return !backlog_.over_limit() && large_messages_.on_announcement(word, message, *this);
    case Channel::vectored_message:
      return !backlog_.over_limit() && vectored_messages_.on_announcement(word, message, *this);
    case Channel::clear_to_send:
      large_messages_.on_clear_to_send(message, *this);
      return true;
    case Channel::chunk:
      large_messages_.on_chunk(word, message, *this);
      return true;
    case Channel::finished:
      large_messages_.on_finished(message, *this);
      return true;
    case Channel::put:
    case Channel::atomic:
      if (word != 0 && backlog_.almost_full()) return false;
      return one_sided_.deliver(static_cast<Channel>(channel), word, message, *this);
    case Channel::get:
    case Channel::get_data:
    case Channel::access_ended:
    case Channel::atomic_ended:
      return one_sided_.deliver(static_cast<Channel>(channel), word, message, *this);
    case Channel::large_send:
      return !backlog_.over_limit() && send_receive_.on_large_send(word, message, *this);
    case Channel::withdraw:
      on_withdraw(word, message);
      return true;
    case Channel::withdrawn:
      large_messages_.on_withdrawn(message, failures_->load(std::memory_order_relaxed) != 0, *this);
      return true;
    case Channel::credit:
      send_receive_.on_credit(word, message, *this);
      return true;
    default:
      break;
  }
  reject(message.peer(), "message on an unknown channel", channel);
  return true;
}

void DeviceState::access_ended(std::uint64_t token, Outcome outcome) noexcept {
  one_sided_.access_ended(token, outcome);
}

void DeviceState::immediate_arrived(std::uint64_t immediate) noexcept {
  one_sided_.immediate_arrived(immediate);
}

void DeviceState::refuse(std::uint64_t word, int peer) noexcept {
  const std::uint64_t count = context_.counters.refused_handles.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!core::is_reported(count)) return;
  context_.log.warn("refused a message from rank " + std::to_string(peer) + " for id " +
                    std::to_string(word >> 48) + ", generation " + std::to_string(word >> 32 & 0xffff) +
                    ": stale, withdrawn or forged (" + std::to_string(count) + " so far)");
}

void DeviceState::reject(int peer, const char* what, std::uint64_t value) noexcept {
  const std::uint64_t count = context_.counters.refused_messages.fetch_add(1, std::memory_order_relaxed) + 1;
  if (core::is_reported(count))
    context_.log.warn("refused what rank " + std::to_string(peer) + " sent: " + what + " (" +
                      std::to_string(value) + "), " + std::to_string(count) + " so far");
}

}  // namespace weft::detail
