// The part of the shared-memory network that belongs to one device.
//
// Sending: each (peer, device of the peer, traffic class) has a lane whose ring lies in this rank's segment.
// Threads that share the device spread over several lanes for data.
// Receiving: peers announce their lanes in this device's area; the port polls the hot lanes, and learns by
// doorbell about messages in cold ones.
// Sources: send.cpp, lane_setup.cpp, poll.cpp, receive.cpp, receive_slow.cpp, reply_slot.cpp,
// by_priority.cpp, shared_device.cpp, pairing.cpp, doorbell.cpp, access.cpp, failure.cpp, lane_counters.cpp.
#pragma once

#include "base/log.hpp"
#include "network/network.hpp"
#include "network/shm/lane/receive_lanes.hpp"
#include "network/shm/lane/reply_slots.hpp"
#include "network/shm/lane/send_state.hpp"
#include "network/shm/port/region_access.hpp"
#include "network/shm/port/send_lanes.hpp"
#include "network/shm/segment/peers.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::network::shm {

/// The capabilities of the ports of a network with these attributes.
[[nodiscard]] Capabilities capabilities_of(const Shared& shared) noexcept;

class ShmPort final : public Port {
 public:
  ShmPort(const Shared& shared, std::uint32_t index, detail::DevicePath& path, detail::PayloadLender& copier);
  ~ShmPort() override;

  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  SendResult send(const Outgoing& outgoing, Bytes payload, bool exclusive) noexcept override;
  SendResult send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size,
                         bool exclusive) noexcept override;
  bool read(int peer, std::uint64_t address, std::span<std::byte> local) noexcept override {
    return access_.read(peer, address, local);
  }
  AccessResult put(int peer, const RemoteMemory& to, Bytes from, const std::uint64_t*, std::uint64_t,
                   bool) noexcept override {
    return access_.put(peer, to, from);
  }
  AccessResult get(int peer, const RemoteMemory& from, std::span<std::byte> to, std::uint64_t,
                   bool) noexcept override {
    return access_.get(peer, from, to);
  }
  AccessResult locate(int peer, const RemoteMemory& memory, std::size_t size,
                      std::byte*& place) noexcept override {
    return access_.locate(peer, memory, size, place);
  }
  [[nodiscard]] bool has_left(int peer) noexcept override {
    const Peer* known = shared_.peers->contact(peer);
    return known != nullptr ? known->has_left() : shared_.peers->departed(peer);
  }
  bool reclaim(int peer, bool exclusive) noexcept override;
  std::size_t poll(Sink& sink, std::size_t limit, bool exclusive) noexcept override;
  bool prepare_park(bool exclusive) noexcept override;
  [[nodiscard]] std::uint32_t park_token() const noexcept override;
  bool park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept override;
  void wake(std::uint32_t bits) noexcept override;
  [[nodiscard]] bool has_parked() const noexcept override {
    return lanes_.area().parked.load(std::memory_order_relaxed) != 0;
  }
  void quiesce() noexcept override;
  [[nodiscard]] bool drained() noexcept override { return sends_.drained(); }
  [[nodiscard]] std::string undelivered() override;
  [[nodiscard]] std::vector<Unconsumed> unconsumed() override;
  [[nodiscard]] Traffic traffic() noexcept override;

 private:
  friend void detail::ring_doorbell(detail::SendLane& lane) noexcept;
  static constexpr int kPolledAllUpTo = 16;    // hot lanes; with more, idle ones are cooled
  static constexpr std::uint32_t kSkips = 15;  // polls in a row that may leave out the lanes of other threads
  /// For polls of all lanes: the lane that was last found with messages.
  struct alignas(64) Recent {
    std::atomic<std::uint32_t> lane{0};
    std::atomic<std::uint32_t> in_a_row{0};  // polls in a row that took messages from it, up to kInARow
    std::atomic<std::uint32_t> skips{0};     // polls that may still leave out the other lanes
  };
  /// For the threads with one thread number, modulo the number of columns, that share the device.
  struct alignas(64) Skips {
    std::atomic<std::uint32_t> left{0};  // polls that may still leave out the lanes of other threads
  };

  // attach.cpp
  bool attach(std::uint32_t index) noexcept;
  bool empty_lanes(int peer, bool exclusive) noexcept;
  // by_priority.cpp
  std::size_t poll_in_order(Sink& sink, std::size_t limit, bool exclusive) noexcept;
  std::size_t poll_urgent(Sink& sink, std::size_t limit, bool exclusive) noexcept;
  std::size_t poll_bulk(Sink& sink, bool exclusive) noexcept;
  // shared_device.cpp
  std::size_t poll_own_first(Sink& sink, std::size_t limit) noexcept;
  std::size_t visit_lane(std::uint32_t index, Sink& sink, std::size_t limit, std::uint32_t visitor,
                         bool alone, bool& awaits_answer) noexcept;
  // receive.cpp
  std::size_t poll_lane(std::uint32_t index, Sink& sink, std::size_t limit, bool exclusive) noexcept;
  void cool_now_and_then(bool exclusive) noexcept;
  std::size_t poll_all(std::uint32_t words, Sink& sink, std::size_t limit, bool exclusive) noexcept;
  static bool enter(ReceiveLane& lane, bool exclusive) noexcept;
  std::size_t poll_ping_pong(Sink& sink, std::size_t limit, bool exclusive) noexcept;
  void note_visit(std::uint32_t index) noexcept;
  std::size_t receive(ReceiveLane& lane, Sink& sink, std::size_t limit, bool alone) noexcept;
  std::size_t receive_ring(ReceiveLane& lane, Sink& sink, std::size_t limit, bool alone,
                           bool is_due) noexcept;
  void publish_credit(ReceiveLane& lane, std::uint64_t head) noexcept;
  std::uint64_t deliver_multi_slot(ReceiveLane& lane, std::uint64_t header, std::uint64_t& head,
                                   std::size_t limit, Sink& sink) noexcept;
  bool deliver_slow(ReceiveLane& lane, detail::Slot& slot, std::uint64_t header, Sink& sink) noexcept;
  bool deliver_packet(ReceiveLane& lane, const detail::Slot& slot, std::uint64_t header, Sink& sink) noexcept;
  void follow(ReceiveLane& lane, const detail::Slot& slot, Sink& sink) noexcept;
  // receive.cpp
  bool receive_reply_slot(ReceiveLane& lane, Sink& sink) noexcept;
  class ReplySlotPlace;
  void reply_slot_is_read(ReceiveLane& lane, detail::Slot& reply_slot, std::uint64_t header) noexcept;
  void hand_on_slow(ReceiveLane& lane, detail::Slot& reply_slot, std::uint32_t turn, std::uint64_t detour,
                    std::size_t size) noexcept;
  static void end_rest(ReceiveLane& lane) noexcept;
  // doorbell.cpp
  [[nodiscard]] bool has_rung() const noexcept;
  bool answer_doorbells(bool exclusive) noexcept;
  bool cool(bool only_idle, bool exclusive) noexcept;

  const Shared shared_;
  const Capabilities capabilities_;
  detail::PayloadLender& copier_;
  RegionAccess access_{shared_};
  ReceiveLanes lanes_;
  ReplySlots reply_slots_;
  std::atomic<std::uint32_t> bulk_turn_{0};  // lane with which the next poll of bulk lanes begins
  Recent recent_;
  std::array<Skips, ReceiveLanes::kColumns> skips_;
  alignas(64) std::atomic<std::uint32_t> temperature_lock_{0};  // for heating and cooling lanes
  SendLanes sends_;
};

}  // namespace weft::network::shm
