// Messages: from the post to the delivery, in a random order.
#include "network/sim/simulated_fabric.hpp"

#include "concurrent/process_barrier.hpp"
#include "concurrent/thread_number.hpp"

#include <algorithm>
#include <cstring>

namespace weft::network::sim {

namespace {

std::uint64_t route(const Lane& lane) noexcept {
  return static_cast<std::uint64_t>(lane.from.rank) << 48 | std::uint64_t{lane.from.device} << 40 |
         static_cast<std::uint64_t>(lane.to.rank) << 16 | std::uint64_t{lane.to.device} << 8 |
         static_cast<std::uint64_t>(lane.traffic);
}

}  // namespace

Lane& SimulatedFabric::lane(Place from, Place to, TrafficClass traffic) {
  Mailbox& box = mailbox(to);
  for (Lane* each : box.lanes)
    if (each->from.rank == from.rank && each->from.device == from.device && each->traffic == traffic)
      return *each;
  Lane& created = lanes_.emplace_back();
  created.from = from;
  created.to = to;
  created.traffic = traffic;
  created.contact_at = some_time_from(now_);
  box.lanes.push_back(&created);
  return created;
}

SendResult SimulatedFabric::refusal(Lane& to, const Outgoing& outgoing, bool exclusive) noexcept {
  if (now_ < to.contact_at) return SendResult::not_ready;
  if (outgoing.to_handle) {
    const SendResult admitted = member(outgoing.peer).handles.admission(outgoing.word, now_);
    if (admitted != SendResult::sent) return admitted;
  }
  if (random_.chance(parameters_.refuse))
    return !exclusive && random_.chance(50) ? SendResult::lock_contended : SendResult::no_slot;
  return to.under_way() < parameters_.slots ? SendResult::sent : SendResult::no_slot;
}

SendResult SimulatedFabric::send(Place from, const Outgoing& outgoing, Bytes payload, std::uint32_t packet,
                                 bool exclusive) noexcept {
  const std::lock_guard lock(mutex_);
  if (has_left_locked(from.rank, outgoing.peer)) return SendResult::peer_left;
  const Place to{outgoing.peer, outgoing.device};
  if (!member(to.rank).joined || !mailbox(to).open) {
    if (member(to.rank).closing == Network::Closing::runtime) return SendResult::peer_left;
    refused(to.rank, static_cast<std::uint64_t>(SendResult::not_ready), payload.size());
    return SendResult::not_ready;
  }
  Lane& way = lane(from, to, outgoing.traffic);
  const SendResult result = refusal(way, outgoing, exclusive);
  if (result != SendResult::sent) {
    const bool is_awaited = result == SendResult::not_ready || result == SendResult::no_credit;
    if (is_awaited && member(to.rank).closing == Network::Closing::runtime && now_ >= way.contact_at)
      return SendResult::peer_left;
    refused(to.rank, static_cast<std::uint64_t>(result), payload.size());
    return result;
  }
  ++counts_.sent;
  if (packet != kNoPacket) ++member(from.rank).packets_away;
  if (member(to.rank).killed) {  // no peer has noticed its death yet
    if (packet != kNoPacket) return_locked(from.rank, packet);
    ++counts_.lost;
    note_lost(way, 1);
    note(Event::lost, route(way), 0, payload.size());
    return result;
  }
  Flight flight;
  flight.due = some_time_from(now_);
  if (!random_.chance(parameters_.reorder)) flight.due = std::max(flight.due, way.last_due);
  way.last_due = std::max(flight.due, way.last_due);
  flight.number = ++numbers_;
  flight.word = outgoing.word;
  flight.channel = outgoing.channel;
  flight.is_notice = outgoing.is_notice;
  flight.packet = packet;
  flight.size = payload.size();
  if (packet == kNoPacket) {
    // Memory of new[] is aligned to 16 bytes.
    static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= 16);
    flight.bytes.reset(new std::byte[payload.size()]);
    if (!payload.empty()) std::memcpy(flight.bytes.get(), payload.data(), payload.size());
  }
  note(Event::sent, route(way), flight.due, payload.size());
  ++counts_.in_flight;
  insert_by_due(way.flights, std::move(flight));
  ring(mailbox(to));
  return result;
}

std::uint64_t SimulatedFabric::begin_poll(Place place) noexcept {
  const std::lock_guard lock(mutex_);
  tick();
  const Member& polling = member(place.rank);
  if (polling.paused_until > now_ || random_.chance(polling.slow)) return 0;
  return ++numbers_;
}

