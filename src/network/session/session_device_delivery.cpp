// Delivery of received messages to Sink::deliver().
#include "network/session/session_device.hpp"

#include "concurrent/process_barrier.hpp"
#include "concurrent/thread_number.hpp"

#include <weft/detail/message_access.hpp>

#include <cstring>

namespace weft::network::session {

std::size_t SessionDevice::poll(Sink& sink, std::size_t limit, bool exclusive) noexcept {
  std::vector<Rejection> rejections;
  std::array<EndedFetch, 16> ended;
  std::size_t count = 0;
  if (Guard guard(*this, exclusive); guard) {
    drive();
    if (!ended_fetches_.empty()) [[unlikely]]
      count = take_ended(ended);
    if (has_rejections_.load(std::memory_order_relaxed)) [[unlikely]] {
      rejections.swap(rejections_);
      has_rejections_.store(false, std::memory_order_relaxed);
    }
  }
  for (const Rejection& rejection : rejections) sink.reject(rejection.rank, rejection.what, rejection.value);
  for (const EndedFetch& fetch : std::span(ended).first(count)) sink.access_ended(fetch.token, fetch.outcome);
  if (pending_.load(std::memory_order_acquire) == 0) return count;
  count += deliver_urgent(sink, limit);
  for (Link* link = links_.load(std::memory_order_acquire); link != nullptr; link = link->next)
    for (const TrafficClass traffic : {TrafficClass::data, TrafficClass::control}) {
      Lane& lane = link->lane(traffic);
      if (lane.pending.load(std::memory_order_relaxed) == 0) continue;
      count += deliver(lane, sink, limit);
      count += deliver_urgent(sink, limit);
    }
  return count + deliver_bulk(sink);
}

std::size_t SessionDevice::deliver_urgent(Sink& sink, std::size_t limit) noexcept {
  // Asked after every lane that has delivered: the links are walked only when one has such a message.
  if (pending_urgent_.load(std::memory_order_acquire) == 0) return 0;
  std::size_t count = 0;
  for (Link* link = links_.load(std::memory_order_acquire); link != nullptr; link = link->next)
    if (Lane& lane = link->lane(TrafficClass::urgent); lane.pending.load(std::memory_order_relaxed) != 0)
      count += deliver(lane, sink, limit);
  return count;
}

/// The links take turns: a call begins behind the link at which the last call used up its share.
std::size_t SessionDevice::deliver_bulk(Sink& sink) noexcept {
  // The turn is read before the list's head: then every link is reached from it.
  Link* begin = bulk_turn_.load(std::memory_order_acquire);
  Link* const first = links_.load(std::memory_order_acquire);
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
struct SessionDevice::Delivered {
  std::uint32_t messages = 0;
  std::uint32_t whole = 0;  // buffers that are done: messages by themselves, and frames
  std::uint64_t bytes = 0;  // of messages that are longer than kShortMessage

  void add(std::size_t size) noexcept {
    ++messages;
    if (size > kShortMessage) bytes += size;
  }
};

std::size_t SessionDevice::deliver(Lane& lane, Sink& sink, std::size_t limit) noexcept {
  if (!lane.lock.enter(concurrent::thread_number())) return 0;
  Delivered delivered;
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
    const auto add = [](std::atomic<std::uint32_t>& count, std::uint32_t amount) {
      count.store(count.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    };
    add(lane.taken, delivered.whole);
    add(lane.messages_taken, delivered.messages);
    delivered_.fetch_add(delivered.messages, std::memory_order_relaxed);
    delivered_bytes_.fetch_add(delivered.bytes, std::memory_order_relaxed);
    // Pairs with the acquire in serve_links(), which decides whether credit is really due.
    credit_is_due_.store(true, std::memory_order_release);
    // Pairs with the acquire in serve_links(), which tells of all that has been taken.
    owes_credit_.store(true, std::memory_order_release);
    if (lane.taken.load(std::memory_order_relaxed) - lane.told.load(std::memory_order_relaxed) >= lane.batch)
      owes_batch_.store(true, std::memory_order_relaxed);
    shared_.courier.call();
  }
  lane.lock.leave();
  return delivered.messages;
}

/// Returns false when the sink does not take the message now.
bool SessionDevice::deliver_single(Lane& lane, ReceivedMessage& buffer, Sink& sink,
                                   Delivered& delivered) noexcept {
  Header header{};
  std::memcpy(&header, buffer.bytes, sizeof header);
  const std::size_t size = buffer.size - sizeof header;
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message, buffer.link->rank,
                                  static_cast<std::uint32_t>(header.word), buffer.bytes + sizeof header, size,
                                  &buffers_, ReceiveBuffers::cookie_of(buffer));
  // Before the delivery: afterwards a message that was kept may release the buffer.
  lane.waiting = buffer.next;
  if (!sink.deliver(header.channel, header.word, message)) {
    lane.waiting = &buffer;
    return false;
  }
  if (!detail::MessageAccess::was_kept(message)) buffers_.release(buffer);
  delivered.add(size);
  return true;
}

/// Returns false when messages of the frame are left for later.
bool SessionDevice::deliver_frame(Lane& lane, ReceivedMessage& buffer, Sink& sink, std::size_t limit,
                                  Delivered& delivered) noexcept {
  Header header{};
  std::memcpy(&header, buffer.bytes, sizeof header);
  for (; buffer.messages != 0; --buffer.messages) {
    if (delivered.messages == limit) return false;
    FrameRecord record{};
    const std::byte* const place = buffer.bytes + buffer.next_record;
    std::memcpy(&record, place, sizeof record);
    Message message;
    detail::MessageAccess::set_view(message, Operation::active_message, buffer.link->rank,
                                    static_cast<std::uint32_t>(record.word), place + sizeof record,
                                    record.bytes, &buffers_.copier(), 0);
    if (!sink.deliver(record.channel, record.word, message)) return false;
    buffer.next_record += bytes_in_frame(record.bytes);
    delivered.add(record.bytes);
  }
  lane.waiting = buffer.next;
  buffers_.release(buffer);
  return true;
}

void SessionDevice::quiesce() noexcept {
  concurrent::private_barrier();
  for (Link* link = links_.load(std::memory_order_acquire); link != nullptr; link = link->next)
    for (const Lane& lane : link->lanes) lane.lock.await_exit(concurrent::thread_number());
}

}  // namespace weft::network::session
