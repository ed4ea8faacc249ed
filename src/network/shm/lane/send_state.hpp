// Resources that the ports of a rank share, and the sending half of a lane.
#pragma once

#include "base/log.hpp"
#include "network/multi_slot_lane.hpp"
#include "network/network.hpp"
#include "network/shm/memory/remote_windows.hpp"
#include "network/shm/segment/packet_returns.hpp"
#include "network/shm/segment/peer_packets.hpp"
#include "network/shm/segment/peers.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <vector>

namespace weft::network::shm {

class RankLanes;

/// Resources that the ports of a rank share.
struct Shared {
  std::shared_ptr<Segment> segment;
  Peers* peers;
  RemoteWindows* remote_windows;
  std::vector<std::unique_ptr<PeerPackets>>* peer_packets;  // by rank
  PacketReturns* packet_returns;
  RankLanes* rank_lanes;
  std::size_t inline_max;
  std::uint32_t lane_slots;
  std::uint32_t lane_slots_max;
  std::uint32_t thread_lanes;
  bool has_process_barrier;
  base::Log log;
};

/// The sending half of a lane; SendLane is the part that inlined posts use.
struct SendState : MultiSlotLane {
  const Peer* peer = nullptr;
  DeviceArea* area = nullptr;  // of the receiving device
  std::uint32_t index = 0;     // index of the announcement, and of the doorbell bit
  Segment::Ring ring;
  TrafficClass traffic = TrafficClass::data;
  std::uint32_t stripe = 0;   // of the threads that send, when threads spread over lanes
  bool is_shared = false;     // by devices of this rank: always entered under its lock
  bool is_given_up = false;   // the peer has left; under the lane's lock
  std::uint64_t lost = 0;     // upper bound of the messages that the peer had not consumed when it left
  std::uint64_t earlier = 0;  // positions of rings that the lane has left
  std::atomic<bool> is_paired{false};          // with the lane of the other direction, for a reply slot
  std::atomic<detail::Slot*> paired{nullptr};  // the reply slot, also while it is not here
  std::uint64_t reply_slots = 0;  // how often the reply slot has come; written by the receiving half
  // In lanes of control: the last message that is no notice, and its header, 0 when it was read at once.
  std::atomic<const detail::Slot*> awaited{nullptr};
  std::atomic<std::uint64_t> awaited_header{0};
  std::uint64_t own_reply_slot = 0;  // offset of the reply slot, when it lies in this rank's segment

  /// The next message may be sent by the reply slot, as this turn: the message in it has been read. Called by
  /// the receiving half, which has it then.
  void take_reply_slot(detail::Slot& slot, std::uint32_t turn) noexcept {
    reply_slot_mark = detail::slot_header(turn, 0, 0, detail::SlotKind{});
    ++reply_slots;
    // Pairs with the acquire in detail::claim_slot(): the message in the reply slot has been read.
    reply_slot.store(&slot, std::memory_order_release);
  }
};

// send_state.cpp
/// Parameters of a lane that is to be opened.
struct LaneRequest {
  const Peer* peer;
  std::uint8_t device;  // of the peer
  TrafficClass traffic;
  std::uint32_t stripe;
  std::uint16_t sender;  // device, or kManyDevices
};

/// Opens a lane and announces it to the peer. Returns nullptr, with `refusal` set, when that is impossible;
/// `is_full` is true when this rank's segment has no room. Throws std::bad_alloc.
[[nodiscard]] std::unique_ptr<SendState> open_lane(const Shared& shared, const LaneRequest& request,
                                                   SendResult& refusal, bool& is_full);
/// Writes the end mark into the lane, and releases its ring once the peer has read the mark.
void close_lane(const Shared& shared, SendState& state) noexcept;
/// LaneControl of lanes in which nothing can be sent any more: its credit claims more than was ever written,
/// which no lane accepts, so that posts find no slot.
inline constinit detail::LaneControl no_credit{~std::uint64_t{0}, 0, 0, 1};
/// Gives up a lane to a peer that has left: nothing is sent in it any more. Returns false when a thread is
/// sending in it.
[[nodiscard]] bool give_up_lane(const Shared& shared, SendState& state, bool exclusive) noexcept;
/// Returns true when the peer has read everything that was sent in the lane.
[[nodiscard]] bool is_consumed(const Shared& shared, const SendState& state) noexcept;
/// Returns true when the peer has not read something that was sent in the lane, other than notices.
[[nodiscard]] bool is_awaited(const Shared& shared, const SendState& state) noexcept;
/// For a lane that is not consumed: the number of messages, and parts of messages, that have not been read as
/// far as is known.
[[nodiscard]] std::uint64_t waiting(const SendState& state) noexcept;
/// Adds the messages that the peer has not read, or had not read when it left.
void add_unconsumed(const Shared& shared, const SendState& state, std::map<int, Port::Unconsumed>& by_rank);
/// Called before a lane to a rank of this process is closed: keeps the segment mapped for that rank while the
/// lane holds unread messages.
void keep_if_unread(const Shared& shared, const SendState& state) noexcept;

}  // namespace weft::network::shm
