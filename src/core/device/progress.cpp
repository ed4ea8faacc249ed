// Progress: delivers what has arrived, and continues operations in progress.
#include "concurrent/thread_number.hpp"
#include "core/completion/allocator_access.hpp"
#include "core/device/device_state.hpp"
#include "core/device/waiting.hpp"
#include "core/diagnosis/tracing.hpp"
#include "core/protocol/active_message/deliver.inl.hpp"
#include "core/runtime/runtime_state.hpp"
#include "core/wait/home_processor.hpp"
#include "core/wait/poller.hpp"

#include <weft/detail/empty_polls.hpp>
#include <weft/detail/lock.hpp>

#include <sched.h>
#include <atomic>
#include <string>
#include <utility>

namespace weft::detail {

using core::Channel;

namespace {

constexpr std::size_t kMessagesPerCall = 64;  // of one lane, so that a flood does not keep a thread inside

constinit thread_local Poller poller;
/// Of a thread that polls completion objects and does not progress.
constinit thread_local Poller object_poller;
constinit thread_local std::uint32_t polls_of_progress = 0;  // poller.polls() at the last look

}  // namespace

constinit thread_local std::uint32_t empty_polls_left = kEmptyPollsPerLook;
constinit std::atomic<bool> empty_polls_yield{true};

void give_way_to_progress() noexcept {
  empty_polls_left = kEmptyPollsPerLook;
  const bool progresses = poller.polls() != std::exchange(polls_of_progress, poller.polls());
  if (progresses || core::SignalScope::is_inside() || !empty_polls_yield.load(std::memory_order_relaxed))
    return object_poller.leave_to_wait();
  if (!object_poller.count(kEmptyPollsPerLook)) return;
  const std::int64_t before = base::now_ns();
  if (!object_poller.look(before)) return;
  ::sched_yield();
  object_poller.gave_way(before, base::now_ns());
}

[[gnu::always_inline]] inline std::size_t DeviceState::progress_once(bool exclusive) noexcept {
  if (core::SignalScope::is_inside() && core::SignalScope::is_inside(ends_)) [[unlikely]]
    return 0;
  const core::SignalScope scope(ends_);
  std::size_t count = port_->poll(*this, kMessagesPerCall, exclusive);
  if (rendezvous_.has_work() || one_sided_.has_work() || matched_messages_.has_work() || !backlog_.empty())
      [[unlikely]]
    count += work(exclusive);
  if (rendezvous_.awaits_peers() || one_sided_.requests().awaits_peers() || device_failures_.any())
      [[unlikely]]
    check_deadlines_and_peers(exclusive);
  if (NodeRefusals::any() && scope.is_outermost()) [[unlikely]]
    count += refused_nodes_.retry(exclusive);
  return count;
}

std::size_t DeviceState::progress(bool exclusive) noexcept { return progress_once(exclusive); }

std::size_t DeviceState::poll(bool exclusive) noexcept {
  const std::size_t count = progress_once(exclusive);
  // Counted only after the call: a handler may have waited, and resumed in another thread.
  if (count != 0)
    poller.found();
  else if (poller.count()) [[unlikely]]
    give_way_when_due();
  return count;
}

void DeviceState::give_way_when_due() noexcept {
  // A handler shall not give up its core while its caller could use it.
  if (!poll_yield_ || core::SignalScope::is_inside()) return poller.leave_to_wait();
  const std::int64_t before = base::now_ns();
  if (!poller.look(before)) return;
  ::sched_yield();
  const std::int64_t now = base::now_ns();
  poller.gave_way(before, now);
  if (poller.share().is_shared()) core::HomeProcessor::leave_shared(now);
}

std::uint32_t spin_budget() noexcept {
  poller.leave_to_wait();
  return core_share().spin_budget();
}

void DeviceState::check_deadlines_and_peers(bool exclusive) noexcept {
  if (deadlines_.count() != 0) device_deadlines_.check(exclusive);
  device_failures_.check(exclusive);
}

std::size_t DeviceState::work(bool exclusive) noexcept {
  if (!working_.enter(concurrent::thread_number())) return 0;
  std::size_t count = ends_.kept() != 0 ? ends_.deliver() : 0;
  // The decisions of multipart receivers first: the parts continue as a large message.
  count += multipart_messages_.step();
  count += rendezvous_.step({exclusive}) + one_sided_.step({exclusive}) +
           matched_messages_.step({exclusive}) + vectored_accesses_.step({exclusive});
  const std::size_t retried = backlog_.work(queued_posts_, exclusive);
  count += retried;
  if (retried != 0 && context_.tracer != nullptr) [[unlikely]]
    core::trace_retries(*context_.tracer, index_, retried);
  working_.leave();
  return count;
}

// Asks once what the messages lie in. Only jumps, without a frame: other storages than that of a single
// active message have functions of their own.
void DeviceState::deliver(network::Batch& batch) noexcept {
  using Storage = network::Batch::Storage;
  switch (batch.storage()) {
    case Storage::slots:
      return take_batch(batch.slots(), batch.lender());
    case Storage::multi_slots:
      return take_batch(batch.multi_slots(), batch.lender());
    case Storage::reused_place:
      return take_from_place(batch);
    case Storage::message:
      break;
  }
  if (batch.channel() != kActiveMessageChannel) return take_message(batch);
  if (backlog_.over_limit()) [[unlikely]]
    return batch.leave();
  active_messages_.deliver(batch);
}

template <class Messages>
void DeviceState::take_batch(Messages& messages, PayloadLender* lender) noexcept {
  if (messages.channel() == kActiveMessageChannel)
    active_messages_.deliver_batch(messages, lender);
  else if (messages.channel() == static_cast<std::uint8_t>(Channel::send)) [[likely]]
    matched_messages_.arrivals().on_sends(messages, lender, *this, backlog_);
  else
    network::take_each(messages, lender, [this](std::uint8_t channel, std::uint64_t word, Message& message) {
      return deliver_slow(channel, word, message);
    });
}

/// Takes an active message whose place its network needs again.
void DeviceState::take_from_place(network::Batch& batch) noexcept {
  if (backlog_.over_limit()) [[unlikely]]
    return batch.leave();
  // A message for which an allocator has no room stays where it is.
  if (AllocatorAccess::any_takes_every_size()) [[unlikely]]
    return active_messages_.deliver(batch);
  active_messages_.free_place_and_deliver(batch);
}

/// Takes a single message that is not an active message.
void DeviceState::take_message(network::Batch& batch) noexcept {
  const std::uint64_t word = batch.word();
  Message& message = batch.message();
  const bool is_taken =
      batch.channel() == static_cast<std::uint8_t>(Channel::send)
          ? !backlog_.over_limit() && matched_messages_.arrivals().on_send(word, message, *this)
          : deliver_slow(batch.channel(), word, message);
  if (!is_taken) [[unlikely]]
    batch.leave();
}

bool DeviceState::deliver_slow(std::uint8_t channel, std::uint64_t word, Message& message) noexcept {
  switch (static_cast<Channel>(channel)) {
    case Channel::answer: {
      // Accepted when requests are not: the poster's handlers wait for the answer, and requests to them may,
      // too.
      if (backlog_.almost_full()) return false;
      network::Batch single(channel, word, message);
      active_messages_.deliver(single);
      return single.is_taken();
    }
    case Channel::put_signal:
    case Channel::get_signal:
    case Channel::atomic_signal:
      // Accepted when requests are not, as answers are: the operations of handlers end by these signals.
      if (backlog_.almost_full()) return false;
      return one_sided_.deliver(static_cast<Channel>(channel), word, message, *this);
    default:
      break;
  }
  const std::size_t size = message.size();  // it may be moved from
  const bool is_taken = deliver_control(channel, word, message);
  if (is_taken) counts_.received.add(channel, size, endpoints_.load(std::memory_order_relaxed) < 0);
  return is_taken;
}

/// Delivers messages between protocols.
bool DeviceState::deliver_control(std::uint8_t channel, std::uint64_t word, Message& message) noexcept {
  switch (static_cast<Channel>(channel)) {
    case Channel::rts:
      return !backlog_.over_limit() && rendezvous_.on_rts(word, message, *this);
    case Channel::multipart_rts:
      return !backlog_.over_limit() && multipart_messages_.on_rts(word, message, *this);
    case Channel::cts:
      rendezvous_.sender().on_cts(message, *this);
      return true;
    case Channel::rendezvous_data:
      rendezvous_.receiver().on_data(word, message, *this);
      return true;
    case Channel::fin:
      rendezvous_.sender().on_fin(message, *this);
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
    case Channel::send_rts:
      return !backlog_.over_limit() && matched_messages_.arrivals().on_send_rts(word, message, *this);
    case Channel::cancel:
      on_cancel(word, message);
      return true;
    case Channel::cancelled:
      rendezvous_.sender().on_cancelled(message, runtime_.failures().count() != 0, *this);
      return true;
    case Channel::refused:
      rendezvous_.sender().on_refused(message, *this);
      return true;
    case Channel::credit:
      matched_messages_.sender().credits().on_credit(word, message, *this);
      return true;
    default:
      break;
  }
  reject(message.peer(), "message on an unknown channel", channel);
  return true;
}

/// Handles a cancel: the deadline of a peer's operation has passed.
void DeviceState::on_cancel(std::uint64_t word, const Message& message) noexcept {
  core::Cancel cancel{};
  if (!core::Rendezvous::read_cancel(message, cancel, *this)) return;
  if (word == 1)
    matched_messages_.receiver().forget_announced(message.peer(), cancel);
  else
    rendezvous_.forget_unexpected(message.peer(), cancel);
}

void DeviceState::access_ended(std::uint64_t token, Outcome outcome) noexcept {
  if (core::RendezvousReceiver::is_fetch(token))
    rendezvous_.receiver().fetch_ended(token, outcome);
  else
    one_sided_.requests().access_ended(token, outcome);
}

void DeviceState::immediate_arrived(std::uint64_t immediate) noexcept {
  one_sided_.target().immediate_arrived(immediate);
}

void DeviceState::reject(int peer, const char* what, std::uint64_t value) noexcept {
  const std::uint64_t count = context_.counters.refused_messages.fetch_add(1, std::memory_order_relaxed) + 1;
  if (core::is_reported(count))
    context_.log.warn("refused what rank " + std::to_string(peer) + " sent: " + what + " (" +
                      std::to_string(value) + "), " + std::to_string(count) + " so far");
}

}  // namespace weft::detail
