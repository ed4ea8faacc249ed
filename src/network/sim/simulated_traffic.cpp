#include "network/sim/simulated_traffic.hpp"

#include "concurrent/thread_number.hpp"
#include "concurrent/while_waiting.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace weft::network::sim {

namespace {

constexpr std::chrono::microseconds kBetweenWork(100);  // of WhileWaiting

std::uint64_t route(const Lane& lane) noexcept {
  return static_cast<std::uint64_t>(lane.from.rank) << 48 | std::uint64_t{lane.from.device} << 40 |
         static_cast<std::uint64_t>(lane.to.rank) << 16 | std::uint64_t{lane.to.device} << 8 |
         static_cast<std::uint64_t>(lane.traffic);
}

}  // namespace

Lane& SimulatedTraffic::lane(DeviceAddress from, DeviceAddress to, TrafficClass traffic) {
  Mailbox& box = members_.mailbox(to);
  for (Lane* each : box.lanes)
    if (each->from.rank == from.rank && each->from.device == from.device && each->traffic == traffic)
      return *each;
  Lane& created = lanes_.emplace_back();
  created.from = from;
  created.to = to;
  created.traffic = traffic;
  created.contact_at = schedule_.some_time_from(schedule_.now());
  box.lanes.push_back(&created);
  return created;
}

/// Returns SendResult::sent when nothing is in the way.
SendResult SimulatedTraffic::refusal(DeviceAddress from, Lane& to, const Outgoing& outgoing) noexcept {
  if (schedule_.now() < to.contact_at) return SendResult::not_ready;
  if (outgoing.to_handle) {
    const SendResult admitted = members_.at(outgoing.peer).handles.admission(outgoing.word, schedule_.now());
    if (admitted != SendResult::sent) return admitted;
  }
  if (schedule_.random().chance(schedule_.parameters().refuse))
    return !members_.mailbox(from).exclusive.load(std::memory_order_relaxed) && schedule_.random().chance(50)
               ? SendResult::lock_contended
               : SendResult::no_slot;
  return to.under_way() < schedule_.parameters().slots ? SendResult::sent : SendResult::no_slot;
}

SendResult SimulatedTraffic::send(DeviceAddress from, const Outgoing& outgoing, Bytes payload,
                                  std::uint32_t packet) noexcept {
  const std::lock_guard lock(mutex_);
  if (members_.has_left(from.rank, outgoing.peer)) return SendResult::peer_left;
  const DeviceAddress to{outgoing.peer, outgoing.device};
  if (!members_.at(to.rank).joined || !members_.mailbox(to).open) {
    if (members_.at(to.rank).closing == Network::Closing::runtime) return SendResult::peer_left;
    accesses_.refused(to.rank, static_cast<std::uint64_t>(SendResult::not_ready), payload.size());
    return SendResult::not_ready;
  }
  Lane& way = lane(from, to, outgoing.traffic);
  const SendResult result = refusal(from, way, outgoing);
  if (result != SendResult::sent) {
    const bool is_awaited = result == SendResult::not_ready || result == SendResult::no_credit;
    if (is_awaited && members_.at(to.rank).closing == Network::Closing::runtime &&
        schedule_.now() >= way.contact_at)
      return SendResult::peer_left;
    accesses_.refused(to.rank, static_cast<std::uint64_t>(result), payload.size());
    return result;
  }
  ++schedule_.counts().sent;
  if (packet != kNoPacket) ++members_.at(from.rank).packets_away;
  if (members_.at(to.rank).killed) {  // no peer has noticed its death yet
    if (packet != kNoPacket) members_.return_packet(from.rank, packet);
    ++schedule_.counts().lost;
    members_.note_lost(way, 1);
    schedule_.note(Schedule::Event::lost, route(way), 0, payload.size());
    return result;
  }
  Flight flight;
  flight.due = schedule_.some_time_from(schedule_.now());
  if (!schedule_.random().chance(schedule_.parameters().reorder))
    flight.due = std::max(flight.due, way.last_due);
  way.last_due = std::max(flight.due, way.last_due);
  flight.number = schedule_.next_number();
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
  schedule_.note(Schedule::Event::sent, route(way), flight.due, payload.size());
  ++schedule_.counts().in_flight;
  insert_by_due(way.flights, std::move(flight));
  members_.mailbox(to).ring();
  return result;
}

