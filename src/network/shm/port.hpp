// One device's share of the shared-memory network.
//
// Sending: each (peer, device of the peer, traffic class) has a lane whose ring lies in this rank's segment.
// Threads that share the device spread over several lanes for data.
// Receiving: peers announce their lanes in this device's area; the port polls those that are hot, and learns
// by doorbell about messages in cold ones. Sources: send.cpp, lane_setup.cpp, poll.cpp, receive.cpp,
// receive_rare.cpp, shuttle.cpp, poll_in_order.cpp, poll_own_first.cpp, dialogues.cpp, doorbell.cpp,
// access.cpp, failure.cpp, traffic.cpp.
#pragma once

#include "base/log.hpp"
#include "concurrent/entrance.hpp"
#include "network/network.hpp"
#include "network/shm/packet_returns.hpp"
#include "network/shm/patience.hpp"
#include "network/shm/peer_packets.hpp"
#include "network/shm/peers.hpp"
#include "network/shm/remote_windows.hpp"
#include "network/wide_lane.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::network::shm {

/// What the ports of a rank share.
struct Shared {
  std::shared_ptr<Segment> segment;
  Peers* peers;
  RemoteWindows* remote_windows;
  std::vector<std::unique_ptr<PeerPackets>>* peer_packets;  // by rank
  PacketReturns* packet_returns;
  std::size_t inline_max;
  std::uint32_t lane_slots;
  std::uint32_t lane_slots_max;
  std::uint32_t lanes_max;
  std::uint32_t thread_lanes;
  bool has_process_barrier;
  base::Log log;
};

/// A lane as its sender keeps it; `lane` is the part that inlined posts use.
struct SendState : WideLane {
  const Peer* peer = nullptr;
  DeviceArea* area = nullptr;  // of the receiving device
  std::uint32_t index = 0;     // of the announcement, and of the doorbell bit
  Segment::Ring ring;
  TrafficClass traffic = TrafficClass::data;
  std::uint32_t stripe = 0;                    // of the threads that send, where they spread over lanes
  bool is_given_up = false;                    // the peer has failed; under the lane's lock
  std::uint64_t earlier = 0;                   // positions of rings that the lane has left
  std::atomic<bool> is_paired{false};          // with the lane that comes back, for a shuttle
  std::atomic<detail::Slot*> paired{nullptr};  // the shuttle, wherever it is
  std::uint64_t shuttles = 0;                  // how often it has come; written by the receiving half
};

// wide_slots.cpp
/// Notes whose a packet is from now on, and returns what tells a peer of it.
PacketReference lend_packet(std::byte* packet, std::uint32_t index, int peer, std::size_t size) noexcept;

/// Where lanes without a shuttle look for one: always empty.
inline constinit detail::Slot no_shuttle{.header = 0, .word = 0, .payload = {}};

/// Before a look at a line that the peer is about to write. Who looks again and again makes the peer wait for
/// the line, and has wrong guesses to undo when it has changed: docs/decisions/017.
inline void leave_line_alone(std::int32_t pauses) noexcept {
#if defined(__x86_64__)
  for (; pauses > 0; --pauses) __builtin_ia32_lfence();  // 4 to 6 ns; one `pause` may take 50
#endif
}
inline constexpr std::int32_t kBetweenLooks = 4;  // pauses; before the first look: Patience

/// What is known of which lane answers a lane that has no shuttle yet. Inside that lane.
struct Dialogue {
  std::uint32_t periods = 0;             // credit has been told, each time counting anew
  std::uint64_t received = 0;            // positions until then, of all rings of the lane
  const SendState* answering = nullptr;  // the lane that seems to be it
  std::array<std::uint64_t, detail::DevicePath::kNoColumn> sent{};  // positions of the lane of each column
};

