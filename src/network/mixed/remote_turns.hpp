// Tells when a port polls the remote network as well.
//
// A poll of shared memory that finds nothing takes about 10 ns, one of a network with sockets 300 to 500: a
// message of a local peer that comes meanwhile waits. So the remote network has its turn with every empty
// poll only while it is in use. Otherwise it has one every 20 us, or, where the local network delivers
// something at least every few polls, as in a ping-pong, every 200 us.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::network::mixed {

/// The polls of one thread, over all its ports.
struct Polls {
  std::uint32_t all = 0;
  std::uint32_t empty = 0;  // of the local network, in a row
  void count(bool found) noexcept {
    ++all;
    empty = found ? 0 : empty + 1;
  }
};

/// Any thread; threads that race at most give the remote network a turn more or less.
class RemoteTurns {
 public:
  static constexpr std::uint32_t kInUse = 256;            // empty turns after which it is no longer in use
  static constexpr std::int64_t kQuietInterval = 20'000;  // nanoseconds between two turns while it is not
  static constexpr std::int64_t kBusyInterval = 200'000;  // the same while the local network is busy
  static constexpr std::uint32_t kQuiet = 24;             // empty polls in a row after which it is not
  static constexpr std::uint32_t kPollsPerLook = 8;       // polls of a thread for each look at the clock

  /// Returns false, after as few instructions as possible, for most polls that the remote network takes no
  /// part in. `polls` counts the last one as well.
  [[nodiscard]] bool may_be_due(const Polls& polls) const noexcept {
    return looks(polls.all) || (polls.empty != 0 && in_use_.load(std::memory_order_relaxed) != 0);
  }
  /// Returns true when the remote network is to be polled; asked when may_be_due() holds. `now()`: the time
  /// in nanoseconds.
  template <class Clock>
  [[nodiscard]] bool is_due(const Polls& polls, const Clock& now) noexcept {
    const bool found = polls.empty == 0;
    if (!found && in_use_.load(std::memory_order_relaxed) != 0) return true;
    if (!looks(polls.all)) return false;
    const std::int64_t time = now();
    const std::int64_t elapsed = time - last_.load(std::memory_order_relaxed);
    if (elapsed < (polls.empty >= kQuiet ? kQuietInterval : kBusyInterval)) return false;
    last_.store(time, std::memory_order_relaxed);
    return true;
  }
  /// Notes the end of a turn in which the remote network delivered `count` messages.
  void polled(std::size_t count) noexcept {
    if (count != 0)
      use();
    else if (const std::uint32_t left = in_use_.load(std::memory_order_relaxed); left != 0)
      in_use_.store(left - 1, std::memory_order_relaxed);
  }
  /// Notes that the remote network carries messages now, so that answers are likely.
  void use() noexcept {
    if (in_use_.load(std::memory_order_relaxed) != kInUse) in_use_.store(kInUse, std::memory_order_relaxed);
  }
  /// Notes that the remote network carries nothing any more.
  void end_use() noexcept { in_use_.store(0, std::memory_order_relaxed); }
  [[nodiscard]] bool is_in_use() const noexcept { return in_use_.load(std::memory_order_relaxed) != 0; }

 private:
  /// Multiples of the golden ratio are spread evenly in any arithmetic progression of polls: a thread that
  /// polls several ports in turn looks for all of them.
  [[nodiscard]] static bool looks(std::uint32_t polls) noexcept {
    return polls * 0x9e3779b9U < 0xffffffffU / kPollsPerLook;
  }

  std::atomic<std::uint32_t> in_use_{kInUse};  // turns without a message that it still has at once
  std::atomic<std::int64_t> last_{0};          // time of the last turn while it was not in use
};

}  // namespace weft::network::mixed
