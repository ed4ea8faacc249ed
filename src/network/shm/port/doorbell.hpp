// Hot and cold lanes, doorbells, parking.
#pragma once

#include "network/network.hpp"
#include "network/shm/lane/receive_lanes.hpp"
#include "network/shm/lane/reply_slots.hpp"
#include "network/shm/lane/send_state.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weft::network::shm {

/// Takes up the lanes that peers announce, decides which lanes are hot, and lets threads sleep until a
/// message comes.
///
/// A cold lane is not polled. Its sender sees LaneControl::cold after having written a slot and sets a bit in
/// the receiver's doorbells. The pair "write slot, read cold" against "write cold, read slot" needs a full
/// barrier on both sides: the receiver, who cools rarely, pays for both with a barrier in all processes of
/// the job (membarrier(2), global expedited), so that the sender executes none.
class Doorbell {
 public:
  /// All must outlive the object.
  Doorbell(const Shared& shared, ReceiveLanes& lanes, ReplySlots& reply_slots) noexcept
      : shared_(shared), lanes_(lanes), reply_slots_(reply_slots) {}

  /// Heats the lanes whose doorbells have been rung, also new ones. Returns false when another thread heats
  /// or cools lanes.
  bool answer() noexcept;
  /// Cools the hot lanes; `only_idle`: those that nothing has come by since the last call. Returns false when
  /// a lane has a message, or another thread has one entered or heats or cools lanes.
  bool cool(bool only_idle) noexcept;
  // See Port.
  [[nodiscard]] bool prepare_park() noexcept { return cool(false) && !has_rung(); }
  [[nodiscard]] std::uint32_t park_token() const noexcept {
    return lanes_.area().bell.load(std::memory_order_seq_cst);
  }
  [[nodiscard]] bool park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept;
  void wake(std::uint32_t bits) noexcept;
  [[nodiscard]] bool has_parked() const noexcept {
    return lanes_.area().parked.load(std::memory_order_relaxed) != 0;
  }

  // attach.cpp
  /// Detaches the lanes from the peer; lanes with messages are detached once the messages have been
  /// delivered. Returns true when all are detached.
  [[nodiscard]] bool detach_lanes_of(int peer) noexcept;

 private:
  [[nodiscard]] bool has_rung() const noexcept;
  bool attach(std::uint32_t index) noexcept;
  [[nodiscard]] ReceiveLane* open_lane_at(std::uint32_t index) const noexcept;

  const Shared& shared_;
  ReceiveLanes& lanes_;
  ReplySlots& reply_slots_;
  alignas(64) std::atomic<std::uint32_t> hot_set_lock_{0};  // for lanes that become hot or cold
};

}  // namespace weft::network::shm
