// Receiving from a lane: from a header that is not zero to Sink::deliver. poll.cpp says when.
#include "base/bulk_copy.hpp"
#include "network/shm/port.hpp"

#include <weft/detail/copy.hpp>
#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace weft::network::shm {

using detail::Slot;
using detail::SlotKind;
using detail::SlotRun;

namespace {

/// A receiver that keeps up with its sender takes every line while the sender is about to write it, and the
/// sender waits for each (180 million messages/s instead of 290). While messages stream, a receiver of one
/// lane keeps its distance, which it finds out by a look at a slot further on; and it never fetches ahead.
constexpr std::uint64_t kStreamBegins = 256;  // messages without a gap; fewer may be a window
constexpr std::uint64_t kDistance = 192;      // slots
constexpr std::uint64_t kBlock = 32;          // slots between two looks
constexpr std::uint64_t kStreamGoesOn = 4;    // messages after a pause
constexpr int kPauses = 32;                   // up to a microsecond
/// Active messages up to so many bytes. What is longer takes its sender longer than its receiver, which then
/// only waits; sends take the receiver longer.
constexpr std::size_t kFollowed = 640;

/// Active messages up to so many bytes may leave the shuttle before their handlers run.
constexpr std::size_t kCopiedOut = 2112;
constexpr std::uint32_t kTrial = 32;  // messages, of which one tries whether handlers answer

void let_sender_ahead() noexcept {
  for (int count = 0; count < kPauses; ++count) __builtin_ia32_pause();
}

/// Whether a message has come as far as that. Reads a line that the sender may be about to write.
bool is_written(const ReceiveLane& lane, std::uint64_t position) noexcept {
  const std::uint64_t header = lane.slots[position & lane.mask].header.load(std::memory_order_relaxed);
  const std::uint32_t lap = static_cast<std::uint32_t>(header >> 32) & ~(detail::kPassed - 1);
  return header != 0 && lap == static_cast<std::uint32_t>(detail::lap_of(position, lane.mask));
}

/// Where ReceiveLane::next points to while credit is owed: the next poll enters the lane.
constinit const Slot owes_credit{.header = 1, .word = 0, .payload = {}};

/// Whether the sender has written on since the receiver last waited for it. One that has stopped, perhaps
/// because it has lost its core, is not waited for again and again while the rest is taken.
bool goes_on(const ReceiveLane& lane, std::uint64_t head) noexcept {
  return lane.awaited <= head || is_written(lane, lane.awaited);
}

/// Whether the ring is long enough for it.
bool has_distance(const ReceiveLane& lane) noexcept { return lane.mask > 2 * kDistance; }

/// Before messages of `slots` slots each are taken from `head` on: lets the sender ahead when it is nearer.
inline void keep_distance(ReceiveLane& lane, std::uint64_t head, std::uint64_t slots) noexcept {
  const std::uint64_t ahead = head + kDistance / slots * slots;
  // No message begins there when the ring has ended before.
  if (slots != 1 && (ahead & lane.mask) < (head & lane.mask)) return;
  if (is_written(lane, ahead) || !goes_on(lane, head)) return;
  let_sender_ahead();
  lane.awaited = ahead;
}

}  // namespace

/// The message in the shuttle has been read: hands the shuttle to the lane back. Inside the lane.
[[gnu::always_inline]] inline void ShmPort::shuttle_is_read(ReceiveLane& lane, Slot& shuttle,
                                                            std::uint32_t turn, std::size_t size) noexcept {
  ++lane.earlier;
  lane.turn.store(turn + 2, std::memory_order_relaxed);
  lane.passed = (lane.passed + 1) % detail::kPassed;
  const std::uint64_t detour = lane.head - lane.shuttle_head;  // what has come by the ring meanwhile
  const bool is_dialogue = detour == 0;
  lane.is_dialogue.store(is_dialogue, std::memory_order_relaxed);
  lane.shuttle_head = lane.head;
  // Pairs with the acquire in has_read_shuttle().
  lane.control->shuttle_turn.store(turn, std::memory_order_release);
  if (SendState* const back = lane.back.load(std::memory_order_relaxed);
      back != nullptr && !lane.peer->gone() && !lets_shuttle_rest(lane, detour, size)) {
    hand_shuttle(*back, shuttle, turn + 1);
    lane.first_look.store(is_dialogue, std::memory_order_relaxed);
  }
  if (turn / 2 % Patience::kEpoch == 0) [[unlikely]]
    end_epoch(lane, turn / 2 / Patience::kEpoch);
}