std::uint64_t SimulatedTraffic::begin_poll(DeviceAddress address) noexcept {
  const std::lock_guard lock(mutex_);
  accesses_.tick();
  const Member& polling = members_.at(address.rank);
  if (polling.paused_until > schedule_.now() || schedule_.random().chance(polling.slow)) return 0;
  return schedule_.next_number();
}

bool SimulatedTraffic::next(DeviceAddress address, Mailbox& box, std::uint64_t poll, Allowed allowed,
                            Delivery& delivery) noexcept {
  const std::lock_guard lock(mutex_);
  Tick due = schedule_.now() + 1;
  std::uint64_t number = 0;
  auto urgency = Urgency::last;
  const auto precedes = [&](const auto& item, Urgency its) {
    if (item.due > schedule_.now() || !(its == Urgency::last ? allowed.bulk : allowed.others)) return false;
    if (due > schedule_.now() || its != urgency) return due > schedule_.now() || its < urgency;
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
  if (due > schedule_.now()) return false;
  switch (delivery.kind) {
    case Delivery::Kind::message:
      delivery.lane->busy = true;
      delivery.flight = std::move(delivery.lane->flights.front());
      delivery.lane->flights.erase(delivery.lane->flights.begin());
      break;
    case Delivery::Kind::end:
      delivery.value = box.ends.front().token;
      delivery.outcome = box.ends.front().outcome;
      schedule_.note(Schedule::Event::ended, static_cast<std::uint64_t>(address.rank), address.device,
                     static_cast<std::uint64_t>(delivery.outcome));
      box.ends.erase(box.ends.begin());
      break;
    case Delivery::Kind::immediate:
      delivery.value = box.immediates.front().value;
      delivery.peer = box.immediates.front().from;
      schedule_.note(Schedule::Event::arrived, static_cast<std::uint64_t>(address.rank), address.device, 0);
      box.immediates.erase(box.immediates.begin());
      break;
  }
  delivery.number = schedule_.next_number();
  box.active.push_back({delivery.number, concurrent::thread_number()});
  return true;
}

void SimulatedTraffic::finish(Mailbox& box, std::uint64_t poll, Delivery& delivery, bool taken) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(box.active, [&](const Mailbox::Active& each) { return each.number == delivery.number; });
  if (quiescing_ != 0) delivered_.notify_all();
  if (delivery.kind != Delivery::Kind::message) return;
  Lane& way = *delivery.lane;
  way.busy = false;
  const std::uint64_t number = delivery.flight.number;
  const bool dropped = !taken && (members_.at(way.from.rank).killed || members_.at(way.to.rank).dead());
  schedule_.note(taken     ? Schedule::Event::delivered
                 : dropped ? Schedule::Event::lost
                           : Schedule::Event::kept,
                 route(way), delivery.flight.size, 0);
  if (!taken && !dropped) {
    way.held_in = poll;
    way.flights.insert(way.flights.begin(), std::move(delivery.flight));
    return;
  }
  --schedule_.counts().in_flight;
  if (dropped) {
    ++schedule_.counts().lost;
    members_.note_lost(way, 1);
    if (delivery.flight.packet != kNoPacket) members_.return_packet(way.from.rank, delivery.flight.packet);
    return;
  }
  ++schedule_.counts().delivered;
  if (number < way.newest_delivered) ++schedule_.counts().reordered;
  way.newest_delivered = std::max(way.newest_delivered, number);
}

const std::byte* SimulatedTraffic::packet_data(int owner, std::uint32_t index) const noexcept {
  const Network::PacketMemory& packets =
      members_.at(owner).packets;  // does not change while messages are under way
  return packets.base + index * packets.stride;
}

