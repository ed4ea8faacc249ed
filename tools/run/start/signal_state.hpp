#pragma once

#include <signal.h>

#include <cstdint>

namespace weft::tools::run {

/// What a process does with signals, as far as programs inherit it: those that it blocks and those that it
/// ignores.
struct SignalState {
  sigset_t blocked{};
  sigset_t ignored{};
};

/// Returns what this process was started with, and sets what a process needs that waits for others and writes
/// into pipes: whoever has started it may ignore SIGCHLD, and then no end of a child is reported.
SignalState take_signal_state();

/// For a child, between fork and exec: what it is started with. SIGCHLD is never ignored, as programs that
/// wait for others expect. System calls only.
void restore(const SignalState& state) noexcept;

/// One bit for each signal, from 1 on.
std::uint64_t to_bits(const sigset_t& signals);
sigset_t from_bits(std::uint64_t bits);

}  // namespace weft::tools::run