/// Delivers the message that is in the shuttle. Inside the lane. False: it was not taken.
inline bool ShmPort::receive_shuttle(ReceiveLane& lane, Sink& sink) noexcept {
  // Pairs with the release in offer_shuttle() and accept_shuttle().
  Slot& shuttle = *lane.shuttle.load(std::memory_order_acquire);
  // Pairs with the release in detail::publish_slot().
  const std::uint64_t header = shuttle.header.load(std::memory_order_acquire);
  const std::uint32_t turn = detail::turn_of(header);
  const std::size_t size = header >> 16 & 0xffff;
  const auto channel = static_cast<std::uint8_t>(header >> 8);
  if (!detail::is_message(header) || size > kShuttlePayload) [[unlikely]] {
    sink.reject(lane.peer->rank, "message in a shuttle that is none, or too long for it", header & 0xffffff);
    shuttle_is_read(lane, shuttle, turn, size);
    return true;
  }
  const std::uint64_t word = shuttle.word;
  Message message;
  if (channel == detail::kActiveMessageChannel && size <= detail::kSlotPayload &&
      sink.takes_active_messages()) {
    // The shuttle is to be there for the answer that a handler posts.
    alignas(16) std::byte payload[detail::kSlotPayload];
    detail::copy_small(payload, shuttle.payload, size);
    shuttle_is_read(lane, shuttle, turn, size);
    detail::MessageAccess::set_view(message, Operation::active_message, lane.peer->rank,
                                    static_cast<std::uint32_t>(word), payload, size, &copier_, 0);
    sink.take_active_message(word, message);
    return true;
  }
  if (size > detail::kSlotPayload) {
    for (std::size_t line = 1; line < slots_for(size); ++line) __builtin_prefetch(&shuttle + line);
    if (channel == detail::kActiveMessageChannel && size <= kCopiedOut &&
        (lane.handlers_answer || lane.detours != 0 || turn / 2 % kTrial == 0) &&
        sink.takes_active_messages()) {
      take_copied_out(lane, shuttle, header, sink);
      return true;
    }
  }
  detail::MessageAccess::set_view(message, Operation::active_message, lane.peer->rank,
                                  static_cast<std::uint32_t>(word), shuttle.payload, size, &copier_, 0);
  if (!sink.deliver(channel, word, message)) [[unlikely]]
    return false;
  if (size > kShortMessage) lane.bytes += size;
  shuttle_is_read(lane, shuttle, turn, size);
  return true;
}

/// An active message of more than a slot, where the last ones' handlers have posted answers: the copy costs
/// less than the ring.
[[gnu::noinline]] void ShmPort::take_copied_out(ReceiveLane& lane, Slot& shuttle, std::uint64_t header,
                                                Sink& sink) noexcept {
  const std::size_t size = header >> 16 & 0xffff;
  const std::uint64_t word = shuttle.word;
  alignas(64) std::byte payload[kCopiedOut];
  base::copy_bulk(payload, shuttle.payload, size);
  lane.bytes += size;
  shuttle_is_read(lane, shuttle, detail::turn_of(header), size);
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message, lane.peer->rank,
                                  static_cast<std::uint32_t>(word), payload, size, &copier_, 0);
  sink.take_active_message(word, message);
  const SendState* const back = lane.back.load(std::memory_order_relaxed);
  lane.handlers_answer =
      back != nullptr && lane.rests_until == 0 && back->shuttle.load(std::memory_order_relaxed) == nullptr;
}

/// Inside the lane.
[[gnu::noinline]] std::size_t ShmPort::receive(ReceiveLane& lane, Sink& sink, std::size_t limit,
                                               bool alone) noexcept {
  // What is in the ring now may have been sent before what is in the shuttle, which is looked at first.
  const bool is_due = has_shuttle_message(lane);
  if (is_due && lane.slots[lane.head & lane.mask].header.load(std::memory_order_acquire) == 0)
    return receive_shuttle(lane, sink) ? 1 : 0;
  return receive_ring(lane, sink, limit, alone, is_due);
}

