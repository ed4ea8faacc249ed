// What a wait waits for.
#pragma once

namespace weft {

class Completion;

namespace detail {

/// A condition as a wait sees it: what to check, and what to be woken by (may be null).
struct WaitCondition {
  bool (*holds)(const void* context) noexcept;
  const void* context;
  Completion* completion;
};

}  // namespace detail
}  // namespace weft
