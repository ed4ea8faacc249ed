// What a wait waits for.
#pragma once

#include <weft/detail/export.hpp>

#include <cstdint>
#include <limits>
#include <source_location>

namespace weft {

class Completion;

namespace detail {

/// WaitPlace::what of calls that wait for all ranks: the launcher knows them by these words.
inline constexpr const char* kBarrierWait = "the barrier of the runtime";
inline constexpr const char* kAllgatherWait = "the allgather of the runtime";

/// What a wait tells about itself when it is explained (docs/diagnosis.md).
struct WaitPlace {
  const char* what = "a condition";  // a phrase: "a counter"
  std::source_location where{};      // of the caller's call; line 0: unknown
  std::int32_t peer = -1;            // that it is about, when that is known
  bool is_idle = false;              // by design, until the program ends it: nothing to explain
};

/// A condition as a wait sees it: what to check, and what to be woken by (may be null).
struct WaitCondition {
  bool (*holds)(const void* context) noexcept;
  const void* context;
  Completion* completion;
  WaitPlace place{};
  /// When the wait ends anyway, in nanoseconds of the steady clock.
  std::int64_t until = std::numeric_limits<std::int64_t>::max();
};

/// How often the calling thread had better poll in vain before it waits: seldom where others want its core.
WEFT_API std::uint32_t eager_polls() noexcept;

}  // namespace detail
}  // namespace weft