/// `is_due`: then what is in the shuttle.
[[gnu::noinline]] std::size_t ShmPort::receive_ring(ReceiveLane& lane, Sink& sink, std::size_t limit,
                                                    bool alone, bool is_due) noexcept {
  std::size_t count = 0;
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message, lane.peer->rank, 0, nullptr, 0,
                                  &copier_, 0);
  detail::PayloadLender* const copier = &copier_;
  std::uint64_t head = lane.head;
  std::uint64_t streamed = lane.streamed;
  std::uint64_t paused_at = streamed;  // this visit, of `streamed`
  const std::size_t probably_come = lane.expected_of_visit();
  limit = lane.most_of_visit(limit);
  if (head > lane.credit_at) [[unlikely]]
    tell_credit(lane, head);
  while (count < limit) {
    Slot& slot = lane.slots[head & lane.mask];
    // Pairs with the release in detail::post_slot and send_slots().
    const std::uint64_t header = slot.header.load(std::memory_order_acquire);
    if (header == 0) {
      if (is_due) [[unlikely]] {
        is_due = false;
        lane.head = head;
        if (!receive_shuttle(lane, sink)) break;
        ++count;
        continue;
      }
      if (streamed < kStreamBegins || !alone || streamed - paused_at < kStreamGoesOn) {
        streamed = 0;
        break;
      }
      paused_at = streamed;
      let_sender_ahead();
      continue;
    }
    if (head > lane.credit_at) [[unlikely]]
      tell_credit(lane, head);
    const std::size_t size = header >> 16 & 0xffff;
    // Lap and kind are what they must be, and the payload is in this slot.
    const std::uint64_t expected =
        detail::slot_header(detail::lap_of(head, lane.mask) | lane.passed, 0, 0, SlotKind::message);
    const bool is_message = (header & 0xffffffff000000ffU) == expected;
    if (is_message && size <= detail::kSlotPayload) [[likely]] {
      const auto channel = static_cast<std::uint8_t>(header >> 8);
      // A single active message, which somebody waits for, is delivered faster by itself.
      if (channel == detail::kSendChannel || (channel == detail::kActiveMessageChannel && count != 0)) {
        // No further than to where the sender is to learn of it.
        std::uint64_t most = std::min<std::uint64_t>(limit - count, lane.credit_at + 1 - head);
        if (streamed >= kStreamBegins && alone && has_distance(lane)) {
          most = std::min(most, kBlock);
          keep_distance(lane, head, 1);
        }
        SlotRun run(lane.slots, lane.mask, head, lane.passed, most, lane.peer->rank, channel, size,
                    probably_come > count ? probably_come - count : 0);
        sink.deliver_run(run, copier);
        const std::size_t taken = run.head() - head;
        if (taken == 0) [[unlikely]]
          break;
        head += taken;
        count += taken - 1;
        streamed += taken - 1;
      } else {
        const std::uint64_t word = slot.word;
        detail::MessageAccess::set_payload(message, static_cast<std::uint32_t>(word), slot.payload, size,
                                           copier);
        if (!sink.deliver(channel, word, message)) [[unlikely]]
          break;
        // A cleared header costs the sender's next write less than one that it has to compare.
        slot.header.store(0, std::memory_order_relaxed);
        ++head;
      }
    } else if (is_message && (head & lane.mask) + slots_for(size) <= lane.mask + 1) {
      std::uint64_t most = limit - count;
      if (streamed >= kStreamBegins && alone && has_distance(lane) && size <= kFollowed &&
          static_cast<std::uint8_t>(header >> 8) == detail::kActiveMessageChannel) {
        const std::uint64_t slots = slots_for(size);
        most = std::min(most, std::max<std::uint64_t>(kBlock / slots, 1));
        keep_distance(lane, head, slots);
      }
      const std::uint64_t taken = deliver_wide(lane, header, head, most, sink);
      if (taken == 0) break;
      count += taken - 1;
      streamed += taken - 1;
    } else {
      lane.head = head;
      if (!deliver_rare(lane, slot, header, sink)) break;
      head = lane.head;
      is_due = is_due && has_shuttle_message(lane);
    }
    ++count;
    ++streamed;
  }
  lane.head = head;
  lane.visited(count);
  if (lane.rests_until != 0 && head >= lane.rests_until) [[unlikely]]
    end_rest(lane);
  // Credit that is due is told with the next message or by the next poll: an answer that is about to be sent
  // need not wait in this core for the line of the credit, which the sender has.
  const Slot* const next = &lane.slots[head & lane.mask];
  lane.next.store(head > lane.credit_at ? &owes_credit : next, std::memory_order_relaxed);
  lane.streamed = streamed;
  return count;
}

