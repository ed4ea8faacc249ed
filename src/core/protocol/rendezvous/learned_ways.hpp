// The ways of the large messages that a device receives, by peer and size, and what they are learned from.
#pragma once

#include "core/protocol/rendezvous/way_choice.hpp"

#include <weft/detail/lock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>

namespace weft::core {

/// Any thread. A message takes for itself the time from its beginning, or from the end of the message before
/// it if that is later, to its own end, so that time in which several are under way counts once; and the time
/// before that in which none was, but no more than kMostGap times as much. Small and of one size: peers whose
/// ranks are kPeers apart share what is learned.
class LearnedWays {
 public:
  static constexpr std::size_t kLeastBytes = std::size_t{16} << 10;  // of messages that are told

  /// Chooses the way of a message; end() has to follow.
  [[nodiscard]] Way begin(int peer, std::size_t bytes) noexcept {
    Kind& kind = kind_of(peer, bytes);
    const Way way = kind.way.load(std::memory_order_relaxed);
    kind.under_way[index_of(way)].fetch_add(1, std::memory_order_relaxed);
    return way;
  }

  enum class End : std::uint8_t { whole, failed, given_up };
  /// `started`, `now`: when the payload began to move, and now; read only when it has come whole.
  void end(int peer, std::size_t bytes, Way way, End how, std::int64_t started, std::int64_t now) noexcept {
    Kind& kind = kind_of(peer, bytes);
    kind.under_way[index_of(way)].fetch_sub(1, std::memory_order_relaxed);
    if (how == End::given_up) return;
    std::int64_t ns = 0;
    if (how == End::whole) {
      std::atomic<std::int64_t>& last_end = peers_[slot_of(peer)].last_end;
      const std::int64_t before = last_end.load(std::memory_order_relaxed);
      last_end.store(now, std::memory_order_relaxed);
      if (kind.under_way[index_of(other_way(way))].load(std::memory_order_relaxed) == 0)
        ns = time_of(started, before, now);
    }
    // Another thread that ends a message at this moment goes on without learning from it.
    if (!detail::TryLock::acquire(kind.busy)) return;
    if (how == End::whole)
      kind.choice.ended(way, bytes, ns);
    else
      kind.choice.failed();
    kind.way.store(kind.choice.way(), std::memory_order_relaxed);
    detail::TryLock::release(kind.busy);
  }

 private:
  static constexpr std::int64_t kMostGap = 3;
  static constexpr std::size_t kPeers = 16;
  static constexpr std::size_t kSizes = 8;  // 16 KiB, 32 KiB, ..., 2 MiB and more

  struct Kind {
    std::atomic<Way> way{Way::copy};
    std::array<std::atomic<std::uint32_t>, 2> under_way{};
    std::atomic<std::uint32_t> busy{0};  // try-lock of the choice
    WayChoice choice;
  };
  struct Peer {
    std::atomic<std::int64_t> last_end{0};
    std::array<Kind, kSizes> kinds;
  };

  /// Gaps count because some are the way's doing: while copies overlap the posts of the next messages, reads
  /// end before these. They are bounded because most are the program's.
  [[nodiscard]] static std::int64_t time_of(std::int64_t started, std::int64_t before,
                                            std::int64_t now) noexcept {
    const std::int64_t own = std::max<std::int64_t>(now - std::max(started, before), 1);
    return before == 0 ? own : std::clamp(now - before, own, own * (1 + kMostGap));
  }
  [[nodiscard]] static std::size_t index_of(Way way) noexcept { return static_cast<std::size_t>(way); }
  [[nodiscard]] static std::size_t slot_of(int peer) noexcept {
    return static_cast<std::size_t>(peer) % kPeers;
  }
  [[nodiscard]] Kind& kind_of(int peer, std::size_t bytes) noexcept {
    const std::size_t size = static_cast<std::size_t>(std::bit_width(bytes / kLeastBytes | 1)) - 1;
    return peers_[slot_of(peer)].kinds[std::min(size, kSizes - 1)];
  }

  std::array<Peer, kPeers> peers_;
};

}  // namespace weft::core
