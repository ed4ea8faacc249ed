#include "network/shm/port/receiver.hpp"

#include "base/memory/bulk_copy.hpp"

#include <weft/detail/copy.hpp>
#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace weft::network::shm {

using detail::Slot;
using detail::SlotBatch;
using detail::SlotKind;

namespace {

/// Size up to which a receiver keeps its distance to a sender of active messages. Longer messages take the
/// sender longer than the receiver, which would only wait; sends take the receiver longer.
constexpr std::size_t kFollowed = 640;

/// Size up to which an active message may be copied out of the reply slot before its handler runs.
constexpr std::size_t kCopiedOut = 2112;
constexpr std::uint32_t kTrial = 32;  // messages, of which one tests whether handlers answer

/// Payload bytes of the message with this header.
std::size_t size_of(std::uint64_t header) noexcept { return header >> 16 & 0xffff; }

/// Returns true when a receiver keeps its distance to the sender of this message: of sends in one slot and of
/// active messages up to kFollowed. Other messages answer these.
bool is_paced(std::uint64_t header) noexcept {
  const auto channel = static_cast<std::uint8_t>(header >> 8);
  return channel == detail::kActiveMessageChannel
             ? size_of(header) <= kFollowed
             : channel == detail::kSendChannel && size_of(header) <= detail::kSlotPayload;
}

/// Target of ReceiveLane::next while credit is due: it makes the next poll enter the lane.
constinit const Slot owes_credit{.header = 1, .word = 0, .payload = {}};

/// What lies at the head of a ring.
enum class AtHead : std::uint8_t {
  batch,       // a message in one slot, with which a batch begins
  message,     // a message in one slot, by itself
  multi_slot,  // a message in several slots
  other,       // a packet, a marker, or nothing that belongs there
};

[[gnu::always_inline]] inline AtHead look_at(const ReceiveLane& lane, std::uint64_t header,
                                             std::uint64_t head, bool is_first) noexcept {
  // The lap and the kind are the expected ones.
  const std::uint64_t expected =
      detail::slot_header(detail::lap_of(head, lane.ring.mask) | lane.reply.passed, 0, 0, SlotKind::message);
  if ((header & 0xffffffff000000ffU) != expected) [[unlikely]]
    return AtHead::other;
  const std::size_t size = size_of(header);
  if (size > detail::kSlotPayload)
    return (head & lane.ring.mask) + slots_for(size) <= lane.ring.mask + 1 ? AtHead::multi_slot
                                                                           : AtHead::other;
  // A single message is delivered faster outside a batch, and the sender of an active message is probably
  // waiting for the answer.
  return static_cast<std::uint8_t>(header >> 8) == detail::kSendChannel || !is_first ? AtHead::batch
                                                                                     : AtHead::message;
}

/// Delivers a message in one slot, and frees the slot. Returns false when the sink did not take it.
[[gnu::always_inline]] inline bool deliver_slot(const ReceiveLane& lane, Slot& slot, std::uint64_t header,
                                                detail::PayloadLender* lender, Sink& sink) noexcept {
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message, lane.peer->rank,
                                  static_cast<std::uint32_t>(slot.word), slot.payload, size_of(header),
                                  lender, 0);
  if (!sink.deliver(static_cast<std::uint8_t>(header >> 8), slot.word, message)) [[unlikely]]
    return false;
  // A cleared header costs the sender's next write less than a header that it must compare.
  slot.header.store(0, std::memory_order_relaxed);
  return true;
}

/// Delivers messages in one slot each, from `head` on, at most `most`. `expected`: those that have probably
/// come. Returns the number of messages taken.
[[gnu::always_inline]] inline std::uint64_t deliver_slots(const ReceiveLane& lane, std::uint64_t header,
                                                          std::uint64_t head, std::uint64_t most,
                                                          std::size_t expected, detail::PayloadLender* lender,
                                                          Sink& sink) noexcept {
  SlotBatch slots(lane.ring.slots, lane.ring.mask, head, lane.reply.passed, most, lane.peer->rank,
                  static_cast<std::uint8_t>(header >> 8), size_of(header), expected);
  Batch batch(slots, lender);
  sink.deliver(batch);
  return slots.head() - head;
}

}  // namespace

