// Small numbers for threads.
#pragma once

#include <cstdint>

namespace weft::concurrent {

namespace detail {
std::uint32_t take_thread_number() noexcept;
inline thread_local std::uint32_t number_plus_one = 0;
}  // namespace detail

/// A number that no other living thread of the process has; small numbers are used again after threads end.
[[nodiscard]] inline std::uint32_t thread_number() noexcept {
  if (detail::number_plus_one == 0) [[unlikely]]
    detail::number_plus_one = detail::take_thread_number() + 1;
  return detail::number_plus_one - 1;
}

/// The same when the calling thread has asked for it before, otherwise the largest value: for fast paths that
/// leave the first time to their slow one, and so call nothing.
[[nodiscard]] inline std::uint32_t known_thread_number() noexcept { return detail::number_plus_one - 1; }

}  // namespace weft::concurrent