/// A lane as its receiver keeps it. `next` is the slot that is looked at by polls without the lock: the one
/// at `head`, or while there is something else to do one that is never empty.
struct alignas(64) ReceiveLane {
  std::atomic<const detail::Slot*> next{nullptr};
  detail::Slot* slots = nullptr;
  std::uint64_t mask = 0;
  std::uint64_t head = 0;
  std::uint64_t credit_at = 0;  // position beyond which the sender is told again what has been read
  detail::LaneControl* control = nullptr;
  concurrent::Entrance<> entrance;  // closed: the lane has ended
  std::uint64_t awaited = 0;        // position that the last pause has waited for
  std::uint64_t streamed = 0;       // messages that have come without gaps
  std::atomic<std::uint32_t> visitor{
      0};  // last that took something, its number plus one; see poll_own_first.cpp
  // Where polls look for the shuttle's next message, and what turn that is.
  std::atomic<detail::Slot*> shuttle{&no_shuttle};
  std::atomic<std::uint32_t> turn{0xffffffff};
  std::uint32_t passed = 0;               // messages that have come by it, modulo kPassed
  std::atomic<SendState*> back{nullptr};  // the lane that has the shuttle next
  std::uint64_t shuttle_head = 0;         // `head` when it was here last
  std::atomic<bool> is_dialogue{false};   // `head` did not move between its last two visits
  std::uint32_t detours = 0;              // visits in a row before which it did
  std::uint64_t rests_until = 0;          // `head` with which the shuttle goes on; 0: it does not rest here
  std::uint32_t few = 0;                  // visits of the ring in a row that have found one message or two
  std::uint32_t last_visit = 0;           // messages that the last one has taken
  std::atomic<bool> was_empty{false};     // at a look since the last visit
  // In a dialogue: the next look for an answer will be the first, and how long that waits.
  std::atomic<bool> first_look{false};
  bool handlers_answer = false;  // the last active message of several slots made its handler post one
  Patience patience;
  std::atomic<bool> is_paired{false};
  std::uint32_t index = 0;
  std::uint16_t device = 0;  // of the peer
  std::uint16_t stripe = 0;
  bool is_data = false;
  const Peer* peer = nullptr;
  PeerPackets* packets = nullptr;
  std::uint64_t swept_at = 0;  // what had come at the last sweep for idle lanes
  // For traffic(); of earlier lanes with this index as well.
  std::uint64_t earlier = 0;  // positions of rings that the lane has left, and messages of the shuttle
  std::uint64_t other = 0;    // positions at which no message began
  std::uint64_t bytes = 0;    // of messages in several slots or a packet
  // dialogues.cpp
  Dialogue dialogue;
  bool is_owned = false;  // by the threads whose lane answers it: set_owners()

