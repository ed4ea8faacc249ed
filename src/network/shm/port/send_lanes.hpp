// The lanes that lead from a device.
#pragma once

#include "base/fork_watch.hpp"
#include "network/network.hpp"
#include "network/shm/lane/reply_slots.hpp"
#include "network/shm/lane/send_state.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::network::shm {

// multi_slots.cpp
/// Notes in the packet that the peer holds it, and returns the reference that is sent to the peer.
PacketReference lend_packet(std::byte* packet, std::uint32_t index, const Peer& peer,
                            std::size_t size) noexcept;

/// The lanes of a device by traffic class, device of the peer, peer and column of threads, made at the first
/// message; and the slow path of sending, behind inlined posts: several slots, packets, full lanes, growth.
/// Any thread, unless a function says otherwise.
class SendLanes {
 public:
  /// Fills `path` with the lanes for data. All must outlive the object.
  SendLanes(const Shared& shared, detail::DevicePath& path, ReplySlots& reply_slots);

  /// See Port::set_exclusive().
  void set_exclusive(bool exclusive) noexcept { is_exclusive_.store(exclusive, std::memory_order_relaxed); }
  [[nodiscard]] bool is_exclusive() const noexcept { return is_exclusive_.load(std::memory_order_relaxed); }

  // send.cpp
  /// Sends a message of `slots` slots: `fill` writes it, all but the word and the header.
  template <class Fill>
  SendResult send(const Outgoing& outgoing, std::size_t slots, std::uint64_t header_size,
                  detail::SlotKind kind, const Fill& fill) noexcept;

  // send_lanes.cpp
  /// Gives up the lanes to a peer that has left and releases their rings. Returns false when a thread is
  /// sending in one of them, or makes a lane.
  [[nodiscard]] bool give_up(int peer) noexcept;
  /// See Port::drained().
  [[nodiscard]] bool drained() noexcept;
  /// Adds the messages that peers have not read, by rank.
  void add_unconsumed(std::map<int, Port::Unconsumed>& by_rank);
  /// Adds what was sent, and the number of lanes.
  void add_traffic(Port::Traffic& traffic) noexcept;
  /// Before close(): keeps the segment mapped for ranks of this process that have not read everything.
  void keep_unread() noexcept;
  /// Ends the lanes. Nothing is sent any more.
  void close() noexcept;

 private:
  using LaneRow = detail::DevicePath::LaneRow;
  [[nodiscard]] detail::DevicePath& path_for(TrafficClass traffic) noexcept {
    return traffic == TrafficClass::data ? path_ : other_paths_[static_cast<std::size_t>(traffic) - 1];
  }
  [[nodiscard]] std::size_t row_size() const noexcept;
  SendState* lane_for(const Outgoing& outgoing, SendResult& refusal) noexcept;
  SendState* set_up_lane(const Outgoing& outgoing, std::uint32_t column, SendResult& refusal) noexcept;
  SendState* make_lane(const Outgoing& outgoing, std::uint32_t stripe, SendResult& refusal);
  void close_in_forked_child() noexcept;
  // send.cpp
  [[nodiscard]] bool make_room(SendState& state, std::size_t slots, std::uint32_t most) noexcept;
  [[nodiscard]] bool find_room(SendState& state, std::size_t slots) noexcept;
  [[nodiscard]] bool grow(SendState& state, std::uint32_t most) noexcept;

  const Shared& shared_;
  detail::DevicePath& path_;
  ReplySlots& reply_slots_;
  std::array<detail::DevicePath, kTrafficClasses - 1> other_paths_;  // by TrafficClass from control on
  std::atomic<std::uint64_t> grown_{0};
  std::atomic<bool> is_exclusive_{false};  // one thread at a time sends
  std::atomic<bool> shares_lanes_{false};  // the device uses a lane of RankLanes
  std::mutex mutex_;                       // the data path only tries it; guards what follows
  std::vector<std::unique_ptr<SendState>> states_;
  std::unique_ptr<LaneRow[]> no_lanes_;  // row of devices that have not been contacted
  std::array<std::unique_ptr<LaneRow[]>,
             kTrafficClasses * detail::DevicePath::kMaxDevices>
      rows_;  // by TrafficClass, then by device of the peer
  const base::ForkWatch fork_watch_{
      [](void* lanes) noexcept { static_cast<SendLanes*>(lanes)->close_in_forked_child(); }, this};
};

}  // namespace weft::network::shm
