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
#include "concurrent/owned_try_lock.hpp"
#include "network/multi_slot_lane.hpp"
#include "network/network.hpp"
#include "network/shm/memory/remote_windows.hpp"
#include "network/shm/lane/poll_delay.hpp"
#include "network/shm/lane/send_state.hpp"
#include "network/shm/lane/stream_pacing.hpp"
#include "network/shm/segment/packet_returns.hpp"
#include "network/shm/segment/peer_packets.hpp"
#include "network/shm/segment/peers.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::network::shm {

/// The capabilities of the ports of a network with these attributes. In lane_setup.cpp.
[[nodiscard]] Capabilities capabilities_of(const Shared& shared) noexcept;

// multi_slots.cpp
/// Notes in the packet that the peer holds it, and returns the reference that is sent to the peer.
PacketReference lend_packet(std::byte* packet, std::uint32_t index, const Peer& peer,
                            std::size_t size) noexcept;

/// Reply slot of lanes that have none: always empty.
inline constinit detail::Slot no_reply_slot{.header = 0, .word = 0, .payload = {}};

/// Statistics that find the lane which answers a lane without a reply slot. Guarded by the lock of the
/// latter.
struct PingPong {
  std::uint32_t periods = 0;   // returns of credit so far; each begins new counts
  std::uint64_t received = 0;  // positions until the last return of credit, of all rings of the lane
  const SendState* answering = nullptr;                             // the lane that seems to answer
  std::array<std::uint64_t, detail::DevicePath::kNoColumn> sent{};  // positions of the lane of each column
};

/// The receiving half of a lane. `next` is the slot that polls read without the lock: the slot at `head`, or
/// one that is never empty while the lane has other work to do.
struct alignas(64) ReceiveLane {
  std::atomic<const detail::Slot*> next{nullptr};
  detail::Slot* slots = nullptr;
  std::uint64_t mask = 0;
  std::uint64_t head = 0;
  std::uint64_t credit_at = 0;  // position beyond which credit is returned to the sender again
  detail::LaneControl* control = nullptr;
  concurrent::OwnedTryLock<> lock;  // closed when the lane has ended
  StreamPacing pacing;
  std::atomic<std::uint32_t> visitor{
      0};  // number of the thread that last took a message, plus one; see shared_device.cpp
  // The reply slot that polls read, and the turn of its next message.
  std::atomic<detail::Slot*> reply_slot{&no_reply_slot};
  std::atomic<std::uint32_t> turn{0xffffffff};
  std::uint32_t passed = 0;               // messages that have come by the reply slot, modulo kPassed
  std::atomic<SendState*> back{nullptr};  // the lane that has the reply slot next
  std::uint64_t reply_slot_head = 0;      // `head` when the reply slot was here last
  std::atomic<bool> is_ping_pong{false};  // `head` did not move between the reply slot's last two messages
  std::uint32_t detours = 0;              // messages of the reply slot in a row before which `head` moved
  std::uint64_t rests_until = 0;  // `head` at which the reply slot is used again; 0: it is not resting here
  std::uint32_t few = 0;          // polls of the ring in a row that have taken one or two messages
  std::uint32_t last_visit = 0;   // messages that the last poll of the ring has taken
  std::atomic<bool> was_empty{false};  // a poll has been empty since messages were last taken
  bool handlers_answer = false;        // the last active message of several slots made its handler post one
  PollDelay poll_delay;
  std::atomic<bool> is_paired{false};
  std::uint32_t index = 0;
  std::uint16_t device = 0;  // of the peer
  std::uint16_t stripe = 0;
  bool is_data = false;
  const Peer* peer = nullptr;
  PeerPackets* packets = nullptr;
  std::uint64_t own_reply_slot = 0;  // offset of the reply slot, when it lies in this rank's segment
  std::uint64_t swept_at = 0;        // position at the last sweep for idle lanes
  // For traffic(); earlier lanes with this index included.
  std::uint64_t earlier = 0;  // positions of rings that the lane has left, and messages of the reply slot
  std::uint64_t other = 0;    // positions at which no message began
  std::uint64_t bytes = 0;    // of messages in several slots or a packet
  // pairing.cpp
  PingPong ping_pong;
  bool is_owned = false;  // by the threads whose lane answers this one: set_owners()

