#include "network/session/device/delivery.hpp"

#include "concurrent/thread_number.hpp"

#include <weft/detail/message_access.hpp>

#include <cstring>

namespace weft::network::session {

std::size_t Delivery::deliver_all(Sink& sink, std::size_t limit) noexcept {
  if (!has_pending()) return 0;
  std::size_t count = deliver_urgent(sink, limit);
  for (Link* link = links_.first(); link != nullptr; link = link->next)
    for (const TrafficClass traffic : {TrafficClass::data, TrafficClass::control}) {
      Lane& lane = link->lane(traffic);
      if (lane.pending.load(std::memory_order_relaxed) == 0) continue;
      count += deliver(lane, sink, limit);
      count += deliver_urgent(sink, limit);
    }
  return count + deliver_bulk(sink);
}

void Delivery::arrived(Lane& lane, ReceivedMessage& message) noexcept {
  lane.arrived.put(message);
  // Pairs with the acquires of deliver() and deliver_all().
  lane.pending.fetch_add(1, std::memory_order_release);
  pending_.fetch_add(1, std::memory_order_release);
  if (lane.is_urgent) pending_urgent_.fetch_add(1, std::memory_order_release);
}

std::size_t Delivery::deliver_urgent(Sink& sink, std::size_t limit) noexcept {
  // Asked after every lane that has delivered: the links are walked only when one has such a message.
  if (pending_urgent_.load(std::memory_order_acquire) == 0) return 0;
  std::size_t count = 0;
  for (Link* link = links_.first(); link != nullptr; link = link->next)
    if (Lane& lane = link->lane(TrafficClass::urgent); lane.pending.load(std::memory_order_relaxed) != 0)
      count += deliver(lane, sink, limit);
  return count;
}

/// The links take turns: a call begins behind the link at which the last call used up its share.
std::size_t Delivery::deliver_bulk(Sink& sink) noexcept {
  // The turn is read before the list's head: then every link is reached from it.
  Link* begin = bulk_turn_.load(std::memory_order_acquire);
  Link* const first = links_.first();
  if (begin == nullptr) begin = first;
  std::size_t count = 0;
  const auto take = [&](Lane& lane, std::size_t most) {
    if (most != 0 && lane.pending.load(std::memory_order_relaxed) != 0) count += deliver(lane, sink, most);
  };
  for (Link* link = begin;;) {
    take(link->lane(TrafficClass::rendezvous_data), (kBulkPerPoll - count) / 2);
    take(link->lane(TrafficClass::bulk), kBulkPerPoll - count);
    take(link->lane(TrafficClass::rendezvous_data), kBulkPerPoll - count);
    link = link->next != nullptr ? link->next : first;
    if (link == begin) break;
    if (count < kBulkPerPoll) continue;
    // Pairs with the acquire load of bulk_turn_ above.
    bulk_turn_.store(link, std::memory_order_release);
    break;
  }
  return count;
}

/// What a visit of a lane has delivered.
struct Delivery::Visited {
  std::uint32_t messages = 0;
  std::uint32_t whole = 0;  // buffers that are done: messages by themselves, and frames
  std::uint64_t bytes = 0;  // of messages that are longer than kShortMessage

  void add(std::size_t size) noexcept {
    ++messages;
    if (size > kShortMessage) bytes += size;
  }
};

std::size_t Delivery::deliver(Lane& lane, Sink& sink, std::size_t limit) noexcept {
  if (!lane.lock.enter(concurrent::thread_number())) return 0;
  Visited delivered;
  while (delivered.messages < limit) {
    if (lane.waiting == nullptr) lane.waiting = lane.arrived.take_all();
    ReceivedMessage* const buffer = lane.waiting;
    if (buffer == nullptr) break;
    const bool is_done = buffer->next_record != 0 ? deliver_frame(lane, *buffer, sink, limit, delivered)
                                                  : deliver_single(lane, *buffer, sink, delivered);
    if (!is_done) break;
    ++delivered.whole;
  }
  if (delivered.whole != 0) {
    // Pairs with the acquire in reclaim().
    lane.pending.fetch_sub(delivered.whole, std::memory_order_release);
    pending_.fetch_sub(delivered.whole, std::memory_order_relaxed);
    if (lane.is_urgent) pending_urgent_.fetch_sub(delivered.whole, std::memory_order_relaxed);
  }
  if (delivered.messages != 0) {
    lane.taken.add(delivered.whole, delivered.messages);
    delivered_.fetch_add(delivered.messages, std::memory_order_relaxed);
    delivered_bytes_.fetch_add(delivered.bytes, std::memory_order_relaxed);
    credits_.note_taken(lane);
    context_.shared.courier.call();
  }
  lane.lock.leave();
  return delivered.messages;
}

/// Returns false when the sink does not take the message now.
bool Delivery::deliver_single(Lane& lane, ReceivedMessage& buffer, Sink& sink, Visited& delivered) noexcept {
  Header header{};
  std::memcpy(&header, buffer.bytes, sizeof header);
  const std::size_t size = buffer.size - sizeof header;
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message, buffer.link->rank,
                                  static_cast<std::uint32_t>(header.word), buffer.bytes + sizeof header, size,
                                  &context_.buffers, ReceiveBuffers::cookie_of(buffer));
  // Before the delivery: afterwards a message that was kept may release the buffer.
  lane.waiting = buffer.next;
  if (!sink.deliver(header.channel, header.word, message)) {
    lane.waiting = &buffer;
    return false;
  }
  if (!detail::MessageAccess::was_kept(message)) context_.buffers.release(buffer);
  delivered.add(size);
  return true;
}

/// Returns false when messages of the frame are left for later.
bool Delivery::deliver_frame(Lane& lane, ReceivedMessage& buffer, Sink& sink, std::size_t limit,
                             Visited& delivered) noexcept {
  Header header{};
  std::memcpy(&header, buffer.bytes, sizeof header);
  for (; buffer.messages != 0; --buffer.messages) {
    if (delivered.messages == limit) return false;
    FrameRecord record{};
    const std::byte* const at = buffer.bytes + buffer.next_record;
    std::memcpy(&record, at, sizeof record);
    Message message;
    detail::MessageAccess::set_view(message, Operation::active_message, buffer.link->rank,
                                    static_cast<std::uint32_t>(record.word), at + sizeof record, record.bytes,
                                    &context_.buffers.copier(), 0);
    if (!sink.deliver(record.channel, record.word, message)) return false;
    buffer.next_record += bytes_in_frame(record.bytes);
    delivered.add(record.bytes);
  }
  lane.waiting = buffer.next;
  context_.buffers.release(buffer);
  return true;
}

}  // namespace weft::network::session
