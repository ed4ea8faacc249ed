#include "network/session/courier/courier.hpp"

#include "base/clock.hpp"
#include "base/fork_watch.hpp"
#include "base/host/own_threads.hpp"
#include "base/signals_blocked.hpp"
#include "concurrent/process_barrier.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace weft::network::session {

namespace {

constexpr long kPeriod = 1'000'000;         // nanoseconds between two looks
constexpr std::uint32_t kIdlePeriods = 16;  // until it sleeps
constexpr double kSecondsAtExit = 0.5;

/// Returns when the word is no longer `value`, is woken, or after `limit`; spurious returns happen.
void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t value, const timespec* limit) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, limit, nullptr, 0);
}
void wake_on(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

/// The couriers with a thread. A program may end by exit() with a runtime that it never destroys: what was
/// accepted still leaves then.
struct Running {
  std::mutex mutex;
  std::vector<Courier*> couriers;
};
Running& running() {
  static Running& all = *new Running;  // outlives all destructors
  return all;
}

void send_at_exit() noexcept {
  if (base::is_forked_copy()) return;
  const std::lock_guard lock(running().mutex);
  const base::Deadline deadline(kSecondsAtExit);
  const auto visit = [](Courier* each) { return each->visit_all(); };
  while (std::count_if(running().couriers.begin(), running().couriers.end(), visit) != 0 &&
         !deadline.passed()) {
    const timespec moment{0, kPeriod / 10};
    ::nanosleep(&moment, nullptr);
  }
}

void note_running(Courier& courier) {
  const std::lock_guard lock(running().mutex);
  static const bool is_registered = std::atexit(send_at_exit) == 0;
  static_cast<void>(is_registered);
  running().couriers.push_back(&courier);
}

}  // namespace

bool Courier::add(std::uint32_t index, Laden& device) noexcept try {
  const std::lock_guard lock(mutex_);
  if (!concurrent::has_private_barrier()) return false;
  if (!thread_.joinable()) {
    const base::SignalsBlocked inherited;
    base::count_own_thread(1);
    try {
      thread_ = std::thread([this] { run(); });
    } catch (...) {
      base::count_own_thread(-1);
      throw;
    }
    note_running(*this);
  }
  // Pairs with the acquires of the thread: the device is complete.
  slots_[index].device.store(&device, std::memory_order_release);
  return true;
} catch (const std::exception&) {
  return false;
}

void Courier::stop() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(running().mutex);
    std::erase(running().couriers, this);
  }
  stops_.store(1, std::memory_order_seq_cst);
  wake_on(stops_);
  wake();
  thread_.join();
  base::count_own_thread(-1);
}

bool Courier::any_laden() const noexcept {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    const Laden* const device = slot.device.load(std::memory_order_acquire);
    return device != nullptr && device->is_laden();
  });
}

bool Courier::visit_all() noexcept {
  bool any = false;
  for (Slot& slot : slots_) {
    Laden* const device = slot.device.load(std::memory_order_acquire);
    if (device == nullptr || !device->is_laden()) continue;
    any = true;
    device->carry();
  }
  return any;
}

/// Returns false when nothing waits.
bool Courier::visit_neglected() noexcept {
  bool any = false;
  for (Slot& slot : slots_) {
    Laden* const device = slot.device.load(std::memory_order_acquire);
    if (device == nullptr || !device->is_laden()) continue;
    any = true;
    slot.last_look.look(*device, [&] { device->carry(); });
  }
  return any;
}

void Courier::sleep_until_called() noexcept {
  bell_.sleep([this] { return any_laden() || stops_.load(std::memory_order_seq_cst) != 0; },
              [](std::atomic<std::uint32_t>& word) { sleep_on(word, 1, nullptr); });
}

[[gnu::noinline]] void Courier::wake() noexcept { bell_.end_sleep(wake_on); }

void Courier::run() noexcept {
  constexpr timespec kMoment{0, kPeriod};
  std::uint32_t idle = 0;
  while (stops_.load(std::memory_order_seq_cst) == 0) {
    if (visit_neglected()) {
      idle = 0;
    } else if (++idle > kIdlePeriods) {
      sleep_until_called();
      idle = 0;
    }
    sleep_on(stops_, 0, &kMoment);
  }
}

}  // namespace weft::network::session