  /// Resets a lane that has ended and that no thread has entered, for another lane in its place. Polls may
  /// still read it, and find it empty.
  void begin_again() noexcept {
    next.store(&no_reply_slot, std::memory_order_relaxed);
    reply_slot.store(&no_reply_slot, std::memory_order_relaxed);
    turn.store(0xffffffff, std::memory_order_relaxed);
    back.store(nullptr, std::memory_order_relaxed);
    visitor.store(0, std::memory_order_relaxed);
    is_ping_pong.store(false, std::memory_order_relaxed);
    was_empty.store(false, std::memory_order_relaxed);
    is_paired.store(false, std::memory_order_relaxed);
    poll_delay.begin_again();
    earlier += head;  // positions of the former lanes
    pacing = {};
    reply_slot_head = rests_until = swept_at = own_reply_slot = 0;
    passed = detours = few = last_visit = 0;
    handlers_answer = is_owned = false;
    ping_pong = {};
  }

  /// Returns true when this rank has used its turn, so that the reply slot will come back with the peer's
  /// answer, and the last answers came by the reply slot alone. Does not read the reply slot.
  [[nodiscard]] bool awaits_answer() const noexcept {
    // Pairs with the releases in offer_reply_slot() and accept_reply_slot(): the caller has not entered the
    // lane.
    const SendState* const used = back.load(std::memory_order_acquire);
    return is_ping_pong.load(std::memory_order_relaxed) && used != nullptr &&
           used->reply_slot.load(std::memory_order_relaxed) == nullptr;
  }
  /// Waits before the first poll for an answer in a ping-pong. Empty polls, too, may call it.
  [[gnu::always_inline]] void await_first_poll() noexcept {
    if (poll_delay.is_first() && awaits_answer()) poll_delay.before_first();
  }
  /// Notes an empty poll. Writes once per message.
  void found_empty() noexcept {
    if (!was_empty.load(std::memory_order_relaxed)) was_empty.store(true, std::memory_order_relaxed);
  }
  /// Returns the number of messages that a poll of the ring may take, at most `limit`. When messages come one
  /// by one, and this one came while this rank was polling, the poll takes one and does not read the next
  /// slot: its sender is about to write that slot, and keeps the line until this rank reads it.
  /// docs/decisions/025.
  [[nodiscard]] std::size_t most_of_visit(std::size_t limit) noexcept {
    if (!was_empty.load(std::memory_order_relaxed)) return limit;
    was_empty.store(false, std::memory_order_relaxed);
    return few >= kFewVisits && few % kLookAgain != 0 ? 1 : limit;
  }
  /// Notes that a poll of the ring has taken `count` messages. Two messages count as one, and one that came
  /// meanwhile.
  void visited(std::size_t count) noexcept {
    few = count <= 2 ? few + 1 : 0;
    last_visit = static_cast<std::uint32_t>(count);
  }
  /// Returns the number of messages that have probably come before a poll: as many as the last poll took, or
  /// 0 after an empty poll, when the receiver keeps up with the sender. To be called before most_of_visit().
  [[nodiscard]] std::size_t expected_of_visit() const noexcept {
    return was_empty.load(std::memory_order_relaxed) ? 0 : last_visit;
  }
  [[nodiscard]] bool lets_reply_slot_rest(std::uint64_t detour, std::size_t size) noexcept;
  /// Returns the lane that has the reply slot next, or nullptr when there is none or the peer has left.
  [[nodiscard]] SendState* next_holder() const noexcept {
    SendState* const holder = back.load(std::memory_order_relaxed);
    return holder != nullptr && !peer->has_left() ? holder : nullptr;
  }
  static constexpr std::uint32_t kFewVisits = 8;
  static constexpr std::uint32_t kLookAgain = 32;
  /// Returns true when a header is that of the reply slot's next message.
  [[nodiscard]] bool is_due(std::uint64_t reply_slot_header) const noexcept {
    return static_cast<std::uint32_t>(reply_slot_header >> 32) == turn.load(std::memory_order_relaxed);
  }
};

