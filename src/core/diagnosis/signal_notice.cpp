#include "core/diagnosis/signal_notice.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

namespace weft::core {

namespace {

constexpr int kSlots = 256;  // runtimes of one process

struct Slot {
  std::atomic<int> descriptor{-1};  // once opened, never closed
  std::atomic<bool> hears{false};
  bool is_taken = false;  // under the mutex
};

std::mutex mutex;  // guards everything but what the handler reads
Slot slots[kSlots];
int listeners = 0;

void write_to(int descriptor) noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(descriptor, &one, sizeof one));
}

// Async-signal-safe: lock-free atomics and write(2).
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);
extern "C" void weft_on_explain_signal(int) {
  const int error = errno;
  for (const Slot& slot : slots)
    if (slot.hears.load(std::memory_order_acquire)) write_to(slot.descriptor.load(std::memory_order_relaxed));
  errno = error;
}

bool install() noexcept {
  struct sigaction current {};
  if (::sigaction(SIGUSR1, nullptr, &current) != 0) return false;
  if ((current.sa_flags & SA_SIGINFO) != 0) return false;
  if (current.sa_handler == weft_on_explain_signal) return true;
  if (current.sa_handler != SIG_DFL) return false;
  struct sigaction ours {};
  ours.sa_handler = weft_on_explain_signal;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  return ::sigaction(SIGUSR1, &ours, nullptr) == 0;
}

void remove() noexcept {
  struct sigaction current {};
  if (::sigaction(SIGUSR1, nullptr, &current) == 0 && (current.sa_flags & SA_SIGINFO) == 0 &&
      current.sa_handler == weft_on_explain_signal)
    ::signal(SIGUSR1, SIG_DFL);
}

}  // namespace

SignalNotice::SignalNotice(bool hears) {
  const std::lock_guard lock(mutex);
  for (int number = 0; number < kSlots && slot_ < 0; ++number)
    if (!slots[number].is_taken) slot_ = number;
  if (slot_ < 0) return;
  Slot& slot = slots[slot_];
  descriptor_ = slot.descriptor.load(std::memory_order_relaxed);
  if (descriptor_ < 0) descriptor_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor_ < 0) return;
  slot.descriptor.store(descriptor_, std::memory_order_relaxed);
  slot.is_taken = true;
  clear();
  is_heard_ = hears && install();
  if (!is_heard_) return;
  ++listeners;
  // Pairs with the acquire in the handler: the descriptor is visible.
  slot.hears.store(true, std::memory_order_release);
}

SignalNotice::~SignalNotice() {
  const std::lock_guard lock(mutex);
  if (descriptor_ < 0) return;
  Slot& slot = slots[slot_];
  slot.hears.store(false, std::memory_order_relaxed);
  slot.is_taken = false;
  if (is_heard_ && --listeners == 0) remove();
}

void SignalNotice::notify() const noexcept { write_to(descriptor_); }

void SignalNotice::clear() const noexcept {
  std::uint64_t count = 0;
  static_cast<void>(!::read(descriptor_, &count, sizeof count));
}

}  // namespace weft::core