bool SimulatedFabric::next(Place place, Mailbox& box, std::uint64_t poll, Allowed allowed,
                           Delivery& delivery) noexcept {
  const std::lock_guard lock(mutex_);
  Tick due = now_ + 1;
  std::uint64_t number = 0;
  auto urgency = Urgency::last;
  const auto precedes = [&](const auto& item, Urgency its) {
    if (item.due > now_ || !(its == Urgency::last ? allowed.bulk : allowed.others)) return false;
    if (due > now_ || its != urgency) return due > now_ || its < urgency;
    return item.due < due || (item.due == due && item.number < number);
  };
  const auto choose = [&](const auto& item, Urgency its) {
    due = item.due;
    number = item.number;
    urgency = its;
  };
  delivery.lane = nullptr;
  for (Lane* each : box.lanes) {
    const Urgency its = urgency_of(each->traffic);
    if (each->busy || each->held_in == poll || each->flights.empty() || !precedes(each->flights.front(), its))
      continue;
    choose(each->flights.front(), its);
    delivery.lane = each;
    delivery.kind = Delivery::Kind::message;
  }
  if (!box.ends.empty() && precedes(box.ends.front(), Urgency::normal)) {
    choose(box.ends.front(), Urgency::normal);
    delivery.kind = Delivery::Kind::end;
  }
  if (!box.immediates.empty() && precedes(box.immediates.front(), Urgency::normal)) {
    choose(box.immediates.front(), Urgency::normal);
    delivery.kind = Delivery::Kind::immediate;
  }
  if (due > now_) return false;
  switch (delivery.kind) {
    case Delivery::Kind::message:
      delivery.lane->busy = true;
      delivery.flight = std::move(delivery.lane->flights.front());
      delivery.lane->flights.erase(delivery.lane->flights.begin());
      break;
    case Delivery::Kind::end:
      delivery.value = box.ends.front().token;
      delivery.outcome = box.ends.front().outcome;
      note(Event::ended, static_cast<std::uint64_t>(place.rank), place.device,
           static_cast<std::uint64_t>(delivery.outcome));
      box.ends.erase(box.ends.begin());
      break;
    case Delivery::Kind::immediate:
      delivery.value = box.immediates.front().value;
      note(Event::arrived, static_cast<std::uint64_t>(place.rank), place.device, 0);
      box.immediates.erase(box.immediates.begin());
      break;
  }
  delivery.number = ++numbers_;
  box.active.push_back({delivery.number, concurrent::thread_number()});
  return true;
}

void SimulatedFabric::finish(Mailbox& box, std::uint64_t poll, Delivery& delivery, bool taken) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(box.active, [&](const Mailbox::Active& each) { return each.number == delivery.number; });
  if (quiescing_ != 0) delivered_.notify_all();
  if (delivery.kind != Delivery::Kind::message) return;
  Lane& way = *delivery.lane;
  way.busy = false;
  const std::uint64_t number = delivery.flight.number;
  const bool dropped = !taken && (member(way.from.rank).killed || member(way.to.rank).dead());
  note(taken ? Event::delivered : dropped ? Event::lost : Event::kept, route(way), delivery.flight.size, 0);
  if (!taken && !dropped) {
    way.held_in = poll;
    way.flights.insert(way.flights.begin(), std::move(delivery.flight));
    return;
  }
  --counts_.in_flight;
  if (dropped) {
    ++counts_.lost;
    note_lost(way, 1);
    if (delivery.flight.packet != kNoPacket) return_locked(way.from.rank, delivery.flight.packet);
    return;
  }
  ++counts_.delivered;
  if (number < way.newest_delivered) ++counts_.reordered;
  way.newest_delivered = std::max(way.newest_delivered, number);
}

const std::byte* SimulatedFabric::packet_data(int owner, std::uint32_t index) const noexcept {
  const Network::PacketMemory& packets =
      member(owner).packets;  // does not change while messages are under way
  return packets.base + index * packets.stride;
}

void SimulatedFabric::quiesce(Mailbox& box) noexcept {
  const std::uint32_t own = concurrent::thread_number();
  std::unique_lock lock(mutex_);
  const std::uint64_t newest = numbers_;
  ++quiescing_;
  delivered_.wait(lock, [&] {
    return std::none_of(box.active.begin(), box.active.end(), [&](const Mailbox::Active& each) {
      return each.number <= newest && each.thread != own;
    });
  });
  --quiescing_;
}

/// Whether a device that closes waits for what is in the lane. What protocols tell each other matters to
/// nobody once the peer's device has closed: it had no operation left.
bool SimulatedFabric::is_awaited(const Lane& lane) noexcept {
  return lane.awaited() != 0 && (lane.traffic != TrafficClass::control || mailbox(lane.to).open);
}

bool SimulatedFabric::drained(Place place) noexcept {
  const std::lock_guard lock(mutex_);
  return std::none_of(lanes_.begin(), lanes_.end(), [&](const Lane& each) {
    return each.from.rank == place.rank && each.from.device == place.device && is_awaited(each) &&
           !has_left_locked(place.rank, each.to.rank);
  });
}

std::vector<Port::Unconsumed> SimulatedFabric::unconsumed(Place place) {
  const std::lock_guard lock(mutex_);
  std::vector<Port::Unconsumed> all;
  for (int rank = 0; rank < size(); ++rank) {
    const auto& lost = member(place.rank).lost;
    const auto of_rank = lost.find({rank, place.device});
    std::uint64_t messages = of_rank != lost.end() ? of_rank->second : 0;
    bool needs_sender = false;
    for (const Lane& each : lanes_)
      if (each.from.rank == place.rank && each.from.device == place.device && each.to.rank == rank &&
          (each.traffic != TrafficClass::control || !has_left_locked(place.rank, rank))) {
        if (!is_awaited(each)) continue;
        messages += each.awaited();
        needs_sender |=
            (each.traffic == TrafficClass::rendezvous_data || each.traffic == TrafficClass::control);
      }
    if (messages != 0) all.push_back({rank, messages, has_left_locked(place.rank, rank), needs_sender});
  }
  return all;
}

bool SimulatedFabric::has_lane(int from, int to) noexcept {
  const std::lock_guard lock(mutex_);
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [&](const Lane& each) { return each.from.rank == from && each.to.rank == to; });
}

bool SimulatedFabric::has_traffic(int from, Place to) noexcept {
  const std::lock_guard lock(mutex_);
  if (member(to.rank).killed) return false;  // a dead rank takes nothing any more
  const Mailbox& box = mailbox(to);
  return std::any_of(box.lanes.begin(), box.lanes.end(),
                     [&](const Lane* each) { return each->from.rank == from && each->under_way() != 0; }) ||
         std::any_of(box.immediates.begin(), box.immediates.end(),
                     [&](const Mailbox::Immediate& each) { return each.from == from; });
}

}  // namespace weft::network::sim
