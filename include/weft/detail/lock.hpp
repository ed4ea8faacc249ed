// The lock policies of Endpoint (TryLock) and SerialEndpoint (NoLock).
#pragma once

#include <weft/detail/export.hpp>

#include <atomic>
#include <cassert>
#include <cstdint>

namespace weft::detail {

/// For objects that any thread may use: acquire() returns false when the lock is held, and never waits.
struct WEFT_API TryLock {
  static constexpr bool kExclusive = false;
  template <class Word>
  [[nodiscard]] static bool acquire(Word& word) noexcept {
    // The acquire pairs with the release in release(): the previous holder's writes are visible.
    return word.load(std::memory_order_relaxed) == 0 && word.exchange(1, std::memory_order_acquire) == 0;
  }
  template <class Word>
  static void release(Word& word) noexcept {
    word.store(0, std::memory_order_release);
  }
};

/// For objects that one thread at a time uses by contract: no locked instruction. In programs compiled with
/// assertions, endpoints find a second thread (endpoint_entry.hpp) before it comes here.
struct WEFT_API NoLock {
  static constexpr bool kExclusive = true;
  template <class Word>
  [[nodiscard]] static bool acquire([[maybe_unused]] Word& word) noexcept {
#ifndef NDEBUG
    assert(word.load(std::memory_order_relaxed) == 0 && "two threads inside one SerialEndpoint");
    word.store(1, std::memory_order_relaxed);
#endif
    return true;
  }
  template <class Word>
  static void release([[maybe_unused]] Word& word) noexcept {
#ifndef NDEBUG
    word.store(0, std::memory_order_relaxed);
#endif
  }
};

}  // namespace weft::detail
