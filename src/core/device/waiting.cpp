#include "core/device/waiting.hpp"

#include "base/clock.hpp"
#include "concurrent/thread_number.hpp"
#include "core/device/device_state.hpp"
#include "core/diagnosis/tracing.hpp"
#include "core/runtime/runtime_state.hpp"
#include "core/wait/spin.hpp"

#include <weft/completion/completion.hpp>

#include <sched.h>
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace weft::detail {

using base::Attribute;

namespace {

constexpr auto kSleepWithWork = std::chrono::microseconds(100);  // operations wait for room at a peer

/// The lowest bit of the pointer to the first parked thread is the lock of the list. Only threads that park,
/// leave, or wake others lock it.
constexpr std::uintptr_t kLocked = 1;

ParkedThread* lock_list(std::atomic<ParkedThread*>& list) noexcept {
  for (;;) {
    ParkedThread* head = list.load(std::memory_order_relaxed);
    auto* locked = reinterpret_cast<ParkedThread*>(reinterpret_cast<std::uintptr_t>(head) | kLocked);
    if (head != locked && list.compare_exchange_weak(head, locked, std::memory_order_acquire)) return head;
    ::sched_yield();
  }
}

void unlock_list(std::atomic<ParkedThread*>& list, ParkedThread* head) noexcept {
  list.store(head, std::memory_order_release);
}

/// Adds a thread to the list of an object (which may be null) for as long as the entry lives.
class ParkedEntry {
 public:
  ParkedEntry(const void* object, network::Port& port, std::uint32_t bits) noexcept
      : list_(parked_list(object)), thread_{object, &port, bits, nullptr} {
    thread_.next = lock_list(list_);
    unlock_list(list_, &thread_);
  }
  ~ParkedEntry() {
    ParkedThread* head = lock_list(list_);
    for (ParkedThread** link = &head; *link != nullptr; link = &(*link)->next)
      if (*link == &thread_) {
        *link = thread_.next;
        break;
      }
    unlock_list(list_, head);
  }
  ParkedEntry(const ParkedEntry&) = delete;
  ParkedEntry& operator=(const ParkedEntry&) = delete;

 private:
  std::atomic<ParkedThread*>& list_;
  ParkedThread thread_;
};

/// Counts a parking thread for as long as this object lives.
class Parking {
 public:
  explicit Parking(std::atomic<std::uint32_t>& count) noexcept : count_(count) {
    // Pairs with the fetch_add in TimedPosts: one of the two sees what the other did before.
    count_.fetch_add(1, std::memory_order_seq_cst);
  }
  ~Parking() { count_.fetch_sub(1, std::memory_order_relaxed); }
  Parking(const Parking&) = delete;
  Parking& operator=(const Parking&) = delete;

 private:
  std::atomic<std::uint32_t>& count_;
};

std::chrono::nanoseconds to_nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

}  // namespace

std::atomic<ParkedThread*> parked_threads[kParkedLists];

void wake_parked(const void* object) noexcept {
  std::atomic<ParkedThread*>& list = parked_list(object);
  ParkedThread* head = lock_list(list);
  for (const ParkedThread* thread = head; thread != nullptr; thread = thread->next)
    if (thread->object == object) thread->port->wake(thread->bits);
  unlock_list(list, head);
}

void UnwokenPauses::pause(Spin& spin) noexcept {
  if (yields_ < kYields) {
    if (spin.counts()) ++yields_;
    since_ = 0;
    return spin.give_way();
  }
  const std::int64_t now = base::now_ns();
  if (since_ == 0) since_ = now;
  std::this_thread::sleep_for(unwoken_sleep(now - since_));
  spin.restart();
}

CoreShare& core_share() noexcept {
  thread_local CoreShare share;
  return share;
}

DeviceWaits::DeviceWaits(DeviceState& device, RuntimeState& runtime, DeviceProtocols& protocols,
                         core::DeviceFailures& failures, const std::unique_ptr<network::Port>& port)
    : device_(device),
      runtime_(runtime),
      protocols_(protocols),
      failures_(failures),
      port_(port),
      spin_ns_(runtime.attributes().integer(Attribute::spin) * 1000),
      yield_(static_cast<std::uint32_t>(runtime.attributes().integer(Attribute::yield))),
      park_(to_nanoseconds(runtime.attributes().seconds(Attribute::park_timeout))) {}

bool DeviceWaits::wait(const WaitCondition& condition) noexcept {
  CoreShare& share = core_share();
  const bool is_turn_over = share.is_turn_over();
  if (is_turn_over || share.is_shared() || spin_ns_ == 0 || condition.until != core::Deadlines::kNever ||
      protocols_.context.tracer != nullptr) [[unlikely]]
    return wait_long(condition, is_turn_over);
  // Events that are due soon, as most are, shall not wait for the preparations of a longer wait.
  for (std::uint32_t polls = CoreShare::kSpinBudget; polls != 0; --polls) {
    if (device_.progress() != 0) polls = CoreShare::kSpinBudget;
    if (condition.holds(condition.context)) {
      leave_wait();
      return true;
    }
  }
  return wait_long(condition, false);
}

[[gnu::noinline]] bool DeviceWaits::wait_long(const WaitCondition& condition, bool yields_first) noexcept {
  core::WaitScope explained(runtime_.waits(), condition.description, condition.completion,
                            static_cast<std::int32_t>(protocols_.context.device));
  const std::int64_t traced_since = protocols_.context.tracer != nullptr ? base::now_ns() : 0;
  Spin spin(spin_ns_, core_share());
  std::uint32_t yields = 0;
  std::int64_t until = condition.until;
  bool has_slept = false;
  if (yields_first) spin.give_way();
  // The condition may take what it finds, a message out of a queue: it is never evaluated again once it has
  // held.
  bool holds = false;
  while (!holds && !(holds = condition.holds(condition.context))) {
    if (until != core::Deadlines::kNever && base::now_ns() >= until) break;
    if (device_.progress() != 0) {
      spin.restart();
      yields = 0;
      continue;
    }
    if (yields < yield_) {
      if (spin.goes_on()) continue;
      if (spin.counts()) ++yields;
      spin.give_way();
    } else {
      if (condition.patience_ns != 0 && !std::exchange(has_slept, true))
        until = std::min(until, base::now_ns() + condition.patience_ns);
      explained.enter(core::SignalScope::is_inside(protocols_.ends));
      const std::uint32_t bits = 1U << (concurrent::thread_number() % 32);
      const std::uint32_t token = port_->park_token();
      // From here on a thread that posts an operation with an earlier deadline wakes this thread.
      const Parking parking(protocols_.timed_posts.parking());
      const ParkedEntry entry(condition.completion, *port_, bits);
      // prepare_park() runs a barrier in all threads: a thread that signals the object or fills a lane from
      // here on sees this thread, and what it did before is seen below.
      if (!port_->prepare_park()) {
        yields = 0;
        continue;
      }
      const bool working = protocols_.has_work() || NodeRefusals::any();
      failures_.complete_lost_operations(device_.caller());
      holds = condition.holds(condition.context);
      if (holds) continue;
      std::chrono::nanoseconds limit = working ? std::chrono::nanoseconds(kSleepWithWork) : park_;
      if (const std::int64_t next = std::min(until, protocols_.deadlines.next_time());
          next != core::Deadlines::kNever || protocols_.deadlines.has_changed()) {
        const std::int64_t left = protocols_.deadlines.has_changed() ? 0 : next - base::now_ns();
        if (left <= 0) continue;
        limit = std::min(limit, std::chrono::nanoseconds(left));
      }
      const std::int64_t asleep = base::now_ns();
      if (!port_->park(token, bits, limit)) protocols_.counts.parks_timed_out.add();
      protocols_.counts.parks.add();
      protocols_.counts.parked_ns.add(static_cast<std::uint64_t>(base::now_ns() - asleep));
    }
  }
  if (holds) spin.end();
  if (protocols_.context.tracer != nullptr) [[unlikely]]
    core::trace_wait(*protocols_.context.tracer, protocols_.context.device, condition.description,
                     traced_since);
  leave_wait();
  return holds;
}

void DeviceWaits::leave_wait() noexcept {
  // No thread polls the lanes that this thread has made hot any more: their arrivals must ring for threads
  // that are still parked.
  if (port_->has_parked() && !port_->prepare_park()) port_->wake(~std::uint32_t{0});
}

void DeviceWaits::wait_for(Completion& completion, const WaitDescription& description) noexcept {
  static_cast<void>(
      wait({[](const void* object) noexcept { return static_cast<const Completion*>(object)->ready(); },
            &completion, &completion, description}));
}

}  // namespace weft::detail
