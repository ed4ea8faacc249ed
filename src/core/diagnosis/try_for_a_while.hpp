// How explanations take what other threads hold.
#pragma once

#include <chrono>
#include <thread>

namespace weft::core {

/// Returns true when `attempt` succeeds within half a second: the explainer never waits for a thread that may
/// not come back.
template <class Attempt>
bool try_for_a_while(const Attempt& attempt) {
  constexpr int kTries = 500;  // a millisecond each
  for (int count = 0; count < kTries; ++count) {
    if (attempt()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace weft::core
