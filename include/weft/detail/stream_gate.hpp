// The gate of a stream: its thread passes without a locked instruction, and another thread may take the
// stream over while no thread is inside.
#pragma once

#include <weft/detail/bias.hpp>

#include <atomic>
#include <cstdint>

namespace weft::detail {

/// What enter() of a gate has found.
enum class GateEntry : std::uint8_t {
  entered,    ///< leave() ends it
  nested,     ///< the calling thread is inside already: nothing to end
  contended,  ///< another thread has taken the stream over and gives it back soon: try again
  occupied,   ///< another thread is inside as its user: an error of the program
};

/// A gate that the threads of a stream enter, one at a time by contract, by plain stores; and that a thread
/// which attends to streams takes, when nobody is inside, by a barrier in all threads of the process. The
/// barrier orders `inside_` and `taken_` against each other (the protocol of Dekker, of which one side pays):
/// either the attending thread sees the user inside, or the user sees that the stream is taken. Unlike a bias
/// (bias.hpp) it goes back to its user after each time.
///
/// The atomic type and the threads are parameters so that tests can drive schedules.
template <template <class> class Atomic = std::atomic, class Threads = ProcessThreads>
class BasicStreamGate {
 public:
  [[nodiscard, gnu::always_inline]] GateEntry enter() noexcept {
    const std::uintptr_t me = Threads::mark();
#ifdef NDEBUG
    const std::uintptr_t inside = inside_.load(std::memory_order_relaxed);
    inside_.store(me, std::memory_order_relaxed);
#else
    // Finds a second user always, for one locked instruction.
    const std::uintptr_t inside = inside_.exchange(me, std::memory_order_acq_rel);
#endif
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // Pairs with the release in give_back().
    const std::uintptr_t taken = taken_.load(std::memory_order_acquire);
    if ((inside | taken) == 0) [[likely]]
      return GateEntry::entered;
    return enter_slow(me, inside, taken);
  }
  // Pairs with the acquire in is_left().
  [[gnu::always_inline]] void leave() noexcept { inside_.store(0, std::memory_order_release); }
  /// The mark of the thread inside, or 0.
  [[nodiscard]] std::uintptr_t inside() const noexcept { return inside_.load(std::memory_order_relaxed); }

  // For a thread that attends: try_take(), a barrier in all threads (one for several gates), is_left(), and
  // give_back(), whatever the answer.

  [[nodiscard]] bool try_take() noexcept { return Threads::have_barrier() && try_take_for(Threads::mark()); }
  /// Takes the stream for the thread with this mark, which then uses it without entering.
  [[nodiscard]] bool try_take_for(std::uintptr_t mark) noexcept {
    std::uintptr_t nobody = 0;
    return taken_.compare_exchange_strong(nobody, mark, std::memory_order_acquire);
  }
  [[nodiscard]] bool is_taken_by(std::uintptr_t mark) const noexcept {
    return taken_.load(std::memory_order_relaxed) == mark;
  }
  /// Whether nobody is inside: the stream belongs to the caller until give_back().
  [[nodiscard]] bool is_left() const noexcept { return inside_.load(std::memory_order_acquire) == 0; }
  void give_back() noexcept { taken_.store(0, std::memory_order_release); }

 private:
  [[nodiscard, gnu::noinline]] GateEntry enter_slow(std::uintptr_t me, std::uintptr_t inside,
                                                    std::uintptr_t taken) noexcept {
    if (inside == me) return GateEntry::nested;
    // While a thread has the stream nobody else is inside: what was found is the mark of a thread that tries.
    if (taken == me || (taken != 0 && inside == taken)) {
      inside_.store(0, std::memory_order_release);
      return taken == me ? GateEntry::nested : GateEntry::contended;
    }
    // The former user is still inside, or, if it has left meanwhile, is told of the error by this thread.
    inside_.store(inside, std::memory_order_release);
    return inside != 0 ? GateEntry::occupied : GateEntry::contended;
  }

  Atomic<std::uintptr_t> inside_{0};  // mark of the user inside; written by users
  Atomic<std::uintptr_t> taken_{0};   // mark of the thread that attends
};
using StreamGate = BasicStreamGate<>;

}  // namespace weft::detail
