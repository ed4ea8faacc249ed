#include "run/start/signal_state.hpp"

namespace weft::tools::run {

namespace {

constexpr int kMostSignals = 64;
constexpr int kStandardSignals = 31;

}  // namespace

SignalState take_signal_state() {
  SignalState state;
  sigemptyset(&state.ignored);
  for (int signal = 1; signal <= kStandardSignals; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      sigaddset(&state.ignored, signal);
  }
  ::sigprocmask(SIG_SETMASK, nullptr, &state.blocked);
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  return state;
}

void restore(const SignalState& state) noexcept {
  for (int signal = 1; signal <= kStandardSignals; ++signal) {
    const bool stays_ignored = signal != SIGCHLD && sigismember(&state.ignored, signal) == 1;
    ::signal(signal, stays_ignored ? SIG_IGN : SIG_DFL);
  }
  ::sigprocmask(SIG_SETMASK, &state.blocked, nullptr);
}

std::uint64_t to_bits(const sigset_t& signals) {
  std::uint64_t bits = 0;
  for (int signal = 1; signal <= kMostSignals; ++signal)
    if (sigismember(&signals, signal) == 1) bits |= std::uint64_t{1} << (signal - 1);
  return bits;
}

sigset_t from_bits(std::uint64_t bits) {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal = 1; signal <= kMostSignals; ++signal)
    if ((bits >> (signal - 1) & 1) != 0) sigaddset(&signals, signal);
  return signals;
}

}  // namespace weft::tools::run
