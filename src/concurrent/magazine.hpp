// A small stack of one thread, which other threads may empty while it does not use it.
#pragma once

#include <weft/detail/bias.hpp>

#include <atomic>
#include <cstdint>

namespace weft::concurrent {

/// Free values that a thread, the owner, keeps for itself. The owner executes no locked instruction; other
/// threads empty the magazine when they have run out of values, which costs them a barrier in all threads of
/// the process. So it needs Threads::have_barrier(). The atomic type and the threads are parameters so that
/// tests can drive schedules.
template <class Value, std::uint32_t kCapacity, template <class> class Atomic = std::atomic,
          class Threads = weft::detail::ProcessThreads>
class Magazine {
 public:
  // Called by the owner. While another thread empties the magazine, take() sees it as empty and put() as
  // full.

  /// Takes the value that was put last. Returns false when there is none.
  [[nodiscard, gnu::always_inline]] bool take(Value& value) noexcept {
    const std::int32_t count = enter();
    const bool is_there = count > 0;
    if (is_there) [[likely]] {
      value = values_[count - 1];
      count_.store(count - 1, std::memory_order_relaxed);
    }
    leave();
    return is_there;
  }
  /// Puts a value. Returns false when the magazine holds `limit` values already; `limit` is at most
  /// kCapacity.
  [[nodiscard, gnu::always_inline]] bool put(const Value& value, std::uint32_t limit) noexcept {
    const std::int32_t count = enter();
    const bool has_room = static_cast<std::uint32_t>(count) < limit;  // kEmptied is more than any limit
    if (has_room) [[likely]] {
      values_[count] = value;
      count_.store(count + 1, std::memory_order_relaxed);
    }
    leave();
    return has_room;
  }
  /// Puts values that next(value) supplies, as long as it returns true, until the magazine holds `limit`
  /// values.
  template <class Next>
  void fill(std::uint32_t limit, const Next& next) noexcept {
    std::int32_t count = enter();
    if (count >= 0) {
      while (static_cast<std::uint32_t>(count) < limit && next(values_[count])) ++count;
      count_.store(count, std::memory_order_relaxed);
    }
    leave();
  }
  /// Moves all except the `kept` values that were put first to `values`, which has room for kCapacity.
  /// Returns the number of values moved.
  [[nodiscard]] std::uint32_t drain(std::uint32_t kept, Value* values) noexcept {
    const std::int32_t count = enter();
    std::uint32_t moved = 0;
    if (count > static_cast<std::int32_t>(kept)) {
      for (auto place = static_cast<std::int32_t>(kept); place < count; ++place)
        values[moved++] = values_[place];
      count_.store(static_cast<std::int32_t>(kept), std::memory_order_relaxed);
    }
    leave();
    return moved;
  }

  // Called by any other thread.

  /// Returns true when the magazine probably holds a value.
  [[nodiscard]] bool seems_filled() const noexcept { return count_.load(std::memory_order_relaxed) > 0; }
  /// Moves all values to `values`, which has room for kCapacity. Returns their number; 0 also when the owner
  /// or another thread uses the magazine at this moment.
  [[nodiscard]] std::uint32_t take_all(Value* values) noexcept {
    // Pairs with the release below: threads that empty the magazine do so one after the other.
    if (emptier_.exchange(1, std::memory_order_acquire) != 0) return 0;
    std::uint32_t moved = 0;
    const std::int32_t count = count_.exchange(kEmptied, std::memory_order_relaxed);
    // After the barrier either this thread sees the owner inside, or the owner sees that the magazine is
    // being emptied.
    if (count > 0) Threads::barrier();
    // Pairs with the release in leave(): the values that the owner has put are visible.
    if (count > 0 && inside_.load(std::memory_order_acquire) == 0 &&
        count_.load(std::memory_order_relaxed) == kEmptied) {
      for (; moved < static_cast<std::uint32_t>(count); ++moved) values[moved] = values_[moved];
      // Pairs with the acquire in enter(): the values have been read.
      count_.store(0, std::memory_order_release);
    } else {
      // The owner may be inside with the previous count, and then overwrites this one, now or later.
      std::int32_t expected = kEmptied;
      static_cast<void>(count_.compare_exchange_strong(expected, count, std::memory_order_relaxed));
    }
    emptier_.store(0, std::memory_order_release);
    return moved;
  }

 private:
  static constexpr std::int32_t kEmptied = -1;  // another thread empties the magazine at this moment

  /// Enters and returns the number of values; kEmptied: the values must not be used.
  [[gnu::always_inline]] std::int32_t enter() noexcept {
    inside_.store(1, std::memory_order_relaxed);
    // Pairs with the barrier in take_all().
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return count_.load(std::memory_order_acquire);
  }
  [[gnu::always_inline]] void leave() noexcept { inside_.store(0, std::memory_order_release); }

  // Written by the owner while it is inside, and by the thread that empties the magazine.
  Atomic<std::int32_t> count_{0};
  Atomic<std::uint32_t> inside_{0};  // written by the owner
  Atomic<std::uint32_t> emptier_{0};
  Value values_[kCapacity];
};

}  // namespace weft::concurrent
