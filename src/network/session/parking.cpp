#include "network/session/parking.hpp"

#include <weft/error.hpp>

#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <string>

namespace weft::network::session {

namespace {

constexpr std::chrono::nanoseconds kWithoutDescriptor = std::chrono::milliseconds(1);

timespec to_timespec(std::chrono::nanoseconds time) noexcept {
  return {static_cast<time_t>(time.count() / 1'000'000'000), static_cast<long>(time.count() % 1'000'000'000)};
}

}  // namespace

Parking::Parking() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (event_ < 0)
    throw Error(ErrorClass::network,
                std::string("no descriptor for waking threads: ") + std::strerror(errno));
}

Parking::~Parking() { ::close(event_); }

bool Parking::watch(int network, std::uint32_t token, std::chrono::nanoseconds limit) noexcept {
  if (network < 0) limit = std::min(limit, kWithoutDescriptor);
  const timespec time = to_timespec(limit);
  pollfd sources[] = {{event_, POLLIN, 0}, {network, POLLIN, 0}};
  const bool is_woken =
      bell_.load(std::memory_order_seq_cst) != token || ::ppoll(sources, 2, &time, nullptr) != 0;
  std::uint64_t count = 0;
  while (::read(event_, &count, sizeof count) > 0) {
  }
  return is_woken;
}

bool Parking::park(int network, std::uint32_t token, std::uint32_t bits,
                   std::chrono::nanoseconds limit) noexcept {
  bool is_woken = true;
  parked_.fetch_add(1, std::memory_order_seq_cst);
  if (!watched_.exchange(true, std::memory_order_seq_cst)) {
    is_woken = watch(network, token, limit);
    watched_.store(false, std::memory_order_seq_cst);
    // Another parked thread must watch the descriptor now.
    if (parked_.load(std::memory_order_seq_cst) > 1) {
      bell_.fetch_add(1, std::memory_order_seq_cst);
      ::syscall(SYS_futex, &bell_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  } else {
    timespec until{};
    ::clock_gettime(CLOCK_MONOTONIC, &until);
    const long long nanoseconds = until.tv_nsec + limit.count();
    until.tv_sec += static_cast<time_t>(nanoseconds / 1'000'000'000);
    until.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
    is_woken = ::syscall(SYS_futex, &bell_, FUTEX_WAIT_BITSET_PRIVATE, token, &until, nullptr, bits) == 0 ||
               errno != ETIMEDOUT;
  }
  parked_.fetch_sub(1, std::memory_order_seq_cst);
  return is_woken;
}

void Parking::wake(std::uint32_t bits) noexcept {
  bell_.fetch_add(1, std::memory_order_seq_cst);
  if (watched_.load(std::memory_order_seq_cst)) {
    const std::uint64_t one = 1;
    // Fails only when the counter is full, and then it is readable anyway.
    [[maybe_unused]] const auto written = ::write(event_, &one, sizeof one);
  }
  ::syscall(SYS_futex, &bell_, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr, nullptr, bits);
}

}  // namespace weft::network::session
