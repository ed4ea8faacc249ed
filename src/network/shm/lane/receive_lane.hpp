// The receiving half of a lane.
#pragma once

#include "concurrent/owned_try_lock.hpp"
#include "network/shm/lane/poll_delay.hpp"
#include "network/shm/lane/send_state.hpp"
#include "network/shm/lane/stream_pacing.hpp"
#include "network/shm/segment/peer_packets.hpp"
#include "network/shm/segment/peers.hpp"

#include <weft/detail/lane.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::network::shm {

/// Reply slot of lanes that have none: always empty.
inline constinit detail::Slot no_reply_slot{.header = 0, .word = 0, .payload = {}};

/// The ring of a lane, as its receiver reads it.
struct ReceivedRing {
  detail::Slot* slots = nullptr;
  std::uint64_t mask = 0;
  std::uint64_t head = 0;
  std::uint64_t credit_at = 0;  // position beyond which credit is returned to the sender again
  detail::LaneControl* control = nullptr;

  [[nodiscard]] detail::Slot& at_head() const noexcept { return slots[head & mask]; }
  /// Goes on in a ring of `count` slots at this control, whose head is at `position`.
  void move_to(detail::LaneControl* ring, std::uint32_t count, std::uint64_t position) noexcept {
    control = ring;
    slots = reinterpret_cast<detail::Slot*>(ring + 1);
    mask = count - 1;
    head = position;
    credit_at = head + mask / 4;
  }
};

/// The reply slot of a lane, as its receiver reads it: a slot that carries messages of this lane and of the
/// one that goes back, in turns. ReplySlots finds the two lanes.
struct ReceivedReplySlot {
  // The reply slot that polls read, and the turn of its next message.
  std::atomic<detail::Slot*> slot{&no_reply_slot};
  std::atomic<std::uint32_t> turn{0xffffffff};
  std::uint32_t passed = 0;               // messages that have come by the reply slot, modulo kPassed
  std::atomic<SendState*> back{nullptr};  // the lane that has the reply slot next
  std::uint64_t head_then = 0;            // head of the ring when the reply slot was here last
  std::atomic<bool> is_ping_pong{false};  // the head did not move between the reply slot's last two messages
  std::uint32_t mixed_turns = 0;          // messages of the reply slot in a row before which the head moved
  std::uint64_t paused_until = 0;  // head at which the reply slot is used again; 0: it does not pause here
  bool handlers_answer = false;    // the last active message of several slots made its handler post one
  std::atomic<bool> is_paired{false};
  std::uint64_t own_offset = 0;  // of the reply slot, when it lies in this rank's segment

  /// Returns true when a header is that of the reply slot's next message.
  [[nodiscard]] bool is_due(std::uint64_t header) const noexcept {
    return static_cast<std::uint32_t>(header >> 32) == turn.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool has_message() const noexcept {
    return is_due(slot.load(std::memory_order_acquire)->header.load(std::memory_order_acquire));
  }
  /// Returns true when this rank has used its turn, so that the reply slot will come back with the peer's
  /// answer, and the last answers came by the reply slot alone. Does not read the reply slot.
  [[nodiscard]] bool awaits_answer() const noexcept {
    // Pairs with the releases in ReplySlots::offer() and accept(): the caller has not entered the lane.
    const SendState* const used = back.load(std::memory_order_acquire);
    return is_ping_pong.load(std::memory_order_relaxed) && used != nullptr &&
           used->reply_slot.load(std::memory_order_relaxed) == nullptr;
  }
  /// Decides, after the reply slot's message of `size` bytes has been read, whether the reply slot pauses
  /// here for a while, so that all messages use the rings. `ring_slots`: slots of the ring that were used
  /// since the reply slot's last message. When small messages repeatedly come both ways, as when both ranks
  /// send at once or in windows, the reply slot saves nothing and is a second line to poll. Returns true when
  /// it pauses. With the lane entered.
  [[nodiscard]] bool pauses(std::uint64_t head, std::uint64_t ring_slots, std::size_t size) noexcept;
  /// For another lane at this index. Polls may still read it, and find it empty.
  void reset() noexcept;
};

/// What a lane's receiver expects of a visit, from the ones before it.
struct ReceivedVisits {
  std::uint32_t few = 0;               // polls of the ring in a row that have taken one or two messages
  std::uint32_t last_visit = 0;        // messages that the last poll of the ring has taken
  std::atomic<bool> was_empty{false};  // a poll has been empty since messages were last taken

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
  /// For another lane at this index.
  void reset() noexcept {
    was_empty.store(false, std::memory_order_relaxed);
    few = last_visit = 0;
  }

