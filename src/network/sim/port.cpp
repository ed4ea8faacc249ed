#include "network/sim/port.hpp"

#include <weft/detail/message_access.hpp>

namespace weft::network::sim {

SimPort::SimPort(SimulatedFabric& fabric, DeviceAddress address,
                 std::vector<std::unique_ptr<LentPackets>>& lent, detail::PayloadLender& copier)
    : fabric_(fabric),
      address_(address),
      lent_(lent),
      copier_(copier),
      capabilities_{fabric.parameters().inject, fabric.parameters().rma, fabric.parameters().immediate, false,
                    fabric.parameters().rma},
      mailbox_(fabric.open_device(address)) {}

SimPort::~SimPort() { fabric_.close_device(address_); }

SendResult SimPort::send(const Outgoing& outgoing, Bytes payload) noexcept {
  return fabric_.messages().send(address_, outgoing, payload, kNoPacket);
}

SendResult SimPort::send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size) noexcept {
  return fabric_.messages().send(address_, outgoing,
                                 {fabric_.messages().packet_data(address_.rank, packet), size}, packet);
}

bool SimPort::read(int peer, std::uint64_t address, std::span<std::byte> local) noexcept {
  return fabric_.memory().read(address_.rank, peer, address, local);
}

AccessResult SimPort::put(int peer, const RemoteMemory& to, Bytes from, const std::uint64_t* immediate,
                          std::uint64_t token) noexcept {
  return fabric_.memory().put(address_, peer, to, from, immediate, token);
}

AccessResult SimPort::get(int peer, const RemoteMemory& from, std::span<std::byte> to,
                          std::uint64_t token) noexcept {
  return fabric_.memory().get(address_, peer, from, to, token);
}

std::string SimPort::undelivered() {
  std::string text;
  for (const Unconsumed& each : unconsumed())
    if (!each.has_left)
      text += (text.empty() ? "" : ", ") + std::to_string(each.messages) +
              (each.messages == 1 ? " message to rank " : " messages to rank ") + std::to_string(each.peer);
  return text;
}

std::size_t SimPort::poll(Sink& sink, std::size_t limit) noexcept {
  const std::uint64_t poll = fabric_.messages().begin_poll(address_);
  std::size_t count = 0;
  std::size_t bulk = 0;
  Delivery delivery;
  while (poll != 0 &&
         fabric_.messages().next(address_, mailbox_, poll, {bulk < kBulkPerPoll, count < limit}, delivery)) {
    const bool is_bulk =
        delivery.kind == Delivery::Kind::message && urgency_of(delivery.lane->traffic) == Urgency::last;
    const bool taken = hand_over(sink, delivery);
    fabric_.messages().finish(mailbox_, poll, delivery, taken);
    if (taken) ++(is_bulk ? bulk : count);
  }
  return count + bulk;
}

bool SimPort::hand_over(Sink& sink, Delivery& delivery) noexcept {
  if (delivery.kind == Delivery::Kind::end) {
    sink.access_completed(delivery.value, delivery.outcome);
    return true;
  }
  if (delivery.kind == Delivery::Kind::immediate) {
    sink.immediate_arrived(delivery.peer, delivery.value, capabilities_.immediate_bytes);
    return true;
  }
  const Flight& flight = delivery.flight;
  const int peer = delivery.lane->from.rank;
  const bool in_packet = flight.packet != kNoPacket;
  LentPackets& lent = *lent_[static_cast<std::size_t>(peer)];
  Message message;
  detail::MessageAccess::set_view(
      message, Operation::active_message, peer, static_cast<std::uint32_t>(flight.word),
      in_packet ? fabric_.messages().packet_data(peer, flight.packet) : flight.bytes.get(), flight.size,
      in_packet ? static_cast<detail::PayloadLender*>(&lent) : &copier_, flight.packet);
  if (!sink.deliver(flight.channel, flight.word, message)) return false;
  delivered_.fetch_add(1, std::memory_order_relaxed);
  if (flight.size > kShortMessage) delivered_bytes_.fetch_add(flight.size, std::memory_order_relaxed);
  if (in_packet && !detail::MessageAccess::was_kept(message)) fabric_.return_packet(peer, flight.packet);
  return true;
}

Port::Traffic SimPort::traffic() noexcept {
  return {.delivered = delivered_.load(std::memory_order_relaxed),
          .delivered_bytes = delivered_bytes_.load(std::memory_order_relaxed)};
}

bool SimPort::prepare_park() noexcept { return fabric_.parking().prepare_park(address_, mailbox_); }

std::uint32_t SimPort::park_token() const noexcept { return mailbox_.token.load(std::memory_order_relaxed); }

bool SimPort::park(std::uint32_t token, std::uint32_t, std::chrono::nanoseconds limit) noexcept {
  return fabric_.parking().park(address_, mailbox_, token, limit);
}

void SimPort::wake(std::uint32_t) noexcept { fabric_.parking().wake(mailbox_); }

bool SimPort::has_parked() const noexcept { return mailbox_.parked.load(std::memory_order_relaxed) != 0; }

}  // namespace weft::network::sim
