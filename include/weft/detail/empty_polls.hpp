// Polls of completion objects that find nothing: threads that do nothing else give way now and then.
#pragma once

#include <weft/detail/export.hpp>

#include <cstdint>

namespace weft::detail {

inline constexpr std::uint32_t kEmptyPollsPerLook = 256;
/// The empty polls of this thread until the next call of give_way_to_progress().
extern WEFT_API constinit thread_local std::uint32_t empty_polls_left [[gnu::tls_model("initial-exec")]];

/// Yields when other threads want the core and polls stay empty, unless the thread progresses as well, which
/// gives way by itself.
[[gnu::cold]] WEFT_API void give_way_to_progress() noexcept;

/// Called for each poll that finds nothing. Writes a word of this thread only.
[[gnu::always_inline]] inline void note_empty_poll() noexcept {
  if (--empty_polls_left == 0) [[unlikely]]
    give_way_to_progress();
}

}  // namespace weft::detail