/// Slots before `head` have been read: the sender learns it every quarter of the ring.
[[gnu::noinline]] void ShmPort::tell_credit(ReceiveLane& lane, std::uint64_t head) noexcept {
  // Pairs with the acquire in learn_credit().
  lane.control->credit.store(head, std::memory_order_release);
  lane.credit_at = head + lane.mask / 4;
  if (!lane.is_paired.load(std::memory_order_relaxed) && has_stripes_.load(std::memory_order_relaxed))
    find_answers(lane, head);
}

/// Messages in several slots each, from `head` on, where there is one and behind which it is moved. Returns
/// how many have been taken.
[[gnu::noinline]] std::uint64_t ShmPort::deliver_wide(ReceiveLane& lane, std::uint64_t header,
                                                      std::uint64_t& head, std::size_t limit,
                                                      Sink& sink) noexcept {
  const std::size_t size = header >> 16 & 0xffff;
  const std::uint64_t slots = slots_for(size);
  // To where the sender is to learn of it, or a little further.
  const std::uint64_t most = std::min<std::uint64_t>(limit, (lane.credit_at - head) / slots + 1);
  detail::WideRun run(lane.slots, lane.mask, head, lane.passed, most, lane.peer->rank,
                      static_cast<std::uint8_t>(header >> 8), size);
  sink.deliver_run(run, &copier_);
  const std::uint64_t taken = (run.head() - head) / slots;
  head = run.head();
  lane.other += taken * (slots - 1);
  lane.bytes += taken * size;
  return taken;
}

bool ShmPort::deliver_rare(ReceiveLane& lane, Slot& slot, std::uint64_t header, Sink& sink) noexcept {
  const std::size_t size = header >> 16 & 0xffff;
  std::uint64_t used = 1;
  const auto lap = static_cast<std::uint32_t>(detail::lap_of(lane.head, lane.mask));
  if (header >> 32 != (lap | lane.passed)) {
    const std::uint32_t passed = (lane.passed + 1) % detail::kPassed;
    if (header >> 32 == (lap | passed) && has_shuttle_message(lane)) return receive_shuttle(lane, sink);
    sink.reject(lane.peer->rank, "slot of another lap of its ring", header >> 32);
    detach(lane, Announcement::State::claimed);
    return false;
  }
  switch (static_cast<SlotKind>(header & 0xff)) {
    case SlotKind::message:
      sink.reject(lane.peer->rank, "message beyond the end of its ring", size);
      break;
    case SlotKind::packet:
      if (!deliver_packet(lane, slot, header, sink)) return false;
      break;
    case SlotKind::skip:
      used = lane.mask + 1 - (lane.head & lane.mask);
      lane.other += used;
      break;
    case SlotKind::moved:
      follow(lane, slot, sink);
      return !lane.entrance.closed();
    case SlotKind::closed:
      detach(lane, Announcement::State::free);
      slot.header.store(0, std::memory_order_relaxed);
      // Pairs with the acquire in Segment::allocate_ring.
      lane.control->released.store(1, std::memory_order_release);
      return false;
    default:
      sink.reject(lane.peer->rank, "slot of unknown kind", header & 0xff);
      break;
  }
  slot.header.store(0, std::memory_order_relaxed);
  lane.head += used;
  return true;
}

}  // namespace weft::network::shm
