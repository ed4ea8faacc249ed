// The condition of a wait, and its description for explanations.
#pragma once

#include <weft/detail/export.hpp>

#include <cstdint>
#include <limits>
#include <source_location>

namespace weft {

class Completion;

namespace detail {

/// WaitDescription::what of calls that wait for all ranks; the launcher recognises them by these words.
inline constexpr const char* kBarrierWait = "the barrier of the runtime";
inline constexpr const char* kAllgatherWait = "the allgather of the runtime";

/// The description of a wait in explanations (docs/guide/diagnosis.md).
struct WaitDescription {
  const char* what = "a condition";  // a phrase: "a counter"
  std::source_location where{};      // of the caller's call; line 0: unknown
  std::int32_t peer = -1;            // the peer that is waited for, if known
  bool is_idle = false;              // the wait is idle by design, until the program ends it: not explained
  bool is_whole = false;  // `what` says what the program has called: the operations behind it are not named
};

/// The condition of a wait: the function to check, and the completion object whose signal wakes the wait (may
/// be null).
struct WaitCondition {
  bool (*holds)(const void* context) noexcept;
  const void* context;
  Completion* completion;
  WaitDescription description{};
  /// The time at which the wait ends even if the condition does not hold, in nanoseconds of the steady clock.
  std::int64_t until = std::numeric_limits<std::int64_t>::max();
  /// The wait also ends so many nanoseconds after its thread has first gone to sleep; 0: it does not. Nobody
  /// looks at it before.
  std::int64_t patience_ns = 0;
};

/// Returns the spin budget: how many empty polls the calling thread should make before it waits; few when
/// other threads want its core.
WEFT_API std::uint32_t spin_budget() noexcept;

}  // namespace detail
}  // namespace weft
