// Delivery of received messages to Sink::deliver().
#include "network/session/session_device.hpp"

#include "concurrent/process_barrier.hpp"
#include "concurrent/thread_number.hpp"

#include <weft/detail/message_access.hpp>

#include <cstring>

namespace weft::network::session {

std::size_t SessionDevice::poll(Sink& sink, std::size_t limit, bool exclusive) noexcept {
  std::vector<Rejection> rejections;
  if (Guard guard(*this, exclusive); guard) {
    drive();
    if (has_rejections_.load(std::memory_order_relaxed)) [[unlikely]] {
      rejections.swap(rejections_);
      has_rejections_.store(false, std::memory_order_relaxed);
    }
  }
  for (const Rejection& rejection : rejections) sink.reject(rejection.rank, rejection.what, rejection.value);
  if (pending_.load(std::memory_order_acquire) == 0) return 0;
  std::size_t count = deliver_urgent(sink, limit);
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

std::size_t SessionDevice::deliver(Lane& lane, Sink& sink, std::size_t limit) noexcept {
  if (!lane.lock.enter(concurrent::thread_number())) return 0;
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
  while (count < limit) {
    if (lane.waiting == nullptr) lane.waiting = lane.arrived.take_all();
    ReceivedMessage* buffer = lane.waiting;
    if (buffer == nullptr) break;
    Header header{};
    std::memcpy(&header, buffer->bytes, sizeof header);
    Message message;
    detail::MessageAccess::set_view(message, Operation::active_message, buffer->link->rank,
                                    static_cast<std::uint32_t>(header.word), buffer->bytes + sizeof header,
                                    buffer->size - sizeof header, &buffers_,
                                    ReceiveBuffers::cookie_of(*buffer));
    const std::size_t size = buffer->size - sizeof header;
    // Before the delivery: afterwards a message that was kept may release the buffer.
    lane.waiting = buffer->next;
    if (!sink.deliver(header.channel, header.word, message)) {
      lane.waiting = buffer;
      break;
    }
    if (!detail::MessageAccess::was_kept(message)) buffers_.release(*buffer);
    ++count;
    if (size > kShortMessage) bytes += size;
  }
  if (count != 0) {
    lane.pending.fetch_sub(count, std::memory_order_relaxed);
    pending_.fetch_sub(count, std::memory_order_relaxed);
    if (lane.is_urgent) pending_urgent_.fetch_sub(count, std::memory_order_relaxed);
    lane.taken.store(lane.taken.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
    delivered_.fetch_add(count, std::memory_order_relaxed);
    delivered_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    // Pairs with the acquire in serve_links(), which decides whether credit is really due.
    credit_is_due_.store(true, std::memory_order_release);
  }
  lane.lock.leave();
  return count;
}

void SessionDevice::quiesce() noexcept {
  concurrent::private_barrier();
  for (Link* link = links_.load(std::memory_order_acquire); link != nullptr; link = link->next)
    for (const Lane& lane : link->lanes) lane.lock.await_exit(concurrent::thread_number());
}

}  // namespace weft::network::session