void SimulatedTraffic::quiesce(Mailbox& box) noexcept {
  const std::uint32_t own = concurrent::thread_number();
  std::unique_lock lock(mutex_);
  const std::uint64_t newest = schedule_.newest_number();
  ++quiescing_;
  const auto has_ended = [&] {
    return std::none_of(box.active.begin(), box.active.end(), [&](const Mailbox::Active& each) {
      return each.number <= newest && each.thread != own;
    });
  };
  while (!delivered_.wait_for(lock, kBetweenWork, has_ended)) {
    lock.unlock();
    concurrent::WhileWaiting::work();
    lock.lock();
  }
  --quiescing_;
}

/// Whether a device that closes waits for what is in the lane. What protocols tell each other matters to
/// nobody once the peer's device has closed: it had no operation left.
bool SimulatedTraffic::is_awaited(const Lane& lane) noexcept {
  return lane.awaited() != 0 && (lane.traffic != TrafficClass::control || members_.mailbox(lane.to).open);
}

bool SimulatedTraffic::drained(DeviceAddress address) noexcept {
  const std::lock_guard lock(mutex_);
  return std::none_of(lanes_.begin(), lanes_.end(), [&](const Lane& each) {
    return each.from.rank == address.rank && each.from.device == address.device && is_awaited(each) &&
           !members_.has_left(address.rank, each.to.rank);
  });
}

std::vector<Port::Unconsumed> SimulatedTraffic::unconsumed(DeviceAddress address) {
  const std::lock_guard lock(mutex_);
  std::vector<Port::Unconsumed> all;
  for (int rank = 0; rank < members_.size(); ++rank) {
    const auto& lost = members_.at(address.rank).lost;
    const auto of_rank = lost.find({rank, address.device});
    std::uint64_t messages = of_rank != lost.end() ? of_rank->second : 0;
    bool needs_sender = false;
    for (const Lane& each : lanes_)
      if (each.from.rank == address.rank && each.from.device == address.device && each.to.rank == rank &&
          (each.traffic != TrafficClass::control || !members_.has_left(address.rank, rank))) {
        if (!is_awaited(each)) continue;
        messages += each.awaited();
        needs_sender |=
            (each.traffic == TrafficClass::rendezvous_data || each.traffic == TrafficClass::control);
      }
    if (messages != 0) all.push_back({rank, messages, members_.has_left(address.rank, rank), needs_sender});
  }
  return all;
}

bool SimulatedTraffic::has_lane(int from, int to) noexcept {
  const std::lock_guard lock(mutex_);
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [&](const Lane& each) { return each.from.rank == from && each.to.rank == to; });
}

bool SimulatedTraffic::has_traffic(int from, DeviceAddress to) noexcept {
  const std::lock_guard lock(mutex_);
  if (members_.at(to.rank).killed) return false;  // a dead rank takes nothing any more
  const Mailbox& box = members_.mailbox(to);
  return std::any_of(box.lanes.begin(), box.lanes.end(),
                     [&](const Lane* each) { return each->from.rank == from && each->under_way() != 0; }) ||
         std::any_of(box.immediates.begin(), box.immediates.end(),
                     [&](const Mailbox::Immediate& each) { return each.from == from; });
}

void SimulatedTraffic::drop_flights(Lane& way) noexcept {
  if (way.flights.empty()) return;
  members_.note_lost(way, way.flights.size());
  for (const Flight& flight : way.flights) {
    if (flight.packet != kNoPacket) members_.return_packet(way.from.rank, flight.packet);
    ++schedule_.counts().lost;
  }
  schedule_.counts().in_flight -= way.flights.size();
  way.flights.clear();
}

void SimulatedTraffic::drop_to(int rank) noexcept {
  for (Lane& each : lanes_)
    if (each.to.rank == rank) drop_flights(each);
}

void SimulatedTraffic::drop_of(int rank) noexcept {
  for (Lane& each : lanes_)
    if (each.from.rank == rank || each.to.rank == rank) drop_flights(each);
  for (int other = 0; other < members_.size(); ++other)
    for (const auto& [device, box] : members_.at(other).mailboxes)
      std::erase_if(box->immediates, [&](const Mailbox::Immediate& immediate) {
        return other == rank || immediate.from == rank;
      });
}

}  // namespace weft::network::sim
