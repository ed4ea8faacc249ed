// Progress: delivers what has arrived, and continues operations in progress; what has arrived is in
// arrivals.cpp.
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

/// Out of line, so that a poll that finds no work prepares nothing for it.
[[gnu::noinline]] std::size_t work(DeviceState& device) noexcept {
  return device.protocols().work(device.caller());
}

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

[[gnu::always_inline]] inline std::size_t DeviceState::progress_once() noexcept {
  if (core::SignalScope::is_inside() && core::SignalScope::is_inside(protocols().ends)) [[unlikely]]
    return 0;
  const core::SignalScope scope(protocols().ends);
  std::size_t count = port_->poll(arrivals_, kMessagesPerCall);
  if (protocols().has_work()) [[unlikely]]
    count += work(*this);
  if (protocols().awaits_peers() || failures_.any()) [[unlikely]]
    check_deadlines_and_peers();
  if (NodeRefusals::any() && scope.is_outermost()) [[unlikely]]
    count += protocols().refused_nodes.retry(endpoints_.is_serial());
  return count;
}

std::size_t DeviceState::progress() noexcept { return progress_once(); }

std::size_t DeviceState::poll() noexcept {
  const std::size_t count = progress_once();
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

void DeviceState::check_deadlines_and_peers() noexcept {
  if (protocols().deadlines.count() != 0) deadlines_.check(caller());
  failures_.check(caller());
}

}  // namespace weft::detail
