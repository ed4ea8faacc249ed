// System calls that the handler of a signal interrupts. A program may have handlers without SA_RESTART, and a
// timer that calls them a thousand times a second: a profiler, or a time limit of its own.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <span>

#include "base/clock.hpp"

namespace weft::base {

/// Calls until the system call has not been interrupted; returns what it returns. Not for close(), which has
/// closed the descriptor also when it was interrupted, and not for calls with a duration of their own.
template <class Call>
auto uninterrupted(Call&& call) noexcept {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// poll() until an event has come or the deadline has passed, which are different answers however many
/// signals come meanwhile: as poll() returns, never EINTR.
inline int poll_until(std::span<pollfd> waits, const Deadline& deadline) noexcept {
  for (;;) {
    const std::int64_t left =
        std::min<std::int64_t>(deadline.remaining_ms(), std::numeric_limits<int>::max());
    const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(left));
    if (ready != -1 || errno != EINTR) return ready;
  }
}

/// Returns true when the event, or the end of the descriptor, is there now.
inline bool is_ready(int descriptor, short event) noexcept {
  pollfd wait{descriptor, event, 0};
  return uninterrupted([&wait] { return ::poll(&wait, 1, 0); }) == 1;
}

}  // namespace weft::base
