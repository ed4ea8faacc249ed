// Who may change a request of the sender's half of a rendezvous.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::core {

/// The state of a request and its generation, by which a peer names it. Messages of the peer may be handled
/// by any thread and arrive late: when the request has ended, or its record serves another one. A thread that
/// handles one holds the request, and only then looks at whose it is; nobody ends it meanwhile.
///
/// The atomic type is a parameter so that tests can drive schedules.
template <template <class> class Atomic = std::atomic>
class BasicRequestState {
 public:
  enum class State : std::uint8_t {
    free,
    announced,
    streaming,
    ended,
    held,  // for a few instructions, while announced or streaming
  };

  [[nodiscard]] State load() const noexcept { return state_.load(std::memory_order_acquire); }
  /// Pairs with the acquire with which another thread takes the generation.
  [[nodiscard]] std::uint32_t generation() const noexcept {
    return generation_.load(std::memory_order_acquire);
  }

  /// A free request becomes announced. The caller has written its members.
  void announce() noexcept { state_.store(State::announced, std::memory_order_release); }

  /// Leaves the state announced and returns the state before; any other state is left unchanged.
  State leave_announced(State to) noexcept { return leave(State::announced, to); }
  /// From streaming to ended: the caller moves the payload, so nobody else ends the request.
  void end_streaming() noexcept { leave(State::streaming, State::ended); }

  /// Holds the request if it is announced or streaming, and of this generation. Returns the state to be given
  /// to let_go(); free if there is nothing to hold.
  [[nodiscard]] State hold(std::uint32_t generation) noexcept {
    State before = load();
    for (;;) {
      // A record that serves another request now is not even held for a moment, if that can be seen.
      if (this->generation() != generation) return State::free;
      if (before == State::held)
        before = load();
      else if (before != State::announced && before != State::streaming)
        return State::free;
      else if (state_.compare_exchange_weak(before, State::held, std::memory_order_acquire,
                                            std::memory_order_acquire))
        break;
    }
    if (this->generation() == generation) return before;
    let_go(before);
    return State::free;
  }
  void let_go(State to) noexcept { state_.store(to, std::memory_order_release); }

  /// An ended request becomes free, and its name is never valid again.
  void free() noexcept {
    state_.store(State::free, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
  }

 private:
  State leave(State from, State to) noexcept {
    for (;;) {
      State before = from;
      if (state_.compare_exchange_weak(before, to, std::memory_order_acq_rel, std::memory_order_acquire) ||
          (before != from && before != State::held))
        return before;
    }
  }

  Atomic<State> state_{State::free};
  Atomic<std::uint32_t> generation_{1};
};

}  // namespace weft::core