class ShmPort final : public Port {
 public:
  ShmPort(const Shared& shared, std::uint32_t index, detail::DevicePath& path, detail::PayloadLender& copier);
  ~ShmPort() override;

  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  SendResult send(const Outgoing& outgoing, Bytes payload, bool exclusive) noexcept override;
  SendResult send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size,
                         bool exclusive) noexcept override;
  bool read(int peer, std::uint64_t address, std::span<std::byte> local) noexcept override;
  AccessResult put(int peer, const RemoteMemory& to, Bytes from, const std::uint64_t* immediate,
                   std::uint64_t token, bool exclusive) noexcept override;
  AccessResult get(int peer, const RemoteMemory& from, std::span<std::byte> to, std::uint64_t token,
                   bool exclusive) noexcept override;
  AccessResult locate(int peer, const RemoteMemory& memory, std::size_t size,
                      std::byte*& place) noexcept override;
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
    return area_->parked.load(std::memory_order_relaxed) != 0;
  }
  void quiesce() noexcept override;
  [[nodiscard]] bool drained() noexcept override;
  [[nodiscard]] std::string undelivered() override;
  [[nodiscard]] std::vector<Unconsumed> unconsumed() override;
  [[nodiscard]] Traffic traffic() noexcept override;

 private:
  friend void detail::ring_doorbell(detail::SendLane& lane) noexcept;
  static constexpr std::size_t kWords = kMaxLanes / 64;
  static constexpr int kPolledAllUpTo = 16;  // hot lanes; with more, idle ones are cooled
  /// The index of the lane of the lowest bit in a word of a set.
  [[nodiscard]] static constexpr std::uint32_t index_of(std::uint32_t word, std::uint64_t bits) noexcept {
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
  }
  using LaneSet = std::array<std::atomic<std::uint64_t>, kWords>;
  static constexpr std::uint32_t kSkips = 15;  // polls in a row that may leave out the lanes of other threads
  /// For polls of all lanes: the lane that was last found with messages.
  struct alignas(64) Recent {
    std::atomic<std::uint32_t> lane{0};
    std::atomic<std::uint32_t> in_a_row{0};  // polls in a row that took messages from it, up to kInARow
    std::atomic<std::uint32_t> skips{0};     // polls that may still leave out the other lanes
  };
  /// State of the threads with one thread number, modulo the number of columns, that share the device.
  struct alignas(64) Column {
    LaneSet own{};                        // lanes that these threads poll first
    std::atomic<std::uint32_t> skips{0};  // polls that may still leave out the lanes of other threads
  };

  // send.cpp
  template <class Fill>
  SendResult send_slots(const Outgoing& outgoing, std::size_t slots, std::uint64_t header_size,
                        detail::SlotKind kind, bool exclusive, const Fill& fill) noexcept;
  bool make_room(SendState& state, std::size_t slots, std::uint32_t most) noexcept;
  bool find_room(SendState& state, std::size_t slots) noexcept;
  bool grow(SendState& state, std::uint32_t most) noexcept;
  // access.cpp
  AccessResult find_peer(int rank, RegionName name, const Peer*& peer) noexcept;
  AccessResult access(int rank, const RemoteMemory& memory, std::byte* local, std::size_t size,
                      bool is_put) noexcept;
  // lane_setup.cpp
  [[nodiscard]] detail::DevicePath& path_for(TrafficClass traffic) noexcept {
    return traffic == TrafficClass::data ? path_ : other_paths_[static_cast<std::size_t>(traffic) - 1];
  }
  SendState* lane_for(const Outgoing& outgoing, bool exclusive, SendResult& refusal) noexcept;
  SendState* set_up_lane(const Outgoing& outgoing, std::uint32_t column, SendResult& refusal) noexcept;
  SendState* make_lane(const Outgoing& outgoing, std::uint32_t stripe, SendResult& refusal);
  [[nodiscard]] std::uint32_t announced() const noexcept;
  bool attach(std::uint32_t index) noexcept;
  void set_traffic(std::uint32_t index, TrafficClass traffic) noexcept;
  void set_columns(std::uint32_t index, TrafficClass traffic, std::uint32_t stripe) noexcept;
  void set_owners(std::uint32_t index, std::uint32_t stripe) noexcept;
  // failure.cpp
  void close_in_forked_child() noexcept;
  bool give_up_lanes(int peer, bool exclusive) noexcept;
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
  /// Returns true when the lane may have a message: a hint, read without the lane's lock. Another thread may
  /// have emptied the slot since, and its sender may be writing a payload over it or be using the ring for
  /// another lane; the value is acted upon only after the lane has been entered and its own slot has been
  /// read again. ThreadSanitizer ignores this function, since plain writes race with this read.
  [[nodiscard]] __attribute__((no_sanitize("thread"))) static bool may_have_message(
      const ReceiveLane& lane) noexcept {
    return lane.next.load(std::memory_order_relaxed)->header.load(std::memory_order_relaxed) != 0 ||
           lane.is_due(
               lane.reply_slot.load(std::memory_order_relaxed)->header.load(std::memory_order_relaxed));
  }
  [[nodiscard]] ReceiveLane& lane_at(std::uint32_t index) const noexcept {
    return *lanes_[index].load(std::memory_order_acquire);  // pairs with the release in attach()
  }
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
  void detach(ReceiveLane& lane, Announcement::State state) noexcept;
  // reply_slot.cpp
  void pair(SendState& state, const Outgoing& outgoing) noexcept;
  void pair(ReceiveLane& lane) noexcept;
  void offer_reply_slot(ReceiveLane& lane, SendState& back) noexcept;
  void accept_reply_slot(ReceiveLane& lane) noexcept;
  void resume_reply_slot(ReceiveLane& lane) noexcept;
  static void hand_reply_slot(SendState& state, detail::Slot& reply_slot, std::uint32_t turn) noexcept {
    state.reply_slot_mark = detail::slot_header(turn, 0, 0, detail::SlotKind{});
    ++state.reply_slots;
    // Pairs with the acquire in detail::claim_slot(): the message in the reply slot has been read.
    state.reply_slot.store(&reply_slot, std::memory_order_release);
  }
  bool receive_reply_slot(ReceiveLane& lane, Sink& sink) noexcept;
  class ReplySlotPlace;
  void reply_slot_is_read(ReceiveLane& lane, detail::Slot& reply_slot, std::uint64_t header) noexcept;
  void hand_on_slow(ReceiveLane& lane, detail::Slot& reply_slot, std::uint32_t turn, std::uint64_t detour,
                    std::size_t size) noexcept;
  static void end_rest(ReceiveLane& lane) noexcept;
  [[nodiscard]] static bool has_reply_slot_message(const ReceiveLane& lane) noexcept {
    return lane.is_due(
        lane.reply_slot.load(std::memory_order_acquire)->header.load(std::memory_order_acquire));
  }
  // pairing.cpp
  SendState* answering_lane(ReceiveLane& lane, std::uint64_t received) noexcept;
  void end_epoch(ReceiveLane& lane, std::uint32_t epoch) noexcept;
  void find_answers(ReceiveLane& lane, std::uint64_t head) noexcept;
  // doorbell.cpp
  [[nodiscard]] bool has_rung() const noexcept;
  bool answer_doorbells(bool exclusive) noexcept;
  bool cool(bool only_idle, bool exclusive) noexcept;

  const Shared shared_;
  detail::DevicePath& path_;
  std::array<detail::DevicePath, kTrafficClasses - 1> other_paths_;  // by TrafficClass from control on
  detail::PayloadLender& copier_;
  Capabilities capabilities_;
  DeviceArea* area_;                // of this device, in this rank's segment
  const std::uint32_t lane_count_;  // announcements in the area

  std::atomic<std::uint64_t> lanes_grown_{0};
  std::atomic<bool> shares_lanes_{false};  // the port uses a lane of RankLanes
  std::mutex setup_mutex_;                 // the data path only tries it; guards what follows
  std::vector<std::unique_ptr<SendState>> send_states_;
  std::unique_ptr<detail::DevicePath::LaneRow[]> no_lanes_;  // row of devices that have not been contacted
  std::array<std::unique_ptr<detail::DevicePath::LaneRow[]>,
             kTrafficClasses * detail::DevicePath::kMaxDevices>
      rows_;  // by TrafficClass, then by device of the peer

  alignas(64) LaneSet hot_{};                // lanes that are polled
  LaneSet protocol_{};                       // lanes for the messages and payloads of protocols
  LaneSet urgent_{};                         // lanes of Urgency::first, hot or not
  LaneSet bulk_{};                           // lanes of Urgency::last
  std::atomic<bool> has_classes_{false};     // any lane is urgent or bulk
  std::atomic<std::uint32_t> bulk_turn_{0};  // lane with which the next poll of bulk lanes begins
  Recent recent_;
  std::array<Column, detail::DevicePath::kNoColumn> columns_;
  std::atomic<bool> has_stripes_{false};  // lanes of several stripes lead here
  std::array<std::atomic<ReceiveLane*>, kMaxLanes> lanes_{};
  alignas(64) std::atomic<std::uint32_t> temperature_lock_{0};  // for heating and cooling lanes
  std::vector<std::unique_ptr<ReceiveLane>> receive_lanes_;     // under temperature_lock_
  std::uint32_t stripes_ = 0;  // bits of the stripes that lanes for data have had; under temperature_lock_
  const base::ForkWatch fork_watch_{
      [](void* port) noexcept { static_cast<ShmPort*>(port)->close_in_forked_child(); }, this};
};

}  // namespace weft::network::shm
