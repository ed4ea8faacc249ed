// Small numbers for threads.
#pragma once

#include <cstdint>

namespace weft::concurrent {

namespace detail {
std::uint32_t take_thread_number() noexcept;
inline thread_local std::uint32_t number_plus_one = 0;
}  // namespace detail

/// Numbers below this are used again after their threads have ended; larger ones are not.
inline constexpr std::uint32_t kReusedNumbers = 1024;

/// Returns a number that no other living thread of the process has: the smallest one at the first call of a
/// thread.
///
/// A thread keeps it while it runs, and while destructors of its thread_locals do. Destructors of its pthread
/// keys, and in the main thread those of statics after pthread_exit(), may run after it has released the
/// number; they get a number of at least kReusedNumbers. So caches that are indexed by numbers below
/// kReusedNumbers have one owner at any time, whatever a program's objects do when their thread ends.
[[nodiscard]] inline std::uint32_t thread_number() noexcept {
  if (detail::number_plus_one == 0) [[unlikely]]
    detail::number_plus_one = detail::take_thread_number() + 1;
  return detail::number_plus_one - 1;
}

/// Returns the calling thread's number if thread_number() has been called before, else the largest value: for
/// fast paths that leave the first call to their slow path, and so call no function.
[[nodiscard]] inline std::uint32_t known_thread_number() noexcept { return detail::number_plus_one - 1; }

/// Returns an upper bound: all numbers below kReusedNumbers that threads have had so far are below it. Any
/// thread.
[[nodiscard]] std::uint32_t thread_numbers_used() noexcept;

}  // namespace weft::concurrent