/// Notes that the message in the reply slot has been read, and hands the reply slot to the lane that goes
/// back. With the lane entered.
[[gnu::always_inline]] inline void Receiver::reply_slot_is_read(ReceiveLane& lane, Slot& reply_slot,
                                                                std::uint64_t header) noexcept {
  const std::uint32_t turn = detail::turn_of(header);
  const std::size_t size = size_of(header);
  ++lane.counts.earlier;
  if (size > kShortMessage) lane.counts.bytes += size;
  lane.reply.turn.store(turn + 2, std::memory_order_relaxed);
  lane.reply.passed = (lane.reply.passed + 1) % detail::kPassed;
  const std::uint64_t ring_slots =
      lane.ring.head - lane.reply.head_then;  // messages that came by the ring meanwhile
  lane.reply.is_ping_pong.store(ring_slots == 0, std::memory_order_relaxed);
  lane.reply.head_then = lane.ring.head;
  // Pairs with the acquire in has_read_reply_slot().
  lane.ring.control->reply_slot_turn.store(turn, std::memory_order_release);
  if (ring_slots != 0 || turn / 2 % PollDelay::kEpoch == 0) [[unlikely]]
    return hand_on_slow(lane, reply_slot, turn, ring_slots, size);
  lane.reply.mixed_turns = 0;
  if (SendState* const back = lane.next_holder(); back != nullptr) {
    back->take_reply_slot(reply_slot, turn + 1);
    lane.poll_delay.begin_turn(true);
  }
}

/// Hands the reply slot on after a turn with messages in the ring or at the end of an epoch. A jump, so that
/// reply_slot_is_read() needs no frame.
[[gnu::noinline]] void Receiver::hand_on_slow(ReceiveLane& lane, Slot& reply_slot, std::uint32_t turn,
                                              std::uint64_t ring_slots, std::size_t size) noexcept {
  if (SendState* const back = lane.next_holder();
      back != nullptr && !lane.reply.pauses(lane.ring.head, ring_slots, size)) {
    back->take_reply_slot(reply_slot, turn + 1);
    lane.poll_delay.begin_turn(ring_slots == 0);
  }
  if (turn / 2 % PollDelay::kEpoch == 0) reply_slots_.end_epoch(lane, turn / 2 / PollDelay::kEpoch);
}

/// A reply slot whose active message is copied out: it must be free for the answer that the handler posts.
class Receiver::ReusedReplySlot final : public ReusedSlot {
 public:
  ReusedReplySlot(Receiver& receiver, ReceiveLane& lane, Slot& reply_slot, std::uint64_t header) noexcept
      : receiver_(receiver), lane_(lane), reply_slot_(reply_slot), header_(header) {}
  void free() noexcept override { receiver_.reply_slot_is_read(lane_, reply_slot_, header_); }

  /// Delivers the message, which has been copied to `payload`, and frees the reply slot; before the handler
  /// runs, if the sink can do that. Returns false when the sink did not take the message.
  [[gnu::always_inline]] inline bool deliver(const std::byte* payload, Sink& sink) noexcept {
    const std::uint64_t word = reply_slot_.word;
    Message message;
    detail::MessageAccess::set_view(message, Operation::active_message, lane_.peer->rank,
                                    static_cast<std::uint32_t>(word), payload, size_of(header_),
                                    &receiver_.copier_, 0);
    Batch batch(word, message, *this);
    sink.deliver(batch);
    if (batch.is_slot_free()) [[likely]]
      return true;
    if (batch.is_taken()) free();
    return batch.is_taken();
  }

  /// Copies a message of more than a slot out and delivers it. Used when the handlers of the last messages
  /// have posted answers: the copy costs less than an answer by the ring.
  [[gnu::noinline]] static bool deliver_long(Receiver& receiver, ReceiveLane& lane, Slot& reply_slot,
                                             std::uint64_t header, Sink& sink) noexcept {
    alignas(64) std::byte payload[kCopiedOut];
    base::copy_bulk(payload, reply_slot.payload, size_of(header));
    if (!ReusedReplySlot(receiver, lane, reply_slot, header).deliver(payload, sink)) return false;
    const SendState* const back = lane.reply.back.load(std::memory_order_relaxed);
    lane.reply.handlers_answer = back != nullptr && lane.reply.paused_until == 0 &&
                                 back->reply_slot.load(std::memory_order_relaxed) == nullptr;
    return true;
  }

 private:
  Receiver& receiver_;
  ReceiveLane& lane_;
  Slot& reply_slot_;
  const std::uint64_t header_;
};

