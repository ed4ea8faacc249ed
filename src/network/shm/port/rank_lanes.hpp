// Lanes that all devices of a rank share.
#pragma once

#include "network/shm/lane/send_state.hpp"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::network::shm {

/// Lanes for devices that get no lane of their own, because all announcements at the peer's device are taken
/// or this rank's segment is nearly full. For each traffic class to each device of each peer the rank may
/// always have one lane, which its devices share under the lane's lock, whatever endpoints they have. Inlined
/// posts do not use these lanes. Any thread.
class RankLanes {
 public:
  /// `shared` must outlive the object.
  RankLanes(const Shared& shared, int ranks) : shared_(shared), ranks_(static_cast<std::size_t>(ranks)) {}
  /// Closes the lanes.
  ~RankLanes();
  RankLanes(const RankLanes&) = delete;
  RankLanes& operator=(const RankLanes&) = delete;

  /// Returns the lane, or nullptr when there is none yet.
  [[nodiscard]] SendState* find(const Outgoing& outgoing) const noexcept {
    // Both loads pair with the releases in open().
    const Row* const row = rows_[row_of(outgoing)].load(std::memory_order_acquire);
    return row != nullptr ? row[outgoing.peer].load(std::memory_order_acquire) : nullptr;
  }
  /// Finds the lane or makes it. Returns nullptr, with `refusal` set, when it cannot be made. Throws
  /// std::bad_alloc.
  SendState* open(const Outgoing& outgoing, const Peer& peer, SendResult& refusal);
  /// Gives up the lanes to a peer that has left. Returns false when a thread is sending to it, or holds the
  /// mutex.
  [[nodiscard]] bool give_up(int peer) noexcept;
  [[nodiscard]] bool drained() noexcept;
  /// Adds the messages that peers have not read, by rank.
  void add_unconsumed(std::map<int, Port::Unconsumed>& by_rank);

 private:
  using Row = std::atomic<SendState*>;
  [[nodiscard]] static std::size_t row_of(const Outgoing& outgoing) noexcept {
    return static_cast<std::size_t>(outgoing.traffic) * detail::DevicePath::kMaxDevices + outgoing.device;
  }
  void say_full(const Outgoing& outgoing, bool is_full);

  const Shared& shared_;
  const std::size_t ranks_;
  std::array<std::atomic<const Row*>, kTrafficClasses * detail::DevicePath::kMaxDevices> rows_{};
  std::mutex mutex_;  // the data path only tries it; guards what follows
  std::vector<std::unique_ptr<Row[]>> owned_rows_;
  std::vector<std::unique_ptr<SendState>> states_;
  bool has_said_shared_ = false;
  bool has_said_full_ = false;
};

}  // namespace weft::network::shm
