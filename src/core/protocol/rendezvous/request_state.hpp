// Who may change a request of the sender's half of a rendezvous.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::core {

/// The state of a request and its generation, by which a peer names it, in one word. Messages of the peer may
/// be handled by any thread and arrive late: when the request has ended, or its record serves another one. A
/// thread that handles one holds the request it names, which nobody ends meanwhile.
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

  [[nodiscard]] State load() const noexcept { return state_of(word_.load(std::memory_order_acquire)); }
  [[nodiscard]] std::uint32_t generation() const noexcept {
    return generation_of(word_.load(std::memory_order_acquire));
  }

  /// A free request becomes announced. The caller has written its members.
  void announce() noexcept { set(State::announced); }

  /// Leaves the state announced and returns the state before; any other state is left unchanged.
  State leave_announced(State to) noexcept { return leave(State::announced, to); }
  /// From streaming to ended: the caller moves the payload, so nobody else ends the request.
  void end_streaming() noexcept { leave(State::streaming, State::ended); }

  /// Holds the request if it is announced or streaming, and of this generation. Returns the state to be given
  /// to let_go(); free if there is nothing to hold.
  [[nodiscard]] State hold(std::uint32_t generation) noexcept {
    std::uint64_t word = word_.load(std::memory_order_acquire);
    for (;;) {
      const State before = state_of(word);
      if (generation_of(word) != generation || before == State::free || before == State::ended)
        return State::free;
      if (before == State::held)
        word = word_.load(std::memory_order_acquire);
      else if (exchange(word, State::held))
        return before;
    }
  }
  /// Called by the thread that holds the request.
  void let_go(State to) noexcept { set(to); }

  /// An ended request becomes free, and its name is never valid again.
  void free() noexcept { word_.store(word_of(generation() + 1, State::free), std::memory_order_release); }

 private:
  static constexpr std::uint64_t word_of(std::uint32_t generation, State state) noexcept {
    return std::uint64_t{generation} << 32 | static_cast<std::uint64_t>(state);
  }
  static constexpr std::uint32_t generation_of(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }
  static constexpr State state_of(std::uint64_t word) noexcept { return static_cast<State>(word & 0xff); }

  /// For the thread that owns the request. Pairs with the acquire with which the next one takes it.
  void set(State state) noexcept { word_.store(word_of(generation(), state), std::memory_order_release); }
  bool exchange(std::uint64_t& word, State to) noexcept {
    return word_.compare_exchange_weak(word, word_of(generation_of(word), to), std::memory_order_acq_rel,
                                       std::memory_order_acquire);
  }
  State leave(State from, State to) noexcept {
    std::uint64_t word = word_.load(std::memory_order_acquire);
    for (;;) {
      const State before = state_of(word);
      if (before == State::held)
        word = word_.load(std::memory_order_acquire);
      else if (before != from || exchange(word, to))
        return before;
    }
  }

  Atomic<std::uint64_t> word_{word_of(1, State::free)};
};

}  // namespace weft::core