/// Delivers the message in the reply slot. Returns false when the sink did not take it. With the lane
/// entered.
inline bool Receiver::receive_reply_slot(ReceiveLane& lane, Sink& sink) noexcept {
  // Pairs with the release in ReplySlots::offer() and accept().
  Slot& reply_slot = *lane.reply.slot.load(std::memory_order_acquire);
  // Pairs with the release in detail::commit_slot().
  const std::uint64_t header = reply_slot.header.load(std::memory_order_acquire);
  const std::size_t size = size_of(header);
  const auto channel = static_cast<std::uint8_t>(header >> 8);
  if (!detail::is_message(header) || size > kReplySlotPayload) [[unlikely]] {
    sink.reject(lane.peer->rank, "message in a reply slot that is none, or too long for it",
                header & 0xffffff);
    reply_slot_is_read(lane, reply_slot, header & ~std::uint64_t{0xffff0000});  // no bytes are delivered
    return true;
  }
  const bool is_active_message = channel == detail::kActiveMessageChannel;
  if (is_active_message && size <= detail::kSlotPayload) {
    alignas(16) std::byte payload[detail::kSlotPayload];
    detail::copy_small(payload, reply_slot.payload, size);
    return ReusedReplySlot(*this, lane, reply_slot, header).deliver(payload, sink);
  }
  if (size > detail::kSlotPayload) {
    for (std::size_t line = 1; line < slots_for(size); ++line) __builtin_prefetch(&reply_slot + line);
    if (is_active_message && size <= kCopiedOut &&
        (lane.reply.handlers_answer || lane.reply.mixed_turns != 0 ||
         detail::turn_of(header) / 2 % kTrial == 0))
      return ReusedReplySlot::deliver_long(*this, lane, reply_slot, header, sink);
  }
  const std::uint64_t word = reply_slot.word;
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message, lane.peer->rank,
                                  static_cast<std::uint32_t>(word), reply_slot.payload, size, &copier_, 0);
  if (!sink.deliver(channel, word, message)) [[unlikely]]
    return false;
  reply_slot_is_read(lane, reply_slot, header);
  return true;
}

/// Takes messages from the lane; returns their number. With the lane entered.
[[gnu::noinline]] std::size_t Receiver::receive(ReceiveLane& lane, Sink& sink, std::size_t limit,
                                                bool alone) noexcept {
  // Messages that are in the ring now may have been sent before the message in the reply slot. So the reply
  // slot is read first, then the ring.
  const bool is_due = lane.reply.has_message();
  if (is_due && lane.ring.at_head().header.load(std::memory_order_acquire) == 0)
    return receive_reply_slot(lane, sink) ? 1 : 0;
  return receive_ring(lane, sink, limit, alone, is_due);
}

/// Takes messages from the ring and, when the ring is empty and `is_due` is true, the message in the reply
/// slot. Returns their number.
[[gnu::noinline]] std::size_t Receiver::receive_ring(ReceiveLane& lane, Sink& sink, std::size_t limit,
                                                     bool alone, bool is_due) noexcept {
  std::size_t count = 0;
  std::uint64_t head = lane.ring.head;
  StreamPacing::Visit pacing(lane.pacing, alone);
  const std::size_t probably_come = lane.visits.expected_of_visit();
  limit = lane.visits.most_of_visit(limit);
  if (head > lane.ring.credit_at) [[unlikely]]
    publish_credit(lane, head);
  while (count < limit) {
    Slot& slot = lane.ring.slots[head & lane.ring.mask];
    // Pairs with the release in detail::try_post_slot and SendLanes::send().
    const std::uint64_t header = slot.header.load(std::memory_order_acquire);
    if (header == 0 && is_due) [[unlikely]] {
      is_due = false;
      lane.ring.head = head;
      if (!receive_reply_slot(lane, sink)) break;
      ++count;
      continue;
    }
    if (header == 0) {
      if (!pacing.awaits_more()) break;
      continue;
    }
    if (head > lane.ring.credit_at) [[unlikely]]
      publish_credit(lane, head);
    std::uint64_t taken = 1;
    switch (look_at(lane, header, head, count == 0)) {
      case AtHead::batch: {
        // A batch ends where credit is due.
        std::uint64_t most = std::min<std::uint64_t>(limit - count, lane.ring.credit_at + 1 - head);
        if (is_paced(header)) most = pacing.keep_distance(lane.ring.slots, lane.ring.mask, head, 1, most);
        taken = deliver_slots(lane, header, head, most, probably_come > count ? probably_come - count : 0,
                              &copier_, sink);
        head += taken;
        break;
      }
      case AtHead::message:
        taken = deliver_slot(lane, slot, header, &copier_, sink) ? 1 : 0;
        head += taken;
        break;
      case AtHead::multi_slot: {
        std::uint64_t most = limit - count;
        if (is_paced(header))
          most =
              pacing.keep_distance(lane.ring.slots, lane.ring.mask, head, slots_for(size_of(header)), most);
        taken = deliver_multi_slot(lane, header, head, most, sink);
        break;
      }
      case AtHead::other:
        lane.ring.head = head;
        taken = deliver_slow(lane, slot, header, sink) ? 1 : 0;
        head = lane.ring.head;
        is_due = is_due && lane.reply.has_message();
        break;
    }
    if (taken == 0) [[unlikely]]
      break;
    count += taken;
    pacing.took(taken);
  }
  lane.ring.head = head;
  lane.visits.visited(count);
  if (lane.reply.paused_until != 0 && head >= lane.reply.paused_until) [[unlikely]]
    end_pause(lane);
  // Due credit is returned with the next message or by the next poll: an answer that is about to be sent then
  // does not wait in this core for the line of the credit, which the sender has.
  const Slot* const next = &lane.ring.slots[head & lane.ring.mask];
  lane.next.store(head > lane.ring.credit_at ? &owes_credit : next, std::memory_order_relaxed);
  pacing.end();
  return count;
}

