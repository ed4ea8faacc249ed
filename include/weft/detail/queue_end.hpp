// One end of a queue, and the threads that use it: those that push, or those that pop.
#pragma once

#include <weft/detail/bias.hpp>
#include <weft/detail/export.hpp>

#include <atomic>
#include <cstdint>

namespace weft::detail {

/// Tags for the number of threads that may use one end of a queue at the same time.
// Exported, so that templates that a shared library instantiates with them are exported, too.
struct WEFT_API OneThread {};
struct WEFT_API ManyThreads {};

/// Tells a thread that enters the end whether it is alone there. With ManyThreads, a thread that is the only
/// one that ever enters is alone as well, by a bias of this end (docs/internals/completion/queue.md).
template <class Users, template <class> class Atomic = std::atomic, class Threads = ProcessThreads>
class QueueEnd;

template <template <class> class Atomic, class Threads>
class QueueEnd<OneThread, Atomic, Threads> {
 public:
  struct Visit {
    static constexpr bool alone = true;
  };
  [[nodiscard, gnu::always_inline]] Visit enter() noexcept { return {}; }
  [[gnu::always_inline]] static void leave(Visit /*visit*/) noexcept {}
  [[nodiscard, gnu::always_inline]] static bool enter_alone() noexcept { return true; }
  [[gnu::always_inline]] static void leave_alone() noexcept {}
  void await_leaving() const noexcept {}
};

template <template <class> class Atomic, class Threads>
class alignas(64) QueueEnd<ManyThreads, Atomic, Threads> {
 public:
  struct Visit {
    typename BasicBias<Atomic, Threads>::Hold hold;
    bool alone;
  };
  [[nodiscard, gnu::always_inline]] Visit enter() noexcept {
    const auto hold = bias_.acquire_or_share(word_);
    return {hold, bias_.is_alone(hold)};
  }
  /// Ends a visit; this is its last access to this object.
  [[gnu::always_inline]] static void leave(Visit visit) noexcept {
    if (visit.hold != nullptr) BasicBias<Atomic, Threads>::release(visit.hold);
  }
  /// For a fast path that calls no function: returns false unless this thread is known to be alone; the
  /// caller then uses enter(). Ended by leave_alone(), which is the last access to this object as well.
  [[nodiscard, gnu::always_inline]] bool enter_alone() noexcept { return bias_.acquire_owned(word_); }
  [[gnu::always_inline]] void leave_alone() noexcept { bias_.release_owned(); }
  /// Returns when no thread is inside any more. Called before the parts that threads use inside are
  /// destroyed: a message may be popped before its push has returned.
  void await_leaving() const noexcept {
    while (bias_.has_thread_inside() || word_.load(std::memory_order_acquire) != 0) Threads::yield();
  }

 private:
  BasicBias<Atomic, Threads> bias_;
  Atomic<std::uint32_t> word_{0};  // held by a thread that enters before the bias has an owner
};

}  // namespace weft::detail