  /// Whether this rank has used its turn, so that the shuttle will come back when the peer answers, and the
  /// last answers came by it alone. Does not look at the shuttle.
  [[nodiscard]] bool awaits_answer() const noexcept {
    // Pairs with the releases in offer_shuttle() and accept_shuttle(): nobody is inside the lane here.
    const SendState* const used = back.load(std::memory_order_acquire);
    return is_dialogue.load(std::memory_order_relaxed) && used != nullptr &&
           used->shuttle.load(std::memory_order_relaxed) == nullptr;
  }
  /// A look has found nothing. Writes once per message.
  void looked_in_vain() noexcept {
    if (!was_empty.load(std::memory_order_relaxed)) was_empty.store(true, std::memory_order_relaxed);
  }
  /// How many messages a visit of the ring takes, of at most `limit`. Where they come one by one, and this
  /// one has come while this rank was looking, it is one, and the next slot is left alone: its sender is
  /// about to write it, and has the line until this rank looks. docs/decisions/025.
  [[nodiscard]] std::size_t most_of_visit(std::size_t limit) noexcept {
    if (!was_empty.load(std::memory_order_relaxed)) return limit;
    was_empty.store(false, std::memory_order_relaxed);
    return few >= kFewVisits && few % kLookAgain != 0 ? 1 : limit;
  }
  /// A visit has taken `count` messages. Two are one, and one that came meanwhile.
  void visited(std::size_t count) noexcept {
    few = count <= 2 ? few + 1 : 0;
    last_visit = static_cast<std::uint32_t>(count);
  }
  /// How many messages have probably come before a visit: as many as the last one took, unless somebody has
  /// looked in vain since, and follows the sender. For the visit to ask before most_of_visit().
  [[nodiscard]] std::size_t expected_of_visit() const noexcept {
    return was_empty.load(std::memory_order_relaxed) ? 0 : last_visit;
  }
  static constexpr std::uint32_t kFewVisits = 8;
  static constexpr std::uint32_t kLookAgain = 32;
  /// Whether a header is that of the shuttle's next message.
  [[nodiscard]] bool is_due(std::uint64_t shuttle_header) const noexcept {
    return static_cast<std::uint32_t>(shuttle_header >> 32) == turn.load(std::memory_order_relaxed);
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
  [[nodiscard]] bool gone(int peer) noexcept override {
    const Peer* known = shared_.peers->contact(peer);
    return known != nullptr ? known->gone() : shared_.peers->departed(peer);
  }
  bool bury(int peer, bool exclusive) noexcept override;
  std::size_t poll(Sink& sink, std::size_t limit, bool exclusive) noexcept override;
  bool prepare_park(bool exclusive) noexcept override;
  [[nodiscard]] std::uint32_t park_token() const noexcept override;
  void park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept override;
  void wake(std::uint32_t bits) noexcept override;
  [[nodiscard]] bool has_parked() const noexcept override {
    return area_->parked.load(std::memory_order_relaxed) != 0;
  }
  void quiesce() noexcept override;
  [[nodiscard]] bool drained() noexcept override;
  [[nodiscard]] std::string undelivered() override;
  [[nodiscard]] Traffic traffic() noexcept override;

 private:
  friend void detail::ring_doorbell(detail::SendLane& lane) noexcept;
  static constexpr std::size_t kWords = kMaxLanes / 64;
  static constexpr int kPolledAllUpTo = 16;  // hot lanes; beyond, idle ones are cooled
  /// The lane of the lowest bit of a word of a set.
  [[nodiscard]] static constexpr std::uint32_t index_of(std::uint32_t word, std::uint64_t bits) noexcept {
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
  }
  using LaneSet = std::array<std::atomic<std::uint64_t>, kWords>;
  static constexpr std::uint32_t kSkips = 15;  // polls in a row that may leave out the lanes of others
  /// Of polls of all lanes: which one has had something last.
  struct alignas(64) Recent {
    std::atomic<std::uint32_t> lane{0};
    std::atomic<std::uint32_t> in_a_row{0};  // visits of it, up to a few
    std::atomic<std::uint32_t> skips{0};     // polls that may yet leave out the others
  };
  /// Of threads that share the device: those with one number, more or less.
  struct alignas(64) Column {
    LaneSet own{};                        // lanes that they poll first
    std::atomic<std::uint32_t> skips{0};  // polls that may yet leave out the lanes of others
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
  bool announce(SendState& state, DeviceArea& area) noexcept;
  bool attach(std::uint32_t index) noexcept;
  void set_traffic(std::uint32_t index, TrafficClass traffic) noexcept;
  void set_columns(std::uint32_t index, TrafficClass traffic, std::uint32_t stripe) noexcept;
  void set_owners(std::uint32_t index, std::uint32_t stripe) noexcept;
  [[nodiscard]] bool consumed(const SendState& state) const noexcept;
  [[nodiscard]] static std::uint64_t waiting(const SendState& state) noexcept;
  // failure.cpp
  bool give_up_lanes(int peer, bool exclusive) noexcept;
  bool empty_lanes(int peer, bool exclusive) noexcept;
  // poll_in_order.cpp
  std::size_t poll_in_order(Sink& sink, std::size_t limit, bool exclusive) noexcept;
  std::size_t poll_urgent(Sink& sink, std::size_t limit, bool exclusive) noexcept;
  std::size_t poll_bulk(Sink& sink, bool exclusive) noexcept;
  // poll_own_first.cpp
  std::size_t poll_own_first(Sink& sink, std::size_t limit) noexcept;
  std::size_t visit_lane(std::uint32_t index, Sink& sink, std::size_t limit, std::uint32_t visitor,
                         bool alone, bool& awaits_answer) noexcept;
  // receive.cpp
  /// A hint, taken without the lane. Another thread may have emptied the slot since, and its sender may be
  /// writing a payload over it or be using the ring for another lane; what was read is acted upon only after
  /// the lane has been entered and its own slot been read again. ThreadSanitizer is told so, since plain
  /// writes meet this read.
  [[nodiscard]] __attribute__((no_sanitize("thread"))) static bool may_have_message(
      const ReceiveLane& lane) noexcept {
    return lane.next.load(std::memory_order_relaxed)->header.load(std::memory_order_relaxed) != 0 ||
           lane.is_due(lane.shuttle.load(std::memory_order_relaxed)->header.load(std::memory_order_relaxed));
  }
  [[nodiscard]] ReceiveLane& lane_at(std::uint32_t index) const noexcept {
    return *lanes_[index].load(std::memory_order_acquire);  // pairs with the release in attach()
  }
  /// Before the first look for an answer, in a dialogue: leaves the line to the peer for as long as the lane
  /// has learned to. Once per message, so polls write the flag now and then though they find nothing.
  [[gnu::always_inline]] static void await_first_look(ReceiveLane& lane) noexcept {
    if (!lane.first_look.load(std::memory_order_relaxed) || !lane.awaits_answer()) return;
    lane.first_look.store(false, std::memory_order_relaxed);
    leave_line_alone(lane.patience.pauses());
  }
  std::size_t poll_lane(std::uint32_t index, Sink& sink, std::size_t limit, bool exclusive) noexcept;
  void cool_now_and_then(bool exclusive) noexcept;
  std::size_t poll_all(std::uint32_t words, Sink& sink, std::size_t limit, bool exclusive) noexcept;
  static bool enter(ReceiveLane& lane, bool exclusive) noexcept;
  std::size_t poll_dialogue(Sink& sink, std::size_t limit, bool exclusive) noexcept;
  void note_visit(std::uint32_t index) noexcept;
  std::size_t receive(ReceiveLane& lane, Sink& sink, std::size_t limit, bool alone) noexcept;
  std::size_t receive_ring(ReceiveLane& lane, Sink& sink, std::size_t limit, bool alone,
                           bool is_due) noexcept;
  void tell_credit(ReceiveLane& lane, std::uint64_t head) noexcept;
  std::uint64_t deliver_wide(ReceiveLane& lane, std::uint64_t header, std::uint64_t& head, std::size_t limit,
                             Sink& sink) noexcept;
  bool deliver_rare(ReceiveLane& lane, detail::Slot& slot, std::uint64_t header, Sink& sink) noexcept;
  bool deliver_packet(ReceiveLane& lane, const detail::Slot& slot, std::uint64_t header, Sink& sink) noexcept;
  void follow(ReceiveLane& lane, const detail::Slot& slot, Sink& sink) noexcept;
  void detach(ReceiveLane& lane, Announcement::State state) noexcept;
  // shuttle.cpp
  void pair(SendState& state, const Outgoing& outgoing) noexcept;
  void pair(ReceiveLane& lane) noexcept;
  void offer_shuttle(ReceiveLane& lane, SendState& back) noexcept;
  void accept_shuttle(ReceiveLane& lane) noexcept;
  void resume_shuttle(ReceiveLane& lane) noexcept;
  static void hand_shuttle(SendState& state, detail::Slot& shuttle, std::uint32_t turn) noexcept {
    state.shuttle_mark = detail::slot_header(turn, 0, 0, detail::SlotKind{});
    ++state.shuttles;
    // Pairs with the acquire in detail::find_place(): the message there has been read.
    state.shuttle.store(&shuttle, std::memory_order_release);
  }
  bool receive_shuttle(ReceiveLane& lane, Sink& sink) noexcept;
  void take_copied_out(ReceiveLane& lane, detail::Slot& shuttle, std::uint64_t header, Sink& sink) noexcept;
  void shuttle_is_read(ReceiveLane& lane, detail::Slot& shuttle, std::uint32_t turn,
                       std::size_t size) noexcept;
  static bool lets_shuttle_rest(ReceiveLane& lane, std::uint64_t detour, std::size_t size) noexcept;
  static void end_rest(ReceiveLane& lane) noexcept;
  [[nodiscard]] static bool has_shuttle_message(const ReceiveLane& lane) noexcept {
    return lane.is_due(lane.shuttle.load(std::memory_order_acquire)->header.load(std::memory_order_acquire));
  }
  [[nodiscard]] bool has_read_shuttle(const SendState& state) const noexcept;
  // dialogues.cpp
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
  DeviceArea* area_;  // this device's, in the own segment

  std::atomic<std::uint64_t> lanes_grown_{0};
  std::mutex setup_mutex_;  // only tried on the data path; guards what follows
  std::vector<std::unique_ptr<SendState>> send_states_;
  std::unique_ptr<detail::DevicePath::LaneRow[]> no_lanes_;  // what devices that were not contacted have
  std::array<std::unique_ptr<detail::DevicePath::LaneRow[]>,
             kTrafficClasses * detail::DevicePath::kMaxDevices>
      rows_;  // by TrafficClass, then device of the peer

  alignas(64) LaneSet hot_{};                // lanes that are polled
  LaneSet protocol_{};                       // lanes for what protocols tell and fetch
  LaneSet urgent_{};                         // lanes of Urgency::first, hot or not
  LaneSet bulk_{};                           // lanes of Urgency::last
  std::atomic<bool> has_classes_{false};     // any of these
  std::atomic<std::uint32_t> bulk_turn_{0};  // lane with which the next look at bulk begins
  Recent recent_;
  std::array<Column, detail::DevicePath::kNoColumn> columns_;
  std::atomic<bool> has_stripes_{false};  // lanes of several stripes lead here
  std::array<std::atomic<ReceiveLane*>, kMaxLanes> lanes_{};
  alignas(64) std::atomic<std::uint32_t> temperature_lock_{0};  // heating and cooling exclude each other
  std::vector<std::unique_ptr<ReceiveLane>> receive_lanes_;     // under temperature_lock_
  std::uint32_t stripes_ = 0;                                   // that lanes for data have had; likewise
};

}  // namespace weft::network::shm