/// Returns credit for the slots before `head`, which have been read; done every quarter of the ring.
[[gnu::noinline]] void Receiver::publish_credit(ReceiveLane& lane, std::uint64_t head) noexcept {
  // Pairs with the acquire in learn_credit().
  lane.ring.control->credit.store(head, std::memory_order_release);
  lane.ring.credit_at = head + lane.ring.mask / 4;
  if (!lane.reply.is_paired.load(std::memory_order_relaxed) && lanes_.has_stripes())
    reply_slots_.find_answers(lane, head);
}

/// Delivers messages of several slots each, beginning with the one at `head`, and moves `head` behind those
/// taken. Returns the number of messages taken.
[[gnu::noinline]] std::uint64_t Receiver::deliver_multi_slot(ReceiveLane& lane, std::uint64_t header,
                                                             std::uint64_t& head, std::size_t limit,
                                                             Sink& sink) noexcept {
  const std::size_t size = size_of(header);
  const std::uint64_t slots = slots_for(size);
  // Up to where credit is due, or a little further.
  const std::uint64_t most = std::min<std::uint64_t>(limit, (lane.ring.credit_at - head) / slots + 1);
  detail::MultiSlotBatch batch(lane.ring.slots, lane.ring.mask, head, lane.reply.passed, most,
                               lane.peer->rank, static_cast<std::uint8_t>(header >> 8), size);
  Batch messages(batch, &copier_);
  sink.deliver(messages);
  const std::uint64_t taken = (batch.head() - head) / slots;
  head = batch.head();
  lane.counts.other += taken * (slots - 1);
  lane.counts.bytes += taken * size;
  return taken;
}

bool Receiver::deliver_slow(ReceiveLane& lane, Slot& slot, std::uint64_t header, Sink& sink) noexcept {
  const std::size_t size = size_of(header);
  std::uint64_t used = 1;
  const auto lap = static_cast<std::uint32_t>(detail::lap_of(lane.ring.head, lane.ring.mask));
  if (header >> 32 != (lap | lane.reply.passed)) {
    const std::uint32_t passed = (lane.reply.passed + 1) % detail::kPassed;
    if (header >> 32 == (lap | passed) && lane.reply.has_message()) return receive_reply_slot(lane, sink);
    sink.reject(lane.peer->rank, "slot of another lap of its ring", header >> 32);
    lanes_.detach(lane, Announcement::State::claimed);
    return false;
  }
  switch (static_cast<SlotKind>(header & 0xff)) {
    case SlotKind::message:
      sink.reject(lane.peer->rank, "message beyond the end of its ring", size);
      break;
    case SlotKind::packet:
      if (!deliver_packet(lane, slot, header, sink)) return false;
      break;
    case SlotKind::padding:
      used = lane.ring.mask + 1 - (lane.ring.head & lane.ring.mask);
      lane.counts.other += used;
      break;
    case SlotKind::resized:
      follow(lane, slot, sink);
      return !lane.lock.closed();
    case SlotKind::end:
      // The sender may have closed the lane before the reply slot's message was read.
      if (lane.reply.has_message() && !receive_reply_slot(lane, sink)) return false;
      lanes_.detach(lane, Announcement::State::free);
      slot.header.store(0, std::memory_order_relaxed);
      // Pairs with the acquire in Segment::reclaim().
      lane.ring.control->released.store(1, std::memory_order_release);
      return false;
    default:
      sink.reject(lane.peer->rank, "slot of unknown kind", header & 0xff);
      break;
  }
  slot.header.store(0, std::memory_order_relaxed);
  lane.ring.head += used;
  return true;
}

}  // namespace weft::network::shm
