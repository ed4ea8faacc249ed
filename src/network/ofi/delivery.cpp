// From what has arrived to Sink::deliver.
#include "network/ofi/device.hpp"

#include "concurrent/process_barrier.hpp"
#include "concurrent/thread_number.hpp"

#include <weft/detail/message_access.hpp>

#include <cstring>

namespace weft::network::ofi {

std::size_t OfiDevice::poll(Sink& sink, std::size_t limit, bool exclusive) noexcept {
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

std::size_t OfiDevice::deliver_urgent(Sink& sink, std::size_t limit) noexcept {
  std::size_t count = 0;
  for (Link* link = links_.load(std::memory_order_acquire); link != nullptr; link = link->next)
    if (Lane& lane = link->lane(TrafficClass::urgent); lane.pending.load(std::memory_order_relaxed) != 0)
      count += deliver(lane, sink, limit);
  return count;
}

/// The links take turns: a call begins behind the one with which the last one has used up its share.
std::size_t OfiDevice::deliver_bulk(Sink& sink) noexcept {
  // In this order: every link is reached from one that was first later.
  Link* begin = bulk_turn_.load(std::memory_order_acquire);
  Link* const first = links_.load(std::memory_order_acquire);
  if (begin == nullptr) begin = first;
  std::size_t count = 0;
  const auto take = [&](Lane& lane, std::size_t most) {
    if (most != 0 && lane.pending.load(std::memory_order_relaxed) != 0) count += deliver(lane, sink, most);
  };
  for (Link* link = begin;;) {
    take(link->lane(TrafficClass::chunks), (kBulkPerPoll - count) / 2);
    take(link->lane(TrafficClass::bulk), kBulkPerPoll - count);
    take(link->lane(TrafficClass::chunks), kBulkPerPoll - count);
    link = link->next != nullptr ? link->next : first;
    if (link == begin) break;
    if (count < kBulkPerPoll) continue;
    // Pairs with the acquire above.
    bulk_turn_.store(link, std::memory_order_release);
    break;
  }
  return count;
}

std::size_t OfiDevice::deliver(Lane& lane, Sink& sink, std::size_t limit) noexcept {
  if (!lane.entrance.enter(concurrent::thread_number())) return 0;
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
  while (count < limit) {
    if (lane.waiting == nullptr) lane.waiting = lane.arrived.take_all();
    ReceiveBuffer* buffer = lane.waiting;
    if (buffer == nullptr) break;
    Header header{};
    std::memcpy(&header, buffer->bytes, sizeof header);
    Message message;
    detail::MessageAccess::set_view(message, Operation::active_message, buffer->link->rank,
                                    static_cast<std::uint32_t>(header.word), buffer->bytes + sizeof header,
                                    buffer->size - sizeof header, &buffers_,
                                    ReceiveBuffers::cookie_of(*buffer));
    const std::size_t size = buffer->size - sizeof header;
    // Before the delivery: from then on a message that was kept may give the buffer back.
    lane.waiting = buffer->next;
    if (!sink.deliver(header.channel, header.word, message)) {
      lane.waiting = buffer;
      break;
    }
    if (!detail::MessageAccess::was_kept(message)) buffers_.give_back(*buffer);
    ++count;
    if (size > kShortMessage) bytes += size;
  }
  if (count != 0) {
    lane.pending.fetch_sub(count, std::memory_order_relaxed);
    pending_.fetch_sub(count, std::memory_order_relaxed);
    lane.taken.store(lane.taken.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
    delivered_.fetch_add(count, std::memory_order_relaxed);
    delivered_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    // Pairs with the acquire in serve_links(), which decides whether it is due indeed.
    credit_is_due_.store(true, std::memory_order_release);
  }
  lane.entrance.leave();
  return count;
}

void OfiDevice::quiesce() noexcept {
  concurrent::private_barrier();
  for (Link* link = links_.load(std::memory_order_acquire); link != nullptr; link = link->next)
    for (const Lane& lane : link->lanes) lane.entrance.await_exit(concurrent::thread_number());
}

}  // namespace weft::network::ofi