  static constexpr std::uint32_t kFewVisits = 8;
  static constexpr std::uint32_t kLookAgain = 32;
};

/// Statistics that find the lane which answers a lane without a reply slot (pairing.cpp). Guarded by the lock
/// of the latter.
struct AnswerSearch {
  std::uint32_t periods = 0;   // returns of credit so far; each begins new counts
  std::uint64_t received = 0;  // positions until the last return of credit, of all rings of the lane
  const SendState* answering = nullptr;                             // the lane that seems to answer
  std::array<std::uint64_t, detail::DevicePath::kNoColumn> sent{};  // positions of the lane of each column
  bool is_owned = false;  // the lane is polled first by the threads whose lane answers it
};

/// For Port::traffic(); earlier lanes with the same index included.
struct ReceivedCounts {
  std::uint64_t earlier = 0;  // positions of rings that the lane has left, and messages of the reply slot
  std::uint64_t other = 0;    // positions at which no message began
  std::uint64_t bytes = 0;    // of messages in several slots or a packet
};

/// The receiving half of a lane. `next` is the slot that polls read without the lock: the slot at the ring's
/// head, or one that is never empty while the lane has other work to do.
struct alignas(64) ReceiveLane {
  std::atomic<const detail::Slot*> next{nullptr};
  ReceivedRing ring;
  concurrent::OwnedTryLock<> lock;  // closed when the lane has ended
  StreamPacing pacing;
  std::atomic<std::uint32_t> last_thread{
      0};  // number of the thread that last took a message, plus one; see shared_device.cpp
  ReceivedReplySlot reply;
  ReceivedVisits visits;
  PollDelay poll_delay;
  std::uint32_t index = 0;
  std::uint16_t device = 0;  // of the peer
  std::uint16_t stripe = 0;
  bool is_data = false;
  const Peer* peer = nullptr;
  PeerPackets* packets = nullptr;
  std::uint64_t swept_at = 0;  // position at the last sweep for idle lanes
  ReceivedCounts counts;
  AnswerSearch search;

  /// Resets a lane that has ended and that no thread has entered, for another lane at its index. Polls may
  /// still read it, and find it empty.
  void reset() noexcept {
    next.store(&no_reply_slot, std::memory_order_relaxed);
    reply.reset();
    visits.reset();
    last_thread.store(0, std::memory_order_relaxed);
    poll_delay.begin_again();
    counts.earlier += ring.head;  // positions of the former lanes
    pacing = {};
    swept_at = 0;
    search = {};
  }
  /// Waits before the first poll for an answer in a ping-pong. Empty polls, too, may call it.
  [[gnu::always_inline]] void await_first_poll() noexcept {
    if (poll_delay.is_first() && reply.awaits_answer()) poll_delay.before_first();
  }
  /// Returns the lane that has the reply slot next, or nullptr when there is none or the peer has left.
  [[nodiscard]] SendState* next_holder() const noexcept {
    SendState* const holder = reply.back.load(std::memory_order_relaxed);
    return holder != nullptr && !peer->has_left() ? holder : nullptr;
  }
  /// Returns true when the lane may have a message: a hint, read without the lane's lock. Another thread may
  /// have emptied the slot since, and its sender may be writing a payload over it or be using the ring for
  /// another lane; the value is acted upon only after the lane has been entered and its own slot has been
  /// read again. ThreadSanitizer ignores this function, since plain writes race with this read.
  [[nodiscard]] __attribute__((no_sanitize("thread"))) bool may_have_message() const noexcept {
    return next.load(std::memory_order_relaxed)->header.load(std::memory_order_relaxed) != 0 ||
           reply.is_due(reply.slot.load(std::memory_order_relaxed)->header.load(std::memory_order_relaxed));
  }
};

}  // namespace weft::network::shm
