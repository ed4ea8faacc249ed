// Outgoing messages.
#include "network/ofi/device.hpp"

#include <cstring>

namespace weft::network::ofi {

namespace {

constexpr std::size_t kLargestInjected =
    256;                                   // copied twice: larger ones are better sent from where they are
constexpr std::size_t kKeptFromBulk = 64;  // transfers that bulk leaves to the others

}  // namespace

Header OfiDevice::header(Kind kind, std::uint8_t channel, std::uint64_t word) const noexcept {
  return {word, static_cast<std::uint32_t>(shared_.peers.rank()), index_, channel, kind, 0};
}

OfiDevice::Sending* OfiDevice::take_sending() noexcept {
  if (free_sendings_.empty()) return nullptr;
  Sending* sending = free_sendings_.back();
  free_sendings_.pop_back();
  return sending;
}

void OfiDevice::end(Sending& sending) noexcept {
  if (sending.kind == Transfer::Kind::packet) shared_.packets.give_back(sending.packet);
  sending.link = nullptr;
  free_sendings_.push_back(&sending);
}

OfiDevice::Sent OfiDevice::outcome(Link& link, ssize_t result) noexcept {
  if (result == 0) return Sent::yes;
  if (result == -FI_EAGAIN || result == -FI_ENOMEM) return Sent::later;
  shared_.peers.mark_gone(link.rank, "a message cannot be sent: " + error_text(result));
  return Sent::never;
}

OfiDevice::Sent OfiDevice::transmit(Link& link, const Header& header, Bytes payload) noexcept {
  const std::size_t size = sizeof header + payload.size();
  // What must have left before this rank ends is sent with a completion.
  if (size <= inject_bytes_ && size <= kLargestInjected && header.kind != Kind::goodbye) {
    std::byte message[kLargestInjected];
    std::memcpy(message, &header, sizeof header);
    if (!payload.empty()) std::memcpy(message + sizeof header, payload.data(), payload.size());
    return outcome(link, ::fi_inject(endpoint_.get(), message, size, link.address));
  }
  Sending* sending = take_sending();
  if (sending == nullptr) return Sent::later;
  std::memcpy(sending->bytes, &header, sizeof header);
  if (!payload.empty()) std::memcpy(sending->bytes + sizeof header, payload.data(), payload.size());
  sending->kind = header.kind == Kind::goodbye ? Transfer::Kind::goodbye : Transfer::Kind::copied;
  sending->link = &link;
  const Sent sent =
      outcome(link, ::fi_send(endpoint_.get(), sending->bytes, size, descriptor_of(sending_registration_),
                              link.address, &sending->raw));
  if (sent != Sent::yes) end(*sending);
  return sent;
}

SendResult OfiDevice::approach(const Outgoing& outgoing, bool exclusive) noexcept {
  Guard guard(*this, exclusive);
  if (!guard) return SendResult::lock_contended;
  Link* link = find(outgoing.peer, outgoing.device);
  if (link == nullptr) {
    const auto address = shared_.peers.find_now_and_then(outgoing.peer, outgoing.device);
    if (address.has_value()) link = contact(outgoing.peer, outgoing.device, *address);
  }
  // Whoever only posts must hear the answer too.
  drive();
  if (link != nullptr && link->open.load(std::memory_order_relaxed)) return SendResult::sent;
  return shared_.peers.gone(outgoing.peer) ? SendResult::peer_gone : SendResult::not_ready;
}

template <class Transmit>
SendResult OfiDevice::submit(const Outgoing& outgoing, bool exclusive, const Transmit& transmit) noexcept {
  Link* link = find(outgoing.peer, outgoing.device);
  // Pairs with the release in open_if_both_spoke().
  if (link == nullptr || !link->open.load(std::memory_order_acquire)) [[unlikely]] {
    const SendResult met = approach(outgoing, exclusive);
    if (met != SendResult::sent) return met;
    link = find(outgoing.peer, outgoing.device);
  }
  if (link->peer->gone.load(std::memory_order_relaxed)) return SendResult::peer_gone;
  Guard guard(*this, exclusive);
  if (!guard) return SendResult::lock_contended;
  const auto refuse = [&](SendResult why) {
    return shared_.peers.gone(outgoing.peer) ? SendResult::peer_gone : why;
  };
  if (outgoing.to_handle && link->peer->handles.admission(outgoing.word) != SendResult::sent) [[unlikely]] {
    drive();
    const SendResult admitted = link->peer->handles.admission(outgoing.word);
    if (admitted != SendResult::sent) return refuse(admitted);
  }
  Lane& lane = link->lane(outgoing.traffic);
  const auto has_room = [&] {
    return lane.under_way() < lane.granted &&
           (urgency_of(outgoing.traffic) != Urgency::last || free_sendings_.size() > kKeptFromBulk);
  };
  if (!has_room()) {
    drive();
    if (!has_room()) return refuse(SendResult::no_slot);
  }
  const Header message = header(kind_of(outgoing.traffic), outgoing.channel, outgoing.word);
  Sent sent = transmit(*link, message);
  if (sent == Sent::later) {
    drive();
    sent = transmit(*link, message);
  }
  if (sent == Sent::never) return SendResult::peer_gone;
  if (sent == Sent::later) return refuse(SendResult::no_slot);
  ++lane.sent;
  return SendResult::sent;
}

SendResult OfiDevice::send(const Outgoing& outgoing, Bytes payload, bool exclusive) noexcept {
  return submit(outgoing, exclusive,
                [&](Link& link, const Header& header) { return transmit(link, header, payload); });
}

SendResult OfiDevice::send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size,
                                  bool exclusive) noexcept {
  return submit(outgoing, exclusive, [&](Link& link, const Header& header) {
    Sending* sending = take_sending();
    if (sending == nullptr) return Sent::later;
    std::byte* message = shared_.packets.message(packet);
    std::memcpy(message, &header, sizeof header);
    sending->kind = Transfer::Kind::packet;
    sending->packet = packet;
    sending->link = &link;
    const Sent sent = outcome(link, ::fi_send(endpoint_.get(), message, sizeof header + size,
                                              shared_.packets.descriptor(), link.address, &sending->raw));
    if (sent != Sent::yes) {
      sending->kind = Transfer::Kind::copied;  // the caller keeps the packet
      end(*sending);
    }
    return sent;
  });
}

}  // namespace weft::network::ofi
